package schedulefile

import (
	"bytes"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Terminal colours.
const (
	red    = "\x1b[1;31m"
	yellow = "\x1b[1;33m"
	plain  = "\x1b[0m"
)

// Print writes problems for people, each with its source line and the place in
// it underlined:
//
//	schedules.yaml:14:5: error E002: unknown field "timezone" in schedule "nightly-invoices"; did you mean "timeZone"?
//	   14 |     timezone: Europe/Berlin
//	      |     ^^^^^^^^
//
// Nothing from the files can reach the terminal as a control character.
func Print(w io.Writer, problems []Problem, color bool) {
	var b bytes.Buffer
	for _, p := range problems {
		p.print(&b, color)
	}
	_, _ = w.Write(b.Bytes()) // a report that cannot be written cannot be reported
}

// Summary counts a result in words: "5 schedules, 2 errors, 1 warning".
func Summary(r Result) string {
	return strings.Join([]string{
		count(r.Schedules, "schedule"), count(r.Errors(), "error"), count(r.Warnings(), "warning"),
	}, ", ")
}

func count(n int, thing string) string {
	if n != 1 {
		thing += "s"
	}
	return strconv.Itoa(n) + " " + thing
}

func (p Problem) print(b *bytes.Buffer, color bool) {
	paint, reset := "", ""
	if color {
		paint, reset = red, plain
		if p.Severity == SeverityWarning {
			paint = yellow
		}
	}
	text := p.Message
	if p.Hint != "" {
		text += "; " + p.Hint
	}
	fmt.Fprintf(b, "%s:%d:%d: %s%s %s%s: %s\n", visible(p.File), p.Line, p.Column, paint, p.Severity, p.Code, reset, visible(text))
	if p.width == 0 {
		return // made by hand, without a source line
	}
	width := min(p.width, max(utf8.RuneCountInString(p.excerpt)-p.caret, 1))
	fmt.Fprintf(b, "%5d | %s\n", p.Line, strings.TrimRight(p.excerpt, " "))
	gutter := max(5, len(strconv.Itoa(p.Line)))
	fmt.Fprintf(b, "%*s | %s%s%s%s\n", gutter, "", strings.Repeat(" ", p.caret), paint, strings.Repeat("^", width), reset)
}

// visible escapes what is not printable.
func visible(text string) string {
	if strings.IndexFunc(text, func(r rune) bool { return !unicode.IsPrint(r) }) < 0 {
		return text
	}
	var b strings.Builder
	for _, r := range text {
		if unicode.IsPrint(r) {
			b.WriteRune(r)
		} else {
			b.WriteString(strings.Trim(strconv.QuoteRune(r), "'"))
		}
	}
	return b.String()
}
