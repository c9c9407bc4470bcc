package schedulefile

import (
	"strings"
	"testing"
	"unicode"
)

func TestPrint(t *testing.T) {
	var b strings.Builder
	text := strings.Repeat("\n", 11) + "version: 1\nschedules: {a: {schedule: '@daily', job: x,\n    timezone: Europe/Berlin}}\n"
	r := Load([]Source{{Name: "schedules.yaml", Data: []byte(text)}}, Options{})
	Print(&b, r.Problems, false)
	want := `schedules.yaml:14:5: error E002: unknown field "timezone" in schedule "a"; did you mean "timeZone"?
   14 |     timezone: Europe/Berlin}}
      |     ^^^^^^^^
`
	if b.String() != want {
		t.Errorf("got\n%swant\n%s", b.String(), want)
	}
	b.Reset()
	Print(&b, r.Problems, true)
	if !strings.Contains(b.String(), red+"error E002"+plain) || !strings.Contains(b.String(), red+"^^^^^^^^"+plain) {
		t.Errorf("in colour: %q", b.String())
	}
}

func TestPrintLongLines(t *testing.T) {
	for _, before := range []int{0, 100, 150, 500, 5000} {
		line := strings.Repeat("é", before) + "X" + strings.Repeat("y", 300)
		var b strings.Builder
		p := Problem{Line: 1, Column: before + 1, width: 400}
		p.excerpt, p.caret = excerpt(line, 2*before)
		Print(&b, []Problem{p}, false)
		lines := strings.Split(b.String(), "\n")
		shown, under := []rune(lines[1]), []rune(lines[2])
		at := strings.IndexRune(lines[2], '^')
		if len(shown) > maxLine+10 || len(under) > len(shown) || shown[at] != 'X' {
			t.Errorf("%d before:\n%s", before, b.String())
		}
	}
}

func TestPrintLetsNoControlCharactersThrough(t *testing.T) {
	evil := "\x1b[31m\x00\r\n\u202e\u200b\u009b\xff\ttext"
	var b strings.Builder
	p := Problem{File: evil, Line: 1, Column: 1, Message: evil, Hint: evil, width: 4}
	p.excerpt, p.caret = excerpt(evil, len(evil)-4)
	Print(&b, []Problem{p}, false)
	lines := strings.Split(b.String(), "\n")
	if len(lines) != 4 {
		t.Errorf("%d lines: %q", len(lines), b.String())
	}
	for _, r := range b.String() {
		if r != '\n' && !unicode.IsPrint(r) {
			t.Errorf("%U in %q", r, b.String())
		}
	}
	if at := strings.Index(lines[2], "^^^^"); at < 0 || string([]rune(lines[1])[at:]) != "text" {
		t.Errorf("the caret is off:\n%s", b.String())
	}
}

func TestSummary(t *testing.T) {
	e, w := Problem{Severity: SeverityError}, Problem{Severity: SeverityWarning}
	tests := map[string]Result{
		"5 schedules, 2 errors, 1 warning": {Schedules: 5, Problems: []Problem{e, w, e}},
		"1 schedule, 0 errors, 0 warnings": {Schedules: 1},
		"0 schedules, 1 error, 2 warnings": {Problems: []Problem{w, e, w}},
	}
	for want, r := range tests {
		if got := Summary(r); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
