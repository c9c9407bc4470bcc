package cli

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	prettytext "github.com/jedib0t/go-pretty/v6/text"
)

func TestClean(t *testing.T) {
	for in, want := range map[string]string{
		"plain":              "plain",
		"grüße 世界":           "grüße 世界",
		"a\x1b[31mb":         `a\x1b[31mb`,
		"a\nb\tc\rd\x00":     `a\nb\tc\rd\x00`,
		"a\u009b31mb\u007f":  `a\u009b31mb\x7f`,
		"user\u202etxt.exe":  `user\u202etxt.exe`,
		"bad \xff byte":      "bad \uFFFD byte",
		"already \uFFFD":     "already \uFFFD",
		"\U000e0001tag":      `\U000e0001tag`,
		"line\u2028separate": `line\u2028separate`,
	} {
		if got := clean(in); got != want {
			t.Errorf("clean(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestJSONIsFitForTerminals(t *testing.T) {
	foreign := "a\x1b[31m\u009b\u007f\u202e\U000e0001<b>&\u2028é"
	args, _ := json.Marshal(foreign)
	var out bytes.Buffer
	p := &program{stdout: &output{w: &out}}
	if err := p.writeJSON(map[string]any{"text": text(foreign), "raw": json.RawMessage(args)}); err != nil {
		t.Fatal(err)
	}
	if shown := strings.TrimSuffix(out.String(), "\n"); !printable(shown) {
		t.Errorf("not printable: %q", shown)
	}
	var back map[string]string
	if err := json.Unmarshal(out.Bytes(), &back); err != nil || back["text"] != foreign || back["raw"] != foreign {
		t.Errorf("read back: %v %q, want %q", err, back, foreign)
	}
	if !strings.Contains(out.String(), "<b>&") {
		t.Errorf("escaped for HTML: %s", out.String())
	}
}

func TestTableFitsTheTerminal(t *testing.T) {
	columns := []column{{head: "state"}, {head: "id"}, {head: "last error", yield: 2}, {head: "never", optional: true}}
	rows := func() [][]cell {
		return [][]cell{
			{plain("dead"), plain("nightly-invoices@2026-12-01T00:30:00Z"), plain(strings.Repeat("ein langer Fehler 世界 ", 20)), plain("")},
			{plain("active"), plain("a"), plain("one\ntwo"), plain("")},
		}
	}
	for _, width := range []int{20, 40, 80, 120, 0} {
		for _, color := range []bool{false, true} {
			var out bytes.Buffer
			p := &program{env: Env{Terminal: width > 0, Width: width}, stdout: &output{w: &out}}
			p.set.color = color
			if err := p.table(columns, rows()); err != nil {
				t.Fatal(err)
			}
			lines := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
			if len(lines) != 3 {
				t.Errorf("width %d: %d lines, want 3:\n%s", width, len(lines), out.String())
			}
			for _, line := range lines {
				if got := prettytext.StringWidthWithoutEscSequences(line); width > 0 && got > width {
					t.Errorf("width %d: a line of %d: %q", width, got, line)
				}
			}
			if id := "nightly-invoices@2026-12-01T00:30:00Z"; width == 0 || width >= 80 {
				if !strings.Contains(out.String(), id) {
					t.Errorf("width %d: the id is cut:\n%s", width, out.String())
				}
			}
			if strings.Contains(out.String(), "NEVER") {
				t.Errorf("an empty column is shown:\n%s", out.String())
			}
			if strings.Contains(out.String(), "\x1b") != color {
				t.Errorf("color %t: %q", color, out.String())
			}
		}
	}
}

func TestRelative(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "now", -400 * time.Millisecond: "now", 1600 * time.Millisecond: "in 2s", -90 * time.Second: "1m30s ago",
		2*time.Hour + 10*time.Second: "in 2h", 26 * time.Hour: "in 1d2h", -30 * 24 * time.Hour: "30d ago",
		7 * 24 * time.Hour: "in 7d", 119 * 24 * time.Hour: "in 119d", 7*24*time.Hour - time.Minute: "in 7d",
	} {
		if got := relative(d); got != want {
			t.Errorf("relative(%s) = %q, want %q", d, got, want)
		}
	}
}
