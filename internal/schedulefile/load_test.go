package schedulefile

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bide-go/bide/scheduler"
)

// load reads texts as files named a.yaml, b.yaml and so on.
func load(texts ...string) Result {
	var sources []Source
	for i, text := range texts {
		sources = append(sources, Source{Name: string(rune('a'+i)) + ".yaml", Data: []byte(text)})
	}
	return Load(sources, testOptions())
}

func names(r Result) (list []string) {
	for _, d := range r.Definitions {
		list = append(list, d.Name)
	}
	return list
}

func TestDefinitions(t *testing.T) {
	r := Load(fixture(t, "testdata/good-every-field.yaml"), testOptions())
	raw := func(text string) json.RawMessage { return json.RawMessage(text) }
	at := func(text string) time.Time {
		t.Helper()
		at, err := time.Parse(time.RFC3339, text)
		if err != nil {
			t.Fatal(err)
		}
		return at
	}
	want := []scheduler.Definition{
		{ // everything written out as it is by default: nothing to tell
			Name: "heartbeat", Schedule: []string{"@every 30s"}, TimeZone: "UTC", Queue: "low", Job: "log",
			Args: raw(`{"message":"still <here>"}`), Timeout: 5 * time.Second, MaxAttempts: 1,
			File: "good-every-field.yaml", Line: 24,
		},
		{
			Name: "nightly-invoices", Schedule: []string{"30 4 * * *"}, TimeZone: "Europe/Berlin", Queue: "high", Job: "invoices.close-day",
			Args:    raw(`{"region":"eu","limit":12345678901234567890123,"since":"2026-01-01","ratio":0.10,"deep":[1,{"a":null},true]}`),
			Timeout: 20 * time.Minute, MaxAttempts: 5, MinBackoff: 30 * time.Second, MaxBackoff: 15 * time.Minute,
			ConcurrencyPolicy: scheduler.Queue, CatchUp: scheduler.All, StartingDeadline: 6 * time.Hour, Jitter: 2 * time.Minute,
			StartAt: at("2026-11-27T00:00:00Z"), EndAt: at("2027-11-30T23:59:59.5+01:00"), PauseAfterFailures: 3,
			History:     &scheduler.History{Successful: 10, Failed: 100},
			Description: "Close the day and e-mail invoices", Owner: "billing@example.com",
			Runbook: "https://wiki.example.com/runbooks/invoices", Labels: map[string]string{"team": "billing", "tier": "1"},
			File: "good-every-field.yaml", Line: 13,
		},
		{
			Name: "rush-hours", Schedule: []string{"0 7 * * MON-FRI", "0,30 16 * * MON-FRI"}, TimeZone: "Europe/Berlin", Queue: "high",
			Job: "reports.traffic", Args: raw(`null`), Timeout: 20 * time.Minute, MaxAttempts: 5, MinBackoff: 30 * time.Second,
			MaxBackoff: 15 * time.Minute, Suspend: true, Description: "off until the sensors are back",
			ConcurrencyPolicy: scheduler.Replace, CatchUp: scheduler.Skip, StartingDeadline: 90 * time.Second, Jitter: 89 * time.Second,
			History: &scheduler.History{Successful: 0, Failed: 1000},
			File:    "good-every-field.yaml", Line: 38,
		},
	}
	if diff := cmp.Diff(want, r.Definitions, cmp.Comparer(time.Time.Equal)); diff != "" {
		t.Errorf("definitions differ (-want +got):\n%s", diff)
	}
}

func TestAnchorsAndMergeKeys(t *testing.T) {
	r := Load(fixture(t, "testdata/good-anchors-and-merge.yaml"), testOptions())
	if len(r.Definitions) != 3 {
		t.Fatalf("%d definitions; problems:\n%s", len(r.Definitions), report(r))
	}
	second, third := r.Definitions[1], r.Definitions[2]
	if got, want := string(second.Args), `{"region":"us","depth":2,"extra":"yes"}`; got != want {
		t.Errorf("args are %s, want %s: own keys win, then the earlier merged map", got, want)
	}
	if second.Job != "sync" || second.Timeout != time.Minute || second.Schedule[0] != "*/10 * * * *" {
		t.Errorf("merged entry is %+v", second)
	}
	if got, want := third.Schedule, []string{"*/10 * * * *", "@daily"}; !slices.Equal(got, want) {
		t.Errorf("schedule is %q, want %q", got, want)
	}
}

func TestWhatMayBeApplied(t *testing.T) {
	const good = "version: 1\nschedules:\n  good: {schedule: '@daily', job: x}\n"
	tests := []struct {
		name  string
		files []string
		fatal bool
		defs  []string
		bad   []string
	}{
		{"a good file", []string{good}, false, []string{"good"}, nil},
		{"no file", nil, true, nil, nil},
		{"an empty set", []string{"version: 1\nschedules: {}"}, false, nil, nil},
		{"a bad entry beside a good one", []string{good + "  bad: {schedule: 'x', job: x}"}, false, []string{"good"}, []string{"bad"}},
		{"an unknown field in an entry", []string{good + "  bad: {schedule: '@daily', job: x, jittr: 3s}"}, false, []string{"good"}, []string{"bad"}},
		{"a bad policy", []string{good + "  bad: {schedule: '@daily', job: x, catchUp: all}"}, false, []string{"good"}, []string{"bad"}},
		{"a jitter that is too wide", []string{good + "  bad: {schedule: '@every 5s', job: x, jitter: 5s}"}, false, []string{"good"}, []string{"bad"}},
		{"an empty window", []string{good + "  bad: {schedule: '@daily', job: x, startAt: 2026-12-02T00:00:00Z, endAt: 2026-12-01T00:00:00Z}"}, false, []string{"good"}, []string{"bad"}},
		{"exec that is not allowed", []string{good + "  bad: {schedule: '@daily', job: exec, args: {command: [ls]}}"}, false, []string{"good"}, []string{"bad"}},
		{"a field of a later version", []string{good + "  bad: {schedule: '@daily', job: x, notify: {on: [failure]}}"}, false, []string{"good"}, []string{"bad"}},
		{"a default jitter that is too wide for some", []string{good + "  bad: {schedule: '@every 5s', job: x}\ndefaults: {jitter: 5s}"}, false, []string{"good"}, []string{"bad"}},
		{"a bad default policy", []string{good + "  own: {schedule: '@daily', job: x, history: {failed: 3}}\ndefaults: {history: 5}"}, false, []string{"own"}, []string{"good"}},
		{"a default of a later version", []string{good + "defaults: {notify: {}}"}, false, nil, []string{"good"}},
		{"channels, which are of a later version", []string{good + "channels: {}"}, true, nil, nil},
		{"a name twice in a file", []string{good + "  good: {schedule: '@daily', job: y}"}, false, nil, []string{"good"}},
		{"a name in two files", []string{good, good}, false, nil, []string{"good"}},
		{"a key that is a number", []string{good + "  7: {schedule: '@daily', job: x}"}, false, []string{"good"}, []string{"7"}},
		{"a syntax error", []string{good, "version: 1\nschedules: {"}, true, nil, nil},
		{"an empty file", []string{good, ""}, true, nil, nil},
		{"another version", []string{"version: 2\nschedules: {}", good}, true, nil, nil},
		{"no version", []string{"schedules: {}"}, true, nil, nil},
		{"no schedules", []string{"version: 1"}, true, nil, nil},
		{"a misspelt field at the top level", []string{good + "default: {}"}, true, nil, nil},
		{"a bad default that an entry uses", []string{good + "  own: {schedule: '@daily', job: x, queue: low}\ndefaults: {queue: 5}"}, false, []string{"own"}, []string{"good"}},
		{"a misspelt default", []string{good + "defaults: {timezone: UTC}"}, false, nil, []string{"good"}},
		{"defaults of another file", []string{good, "version: 1\ndefaults: {queue: 5}\nschedules: {}"}, false, []string{"good"}, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := load(tt.files...)
			if r.Fatal != tt.fatal {
				t.Errorf("fatal is %v, want %v", r.Fatal, tt.fatal)
			}
			if got := names(r); !slices.Equal(got, tt.defs) {
				t.Errorf("definitions are %q, want %q", got, tt.defs)
			}
			if !slices.Equal(r.Bad, tt.bad) && !tt.fatal {
				t.Errorf("bad entries are %q, want %q", r.Bad, tt.bad)
			}
			if t.Failed() {
				t.Log(report(r))
			}
		})
	}
}

func TestProblemsAreSortedByFileLineAndColumn(t *testing.T) {
	bad := "version: 1\nschedules:\n  x: {job: '', schedule: 5, timeout: 1}\n  y: {owner: 1}\n"
	r := Load([]Source{{Name: "z.yaml", Data: []byte(bad)}, {Name: "a.yaml", Data: []byte(bad)}}, Options{})
	var got []string
	for _, p := range r.Problems {
		got = append(got, fmt.Sprintf("%s:%d:%d", p.File, p.Line, p.Column))
	}
	want := strings.Fields("z.yaml:3:12 z.yaml:3:26 z.yaml:3:38 z.yaml:4:3 z.yaml:4:3 z.yaml:4:14 " +
		"a.yaml:3:3 a.yaml:3:12 a.yaml:3:26 a.yaml:3:38 a.yaml:4:3 a.yaml:4:3 a.yaml:4:3 a.yaml:4:14")
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("order differs (-want +got):\n%s", diff)
	}
}

func TestPaths(t *testing.T) {
	r := load(`
version: 1
defaults: {timeout: 5}
schedules:
  a:
    job: log
    schedule: ["x"]
    retry: {maxAttempts: 0}
    args: {message: x, lvl: [1]}
`)
	var got []string
	for _, p := range r.Problems {
		got = append(got, p.Code+" "+p.Path)
	}
	want := []string{
		"E004 defaults.timeout", "E011 schedules.a.schedule[0]", "E008 schedules.a.retry.maxAttempts", "E006 schedules.a.args.lvl",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("paths differ (-want +got):\n%s", diff)
	}
}

func TestLargeFilesAndArgs(t *testing.T) {
	comment := strings.Repeat("#", maxFile)
	r := load("version: 1\nschedules: {}\n" + comment)
	if len(r.Problems) != 1 || r.Problems[0].Code != "E023" || !strings.Contains(r.Problems[0].Message, "1048576") || !r.Fatal {
		t.Errorf("a file above 1 MiB: %s", report(r))
	}

	long := strings.Repeat("x", 600_000)
	r = load("version: 1\nschedules:\n  a: {job: x, schedule: '@daily', args: [&a " + long + ", *a]}\n")
	if len(r.Problems) != 1 || r.Problems[0].Code != "E008" || !strings.Contains(r.Problems[0].Message, "1200007 bytes as JSON, 1048576 are allowed") {
		t.Errorf("args above 1 MiB: %s", report(r))
	}

	deep := strings.Repeat("[", maxDepth+1) + strings.Repeat("]", maxDepth+1)
	r = load("version: 1\nschedules:\n  a: {job: x, schedule: '@daily', args: " + deep + "}\n")
	if len(r.Problems) != 1 || r.Problems[0].Code != "E023" {
		t.Errorf("deep args: %s", report(r))
	}
}

func TestAFileCannotFloodTheReport(t *testing.T) {
	r := load("version: 1\nschedules:\n  a: {" + strings.Repeat("a, ", 5000) + "}\n")
	if len(r.Problems) != maxProblems || !slices.Equal(r.Bad, []string{"a"}) {
		t.Errorf("%d problems, bad %q", len(r.Problems), r.Bad)
	}
}

func TestWithoutOptions(t *testing.T) {
	r := Load(fixture(t, "testdata/good-with-warnings.yaml"), Options{})
	for _, p := range r.Problems {
		if p.Code == "W104" {
			t.Errorf("W104 without a time: %+v", p)
		}
	}
	r = Load([]Source{{Name: "a", Data: []byte("version: 1\nschedules: {a: {job: http, schedule: '@daily'}}")}}, Options{})
	if r.Errors() != 0 || len(r.Definitions) != 1 {
		t.Errorf("without knowing handlers: %s", report(r))
	}
}

// A file that cannot be read is a problem among the others, and nothing of its set
// may be applied.
func TestUnreadable(t *testing.T) {
	_, err := os.Open(filepath.Join(t.TempDir(), "gone.yaml"))
	sources := []Source{
		{Name: "gone.yaml", Err: err},
		{Name: "bad.yaml", Data: []byte("version: 1\nschedules: { a: { schedule: \"@daily\", jobb: x } }\n")},
		{Name: "odd.yaml", Err: errors.New("it\nbites")},
	}
	r := Load(sources, Options{})
	if !r.Fatal || len(r.Definitions) > 0 || r.Schedules != 1 {
		t.Errorf("%+v", r)
	}
	var b strings.Builder
	Print(&b, r.Problems, false)
	lines := strings.Split(b.String(), "\n")
	if len(lines) != 6 || lines[0] != "gone.yaml:1:1: error E024: the file cannot be read: no such file or directory" ||
		!strings.HasPrefix(lines[1], "bad.yaml:2:") || lines[4] != `odd.yaml:1:1: error E024: the file cannot be read: it\nbites` {
		t.Error(b.String())
	}
}

// Clock changes that a schedule does not live to see, or is not there for yet, are no
// warnings.
func TestClockChangesWithinTheWindow(t *testing.T) {
	opt := Options{Now: time.Date(2026, 11, 30, 9, 0, 0, 0, time.UTC)}
	for window, want := range map[string][]string{
		"":                                {"2027-03-28", "2027-10-31", "2028-03-26", "2028-10-29"},
		`startAt: "2027-06-01T00:00:00Z"`: {"2027-10-31", "2028-03-26", "2028-10-29"},
		`endAt: "2028-01-01T00:00:00Z"`:   {"2027-03-28", "2027-10-31"},
		`startAt: "2027-06-01T00:00:00Z", endAt: "2028-01-01T00:00:00Z"`: {"2027-10-31"},
		`startAt: "2027-06-01T00:00:00Z", endAt: "2027-09-01T00:00:00Z"`: nil,
		`endAt: "2026-01-01T00:00:00Z"`:                                  nil,
		`startAt: "2030-06-01T00:00:00Z"`:                                nil,
	} {
		text := "version: 1\nschedules: { a: { schedule: \"30 2 * * *\", timeZone: Europe/Berlin, job: x, " + window + " } }\n"
		var got []string
		for _, p := range Load([]Source{{Name: "a", Data: []byte(text)}}, opt).Problems {
			if p.Code == "W104" {
				got = append(got, regexp.MustCompile(`\d{4}-\d\d-\d\d`).FindAllString(p.Message, -1)...)
			}
		}
		slices.Sort(got)
		if !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", window, got, want)
		}
	}
}
