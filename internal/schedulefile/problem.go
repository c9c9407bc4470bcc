package schedulefile

import (
	"errors"
	"io/fs"
	"sort"
	"strconv"

	"go.yaml.in/yaml/v4"

	"github.com/bide-go/bide/internal/spelling"
)

// The severities of a Problem.
const (
	SeverityError   = "error"
	SeverityWarning = "warning"
)

// maxProblems bounds how many errors, and how many warnings, are listed of one
// file: a file of a million commas is told enough by its first thousand.
const maxProblems = 1000

// Problem is one thing wrong, or doubtful, in a file.
type Problem struct {
	Code     string `json:"code"`
	Severity string `json:"severity"`
	File     string `json:"file"`
	Line     int    `json:"line"`   // from 1
	Column   int    `json:"column"` // from 1, in characters
	// Path is schedules.<name>[.field], or the path of a field elsewhere in the
	// file; empty for the file as a whole.
	Path    string `json:"path"`
	Message string `json:"message"`
	Hint    string `json:"hint"`

	order   int    // which file, in the order given
	excerpt string // the line it is in, or a part of it
	caret   int    // how many characters of the excerpt come before the underline
	width   int    // and how many are underlined
}

// span is a place in a source line. Columns count characters from 1.
type span struct{ line, column, width int }

// add notes a problem at a place. The place is moved into the file if need be:
// YAML puts a value that is not there behind the last line.
func (s *source) add(p Problem, at span) {
	if s.full(p.Severity) {
		return
	}
	s.count[p.Severity]++
	p.File, p.order = s.name, s.index
	p.Line = min(max(at.line, 1), len(s.lines))
	p.Column = max(at.column, 1)
	p.excerpt, p.caret = excerpt(s.lines[p.Line-1], s.offset(p.Line, at.column))
	p.width = max(at.width, 1)
	s.problems = append(s.problems, p)
}

// unreadable notes that the file has no content. There is no line to show; tools that
// go to the place of a problem want one all the same.
func (s *source) unreadable(err error) {
	s.fatal = true
	var path *fs.PathError
	if errors.As(err, &path) {
		err = path.Err
	}
	s.problems = append(s.problems, Problem{
		Code: "E024", Severity: SeverityError, File: s.name, Line: 1, Column: 1, Message: "the file cannot be read: " + err.Error(), order: s.index,
	})
}

// full reports whether no more problems of that severity will be listed. It
// spares the work of describing them.
func (s *source) full(severity string) bool { return s.count[severity] >= maxProblems }

func sortProblems(list []Problem) {
	sort.SliceStable(list, func(i, j int) bool {
		a, b := list[i], list[j]
		if a.order != b.order {
			return a.order < b.order
		}
		if a.Line != b.Line {
			return a.Line < b.Line
		}
		return a.Column < b.Column
	})
}

// scope is a place in the tree of fields: it knows how to name itself in
// messages and what becomes unusable through an error inside it.
type scope struct {
	src   *source
	path  string // as in Problem.Path
	root  string // schedule "x", defaults, or nothing at the top level
	field string // the field below root: retry.maxAttempts
	bad   *bool
}

// label names the scope in a message.
func (s scope) label() string {
	switch {
	case s.field == "":
		return s.root
	case s.root == "":
		return s.field
	}
	return s.field + " of " + s.root
}

// child is the scope of a field of s.
func (s scope) child(name string) scope {
	s.path = join(s.path, shorten(name))
	s.field = join(s.field, shorten(name))
	return s
}

// item is the scope of a list element of s.
func (s scope) item(i int) scope {
	index := "[" + strconv.Itoa(i) + "]"
	s.path += index
	s.field += index
	return s
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

// fail reports an error at node n and makes what the scope belongs to unusable.
func (s scope) fail(code string, n *yaml.Node, message, hint string) {
	s.failAt(code, s.src.span(n), message, hint)
}

func (s scope) failAt(code string, at span, message, hint string) {
	*s.bad = true
	s.src.add(Problem{Code: code, Severity: SeverityError, Path: s.path, Message: message, Hint: hint}, at)
}

func (s scope) warn(code string, n *yaml.Node, message, hint string) {
	s.src.add(Problem{Code: code, Severity: SeverityWarning, Path: s.path, Message: message, Hint: hint}, s.src.span(n))
}

// quote renders text from a file for a message: escaped, and cut if it is long.
func quote(text string) string { return strconv.Quote(shorten(text)) }

func shorten(text string) string { return spelling.Cut(text, 60) }
