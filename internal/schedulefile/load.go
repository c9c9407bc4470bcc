package schedulefile

import (
	"encoding/json"
	"fmt"
	"sort"
	"time"

	"github.com/bide-go/bide/scheduler"
)

// Source is the content of one file and the name that problems show for it.
type Source struct {
	Name string
	Data []byte
	Err  error // why there is no content; nil if there is
}

// Options are the parts of the checks that depend on the rest of the program.
// The zero value leaves those checks out, and allows no exec.
type Options struct {
	// CheckArgs checks the args of a bundled handler. It returns nothing for
	// good args and for names that are no bundled handlers.
	CheckArgs func(name string, args json.RawMessage) []ArgProblem
	// Later reports whether name is a bundled handler of a later version.
	Later func(name string) bool
	// AllowExec says that schedules may use the handler exec. Without it they are
	// refused (E022).
	AllowExec bool
	// StrictEnv demands that the environment variables and files which secret
	// references name are there, as this process sees them (E020).
	StrictEnv bool
	// Now is the instant from which the next two years are searched for
	// daylight-saving changes (W104). Zero leaves that search out.
	Now time.Time
}

// ArgProblem is one thing wrong with the args of a bundled handler.
type ArgProblem struct {
	// Path leads to the wrong place in args: keys joined by dots, list positions
	// in brackets. Empty means args as a whole.
	Path    string
	Message string
	Hint    string
	// Code is E006 if empty.
	Code string
}

// Result is what a set of files says.
type Result struct {
	// Definitions are the entries without errors, sorted by name. There are none
	// if the result is Fatal.
	Definitions []scheduler.Definition
	// Schedules counts the entries found, good and bad.
	Schedules int
	// Bad names the entries with errors, sorted. On a reload they keep their
	// last good definition.
	Bad []string
	// Fatal says that nothing of this set may be applied: a file could not be
	// read as YAML, has the wrong version, something wrong at its top level, or
	// there was no file at all. Entries missing from such a set must not be
	// taken for removed ones.
	Fatal bool
	// Problems are sorted by file, in the order given, then line and column. Of
	// one file at most maxProblems errors and as many warnings are listed.
	Problems []Problem
}

// Errors counts the problems that are errors.
func (r Result) Errors() int { return len(r.Problems) - r.Warnings() }

// Warnings counts the problems that are warnings.
func (r Result) Warnings() int {
	n := 0
	for _, p := range r.Problems {
		if p.Severity == SeverityWarning {
			n++
		}
	}
	return n
}

// Load reads all sources as one set. A file's defaults hold for its own entries
// only; names are unique over all files.
func Load(sources []Source, opt Options) Result {
	l := &loader{opt: opt, first: map[string]place{}, bad: map[string]bool{}}
	l.result.Fatal = len(sources) == 0
	for i, s := range sources {
		l.load(i, s)
	}
	return l.finish()
}

// loader gathers what the files of one set say.
type loader struct {
	opt     Options
	result  Result
	defs    []scheduler.Definition
	first   map[string]place // where each schedule was defined first
	bad     map[string]bool
	sources []*source
	crowd   crowd
}

type place struct {
	src  *source
	line int
}

func (l *loader) load(index int, s Source) {
	src := newSource(index, s)
	if s.Err != nil {
		src.unreadable(s.Err)
	} else if root := src.parse(); root != nil {
		l.readFile(src, root)
	}
	l.result.Fatal = l.result.Fatal || src.fatal
	l.sources = append(l.sources, src)
}

// claim notes that the entry name stands at this key. A name taken by an earlier
// file is an error, and neither entry is good: nobody can say which was meant.
func (l *loader) claim(s scope, name string, p pair) {
	was, taken := l.first[name]
	if !taken {
		l.first[name] = place{s.src, p.key.Line}
		return
	}
	s.fail("E003", p.key, fmt.Sprintf("%s is already defined in %s:%d", s.label(), was.src.name, was.line),
		"names are unique over all files")
}

func (l *loader) finish() Result {
	l.crowd.warn()
	r := l.result
	for _, src := range l.sources {
		r.Problems = append(r.Problems, src.problems...)
	}
	for _, d := range l.defs {
		if !l.bad[d.Name] && !r.Fatal {
			r.Definitions = append(r.Definitions, d)
		}
	}
	sort.Slice(r.Definitions, func(i, j int) bool { return r.Definitions[i].Name < r.Definitions[j].Name })
	for name := range l.bad {
		r.Bad = append(r.Bad, name)
	}
	sort.Strings(r.Bad)
	sortProblems(r.Problems)
	return r
}
