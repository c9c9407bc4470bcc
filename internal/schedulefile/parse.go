package schedulefile

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v4"
	"go.yaml.in/yaml/v4/plugin/loaderlimits"
)

const (
	maxFile  = 1 << 20 // bytes
	maxDepth = 100     // maps and lists inside each other
)

// parse decodes the file to its root node. It returns nil, with the problems
// noted, if the file as a whole cannot be used.
func (s *source) parse() *yaml.Node {
	if len(s.text) > maxFile {
		s.refuse("E023", span{1, 1, 1}, fmt.Sprintf("the file has %d bytes, %d are allowed", len(s.text), maxFile),
			"spread the schedules over several files")
		return nil
	}
	if !s.checkText() {
		return nil
	}
	loader, err := yaml.NewLoader(strings.NewReader(s.text),
		yaml.WithPlugin(loaderlimits.New(loaderlimits.DepthValue(maxDepth), loaderlimits.AliasNone())))
	if err != nil {
		s.refuse("E001", span{1, 1, 1}, "YAML: "+err.Error(), "")
		return nil
	}
	var doc, more yaml.Node
	if err := loader.Load(&doc); errors.Is(err, io.EOF) {
		s.refuseEmpty()
		return nil
	} else if err != nil {
		s.syntax(err)
		return nil
	}
	if err := loader.Load(&more); err == nil {
		s.refuse("E001", span{more.Line, 1, 3}, "a second YAML document begins here; a file holds one",
			`remove the line "---", or make it a file of its own`)
		return nil
	} else if !errors.Is(err, io.EOF) {
		s.syntax(err)
		return nil
	}
	return s.checkRoot(&doc)
}

func (s *source) checkRoot(doc *yaml.Node) *yaml.Node {
	if len(doc.Content) == 0 || isNull(doc.Content[0]) {
		s.refuseEmpty()
		return nil
	}
	if !s.checkLimits(doc.Content[0]) {
		return nil
	}
	return doc.Content[0]
}

// refuse notes an error that makes the whole set unusable.
func (s *source) refuse(code string, at span, message, hint string) {
	scope{src: s, bad: &s.fatal}.failAt(code, at, message, hint)
}

func (s *source) refuseEmpty() {
	top := scope{src: s, bad: &s.fatal}.child("version")
	top.failAt("E005", span{1, 1, 1}, "the file is empty: version is missing",
		`begin with "version: 1"; "schedules: {}" means no schedules`)
}

// checkText refuses what is no text, with its place, which the YAML reader does
// not tell.
func (s *source) checkText() bool {
	for i, line := range s.lines {
		column := 0
		for rest := line; rest != ""; {
			r, size := utf8.DecodeRuneInString(rest)
			rest = rest[size:]
			column++
			at := span{i + 1, column, 1}
			if r == utf8.RuneError && size == 1 {
				s.refuse("E001", at, "the file is not UTF-8 text", "save it as UTF-8")
				return false
			}
			if r < ' ' && r != '\t' || r == 0xFFFE || r == 0xFFFF {
				s.refuse("E001", at, fmt.Sprintf("control character U+%04X", r), "write it as an escape in double quotes")
				return false
			}
		}
	}
	return true
}

// syntax notes an error of the YAML parser, where it noticed it or, if that is
// known, where the mistake is.
func (s *source) syntax(err error) {
	var le *yaml.LoadError
	if !errors.As(err, &le) {
		s.refuseSyntax(span{1, 1, 1}, err.Error(), "")
		return
	}
	at := span{le.Mark.Line, le.Mark.Column, 1}
	if strings.Contains(le.Message, "exceeded max depth") {
		s.refuse("E023", at, fmt.Sprintf("maps and lists are nested more than %d deep", maxDepth), "")
		return
	}
	if strings.Contains(le.Message, "end of stream") && le.ContextMark.Line > 0 {
		// What was not closed stands where it began, not at the end of the file.
		at = span{le.ContextMark.Line, le.ContextMark.Column, 1}
		le.Mark = le.ContextMark
	}
	message := le.Message
	if le.ContextMsg != "" {
		message = le.ContextMsg + ": " + message
		if le.ContextMark.Line > 0 && le.ContextMark.Line != le.Mark.Line {
			message += fmt.Sprintf(" (it began on line %d)", le.ContextMark.Line)
		}
	}
	if cause, ok := s.syntaxCause(le); ok {
		s.refuseSyntax(cause.at, cause.message, cause.hint)
		return
	}
	hint := ""
	if strings.HasPrefix(le.Message, "mapping values are not allowed") {
		hint = `put text that holds ": " in quotes, and check the indentation`
	}
	s.refuseSyntax(at, message, hint)
}

func (s *source) refuseSyntax(at span, message, hint string) {
	s.fatal = true
	s.add(Problem{Code: "E001", Severity: SeverityError, Message: "YAML syntax: " + message, Hint: hint}, s.toText(at))
}

// toText moves a place in the blanks of a line to the character before them, or in
// the indentation to the first one: the place is to be seen.
func (s *source) toText(at span) span {
	if at.line < 1 || at.line > len(s.lines) {
		return at
	}
	line := []rune(s.lines[at.line-1])
	i := max(at.column, 1) - 1
	for i > 0 && i < len(line) && line[i] == ' ' {
		i--
	}
	for i < len(line) && line[i] == ' ' {
		i++
	}
	at.column = i + 1
	return at
}

// cause is what probably led to a syntax error, in better words than the
// parser's.
type cause struct {
	at            span
	message, hint string
}

// syntaxCause knows the usual mistakes: expressions without quotes, and tabs.
func (s *source) syntaxCause(e *yaml.LoadError) (c cause, ok bool) {
	line := e.Mark.Line
	if line < 1 || line > len(s.lines) {
		return c, false
	}
	if tail := s.tail(line, e.Mark.Column); len(tail) > 0 && tail[0] == '\t' {
		return cause{span{line, e.Mark.Column, 1}, "a tab cannot indent", "use blanks"}, true
	}
	column, value := plainValue(s.lines[line-1])
	if value == "" {
		return c, false
	}
	c.at = span{line, column, utf8.RuneCountInString(value)}
	c.hint = "quote it: " + quote(value)
	switch first := value[:1]; {
	case first == "*" && strings.ContainsAny(value, " /"):
		c.message = `"*" at the beginning of a value means an alias`
	case first == "@" || first == "`" || first == "%":
		c.message = fmt.Sprintf("%q cannot begin a value", first)
	default:
		return c, false
	}
	return c, true
}

// plainValue finds the text after "key: ", "- " or "[" in a line, without a
// comment, and the column where it begins.
func plainValue(line string) (column int, value string) {
	value = strings.TrimLeft(line, " ")
	for strings.HasPrefix(value, "- ") {
		value = strings.TrimLeft(value[2:], " ")
	}
	if i := strings.Index(value, ": "); i >= 0 {
		value = strings.TrimLeft(value[i+2:], " ")
	}
	value = strings.TrimLeft(value, "[ ")
	column = utf8.RuneCountInString(line) - utf8.RuneCountInString(value) + 1
	if i := strings.Index(value, " #"); i >= 0 {
		value = value[:i]
	}
	return column, strings.TrimRight(value, " \t],}")
}
