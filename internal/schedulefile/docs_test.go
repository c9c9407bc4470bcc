package schedulefile

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bide-go/bide/internal/cronexpr"
	"github.com/bide-go/bide/scheduler"
	"github.com/bide-go/bide/worker/bundled"
)

// docOptions are the checks with the real handlers, and exec allowed.
func docOptions() Options {
	return Options{
		Now:       now,
		AllowExec: true,
		CheckArgs: func(name string, args json.RawMessage) (problems []ArgProblem) {
			for _, p := range bundled.Check(name, args) {
				problems = append(problems, ArgProblem{Path: p.Path, Message: p.Message, Hint: p.Hint})
			}
			return problems
		},
	}
}

func readDoc(t testing.TB, path ...string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(append([]string{"..", ".."}, path...)...))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// block is a fenced block of a document.
type block struct {
	info string // what stands behind the fence
	line int    // of its first line
	text string
}

func blocks(text string) (list []block) {
	var open *block
	for i, line := range strings.Split(text, "\n") {
		info, fence := strings.CutPrefix(strings.TrimSpace(line), "```")
		switch {
		case fence && open == nil:
			open = &block{info: info, line: i + 2}
		case fence:
			list = append(list, *open)
			open = nil
		case open != nil:
			open.text += line + "\n"
		}
	}
	return list
}

// foreignYAML are the words behind ```yaml that mark the files of other products.
var foreignYAML = []string{"yaml kubernetes", "yaml sidekiq"}

// file is a block as a whole file: one without a version shows entries.
func (b block) file() string {
	if regexp.MustCompile(`(?m)^version:`).MatchString(b.text) {
		return b.text
	}
	return "version: 1\nschedules:\n" + regexp.MustCompile(`(?m)^(.)`).ReplaceAllString(b.text, "  $1")
}

// Every YAML block of the documents is a file without a mistake or a doubt, also for
// editors.
func TestDocsLoad(t *testing.T) {
	paths, err := filepath.Glob(filepath.Join("..", "..", "docs", "*.md"))
	more, err2 := filepath.Glob(filepath.Join("..", "..", "*.md"))
	if err != nil || err2 != nil || len(paths) == 0 || len(more) == 0 {
		t.Fatal(paths, more, err, err2)
	}
	s := compiled(t)
	found := 0
	for _, path := range append(paths, more...) {
		name := filepath.Base(path)
		for _, b := range blocks(readDoc(t, strings.TrimPrefix(path, filepath.Join("..", "..")))) {
			if !strings.HasPrefix(b.info, "yaml") && !strings.HasPrefix(b.info, "yml") || slices.Contains(foreignYAML, b.info) {
				continue
			}
			found++
			source := Source{Name: name, Data: []byte(b.file())}
			if r := Load([]Source{source}, docOptions()); len(r.Problems) > 0 || r.Schedules == 0 {
				t.Errorf("%s:%d: this block does not load as it should:\n%s", name, b.line, report(r))
			}
			if doc, ok := asJSON(source); !ok || len(refused(s, doc)) > 0 {
				t.Errorf("%s:%d: the schema refuses this block: %v", name, b.line, refused(s, doc))
			}
		}
	}
	if found < 6 {
		t.Errorf("%d blocks of YAML", found)
	}
}

// The entries of the shipped file that wait for a network or a flag load as well.
func TestShippedFileWithItsCommentedEntries(t *testing.T) {
	text := readDoc(t, "schedules.yaml")
	s := compiled(t)
	for _, name := range []string{"call-a-url", "run-a-command"} {
		from := strings.Index(text, "  # "+name+":\n")
		if from < 0 {
			t.Fatalf("no commented %s", name)
		}
		entry, _, _ := strings.Cut(text[from:], "\n\n")
		with := strings.Replace(text, entry, strings.ReplaceAll(entry, "  # ", "  "), 1)
		source := Source{Name: "schedules.yaml", Data: []byte(with)}
		r := Load([]Source{source}, docOptions())
		if len(r.Problems) > 0 || !slices.Contains(names(r), name) {
			t.Errorf("%s:\n%s", name, report(r))
		}
		if doc, ok := asJSON(source); !ok || len(refused(s, doc)) > 0 {
			t.Errorf("%s: the schema refuses it: %v", name, refused(s, doc))
		}
	}
}

// Every field has its row, and every code its explanation.
func TestDocsAreComplete(t *testing.T) {
	text := readDoc(t, "docs", "schedules.md")
	fields, _, _ := strings.Cut(text[strings.Index(text, "\n## Fields"):], "\n## When")
	for _, name := range entryLevel.now {
		if !regexp.MustCompile("(?m)^\\|[^|]*`" + name + "`").MatchString(fields) {
			t.Errorf("no row for %s", name)
		}
	}
	for _, name := range defaultsLevel.now {
		if !regexp.MustCompile("(?m)^\\| `" + name + "` ¹ \\|").MatchString(fields) {
			t.Errorf("%s is not marked as one of the defaults", name)
		}
	}
	table := text[strings.Index(text, "\n## Codes"):]
	for _, code := range codes {
		if !strings.Contains(table, "| "+code+" | ") {
			t.Errorf("no row for %s", code)
		}
	}
}

// The five schedules are the same in every notation: by their expressions, in order.
func TestDocsComingFrom(t *testing.T) {
	text := readDoc(t, "docs", "schedules.md")
	list := blocks(text[strings.Index(text, "\n## Coming from"):])
	r := Load([]Source{{Name: "docs", Data: []byte(list[0].text)}}, docOptions())
	if len(r.Definitions) != 5 {
		t.Fatalf("%d definitions:\n%s", len(r.Definitions), report(r))
	}
	slices.SortFunc(r.Definitions, func(a, b scheduler.Definition) int { return a.Line - b.Line })
	var want []string
	for _, d := range r.Definitions {
		want = append(want, plainExpression(d.Schedule[0]))
	}
	if len(list) != 6 {
		t.Fatalf("%d blocks, want bide and five others", len(list))
	}
	for _, tt := range []struct {
		name    string
		pattern string // its first group is the expression
		instead string // what stands for "@every 30s", if that cannot be said
	}{
		{"crontab", `(?m)^(?:# )?([0-9*](?:\S* +){4}\S+) `, "* * * * *"},
		{"Kubernetes", `schedule: ("[^"]*")`, "* * * * *"},
		{"asynq", `Register\(("[^"]*")`, ""},
		{"Celery", `"schedule": (crontab\([^)]*\)|[0-9.]+)`, ""},
		{"Sidekiq", `cron: ("[^"]*")`, "*/30 * * * * *"},
	} {
		list = list[1:]
		var got []string
		for _, m := range regexp.MustCompile(tt.pattern).FindAllStringSubmatch(list[0].text, -1) {
			expr := strings.TrimSuffix(strings.Trim(m[1], `"`), " Europe/Berlin")
			if meant := meantExpression(expr); meant != "" {
				expr = meant
			} else if expr == "30.0" {
				expr = "@every 30s"
			}
			if expr == tt.instead {
				expr = "@every 30s"
			}
			got = append(got, plainExpression(expr))
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s has %q, want %q", tt.name, got, want)
		}
	}
}

// plainExpression takes blanks and the case of names out of an expression.
func plainExpression(text string) string {
	return strings.ToUpper(strings.Join(strings.Fields(text), " "))
}

// The table of clock changes is what the expressions really do on these days.
func TestDocsClockChanges(t *testing.T) {
	const begin, end = "<!-- begin clock changes -->\n", "<!-- end clock changes -->"
	path := filepath.Join("..", "..", "docs", "schedules.md")
	text := readDoc(t, "docs", "schedules.md")
	head, rest, ok := strings.Cut(text, begin)
	old, tail, ok2 := strings.Cut(rest, end)
	if !ok || !ok2 {
		t.Fatal("no place for the table")
	}
	want := clockTable(t)
	if *update {
		if err := os.WriteFile(path, []byte(head+begin+want+end+tail), 0o644); err != nil {
			t.Fatal(err)
		}
		old = want
	}
	if old != want {
		t.Errorf("the table is\n%swant (run with -update)\n%s", old, want)
	}
}

func clockTable(t *testing.T) string {
	t.Helper()
	var b strings.Builder
	fmt.Fprintln(&b, "\n| day and zone | the clocks go | expression | runs on that day |\n| --- | --- | --- | --- |")
	for _, day := range []struct {
		date, zone  string
		expressions []string
	}{
		{"2027-03-28", "Europe/Berlin", []string{"30 2 * * *", "0,30 2 * * *", "*/30 1-3 * * *", "30 3 * * *"}},
		{"2027-10-31", "Europe/Berlin", []string{"30 2 * * *", "*/30 1-3 * * *", "30 3 * * *"}},
		{"2027-03-14", "America/New_York", []string{"15 2 * * *", "0 */2 * * *"}},
		{"2027-11-07", "America/New_York", []string{"15 1 * * *", "15 */1 * * *"}},
		{"2027-03-14", "America/Havana", []string{"@daily", "0 9 * * SUN"}},
		{"2027-10-03", "Australia/Lord_Howe", []string{"15 2 * * *", "*/15 2 * * *"}},
		{"2011-12-30", "Pacific/Apia", []string{"0 9 * * *", "@hourly"}},
	} {
		loc, err := time.LoadLocation(day.zone)
		if err != nil {
			t.Fatal(err)
		}
		first := fmt.Sprintf("%s %s | %s", day.date, day.zone, clockChange(t, day.date, loc))
		for _, text := range day.expressions {
			e, err := cronexpr.Parse(text)
			if err != nil {
				t.Fatal(err)
			}
			fmt.Fprintf(&b, "| %s | `%s` | %s |\n", first, text, runsOn(e, day.date, loc))
			first = "|"
		}
	}
	return b.String()
}

// clockChange says how the clocks of loc change on that date.
func clockChange(t *testing.T, date string, loc *time.Location) string {
	t.Helper()
	at, err := time.Parse(time.DateOnly, date)
	if err != nil {
		t.Fatal(err)
	}
	at = at.Add(-15 * time.Hour)
	for range 60 * 60 {
		next := at.Add(time.Minute)
		_, was := at.In(loc).Zone()
		if _, is := next.In(loc).Zone(); is != was {
			from, to := next.UTC().Add(time.Duration(was)*time.Second), next.In(loc)
			if from.Day() == to.Day() {
				return fmt.Sprintf("from %s to %s", from.Format("15:04"), to.Format("15:04"))
			}
			return fmt.Sprintf("from %s to %s", from.Format("2 Jan 15:04"), to.Format("2 Jan 15:04"))
		}
		at = next
	}
	t.Fatalf("no change on %s in %s", date, loc)
	return ""
}

// runsOn lists the runs on that date by the clocks of loc, in words if there are many.
func runsOn(e *cronexpr.Expression, date string, loc *time.Location) string {
	day, _ := time.Parse(time.DateOnly, date)
	var runs []string
	for at := e.Next(day.Add(-36*time.Hour), loc); at.Before(day.Add(36 * time.Hour)); at = e.Next(at, loc) {
		if at.Format(time.DateOnly) == date {
			runs = append(runs, at.Format("15:04 MST"))
		}
	}
	switch n := len(runs); {
	case n == 0:
		return "none"
	case n > 8:
		return fmt.Sprintf("%s … %s: %d runs", strings.Join(runs[:4], ", "), runs[n-1], n)
	}
	return strings.Join(runs, ", ")
}
