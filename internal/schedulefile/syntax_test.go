package schedulefile

import (
	"strings"
	"testing"
	"unicode"
)

// However a file is broken, a syntax error is shown at a character that can be seen,
// at the end of its line, or in an empty line.
func TestSyntaxErrorsPointAtText(t *testing.T) {
	text := string(fixture(t, "testdata/good-every-field.yaml")[0].Data)
	broken := 0
	for i := 0; i < len(text); i += 7 {
		for _, with := range []string{"", "\"", "]", "{", ": ", "\n ", "*", "ö: ["} {
			edited := text[:i] + with + text[i+1:]
			for _, p := range load(edited).Problems {
				if p.Code != "E001" {
					continue
				}
				broken++
				line := []rune(splitLines(edited)[p.Line-1])
				visible := p.Column <= len(line) && (line[p.Column-1] == '\t' || !unicode.IsSpace(line[p.Column-1]))
				rest := ""
				if p.Column <= len(line) {
					rest = strings.TrimSpace(string(line[p.Column-1:]))
				}
				if p.Column < 1 || !visible && rest != "" {
					t.Errorf("byte %d replaced by %q: %d:%d is blank: %s\n%q", i, with, p.Line, p.Column, p.Message, string(line))
				}
			}
		}
	}
	if broken < 100 {
		t.Errorf("only %d files were broken", broken)
	}
}
