package schedulefile

import (
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v4"
)

// source is one file while it is read.
type source struct {
	index    int
	name     string
	text     string
	lines    []string // without their ends; never empty
	problems []Problem
	count    map[string]int // of problems, by severity
	fatal    bool

	// last is the place asked for last. A file can be one line of a million
	// characters, and counting from its beginning each time would take minutes.
	last mark
}

type mark struct{ line, column, offset int }

func newSource(index int, s Source) *source {
	text := strings.TrimPrefix(string(s.Data), "\ufeff")
	return &source{index: index, name: s.Name, text: text, lines: splitLines(text), count: map[string]int{}}
}

// splitLines cuts text where YAML counts a new line, which is in more places
// than at "\n": problems must show the line that their number means.
func splitLines(text string) []string {
	var lines []string
	start := 0
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRuneInString(text[i:])
		if r == '\r' && strings.HasPrefix(text[i:], "\r\n") {
			size = 2
		}
		if strings.ContainsRune("\n\r\u0085\u2028\u2029", r) {
			lines = append(lines, text[start:i])
			start = i + size
		}
		i += size
	}
	return append(lines, text[start:])
}

// offset is where in its line, in bytes, the character of a column begins.
func (s *source) offset(line, column int) int {
	if line < 1 || line > len(s.lines) {
		return 0
	}
	text, from := s.lines[line-1], mark{line: line, column: 1}
	if s.last.line == line && s.last.column <= column {
		from = s.last
	}
	for from.column < column && from.offset < len(text) {
		_, size := utf8.DecodeRuneInString(text[from.offset:])
		from.offset += size
		from.column++
	}
	s.last = from
	return from.offset
}

// tail is the part of a line from a column on.
func (s *source) tail(line, column int) string {
	if line < 1 || line > len(s.lines) || column < 1 {
		return ""
	}
	return s.lines[line-1][s.offset(line, column):]
}

// span is the place of a node: all of a scalar that stands on one line as it is,
// else its first character.
func (s *source) span(n *yaml.Node) span {
	at := span{n.Line, n.Column, 1}
	if skip, ok := s.verbatim(n); ok {
		at.width = utf8.RuneCountInString(n.Value) + 2*skip
	}
	return at
}

// within is the place of a part of a scalar's text, offset and length in bytes.
// A scalar with escapes or line breaks is pointed at as a whole.
func (s *source) within(n *yaml.Node, offset, length int) span {
	skip, ok := s.verbatim(n)
	if !ok || offset < 0 || length < 0 || offset+length > len(n.Value) {
		return s.span(n)
	}
	before := utf8.RuneCountInString(n.Value[:offset])
	width := utf8.RuneCountInString(n.Value[offset : offset+length])
	return span{n.Line, n.Column + skip + before, width}
}

// verbatim reports whether the text of a scalar stands in the file just as it
// reads, and how many quotes stand before it.
func (s *source) verbatim(n *yaml.Node) (skip int, ok bool) {
	if n.Kind != yaml.ScalarNode || n.Value == "" {
		return 0, false
	}
	tail := s.tail(n.Line, n.Column)
	switch {
	case n.Style&yaml.DoubleQuotedStyle != 0:
		return 1, strings.HasPrefix(tail, `"`+n.Value+`"`)
	case n.Style&yaml.SingleQuotedStyle != 0:
		return 1, strings.HasPrefix(tail, "'"+n.Value+"'")
	}
	return 0, strings.HasPrefix(tail, n.Value)
}
