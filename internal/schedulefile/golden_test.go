package schedulefile

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the golden files and zones.txt anew")

// now is before the changes of the clocks that the fixtures name.
var now = time.Date(2026, 11, 30, 9, 0, 0, 0, time.UTC)

// fixtureOptions are testOptions, with exec allowed in good files.
func fixtureOptions(path string) Options {
	opt := testOptions()
	opt.AllowExec = strings.HasPrefix(filepath.Base(path), "good-")
	return opt
}

// testOptions stands in for the bundled handlers: "log" has one required and one
// optional field.
func testOptions() Options {
	return Options{
		Now:       now,
		StrictEnv: true,
		CheckArgs: func(name string, args json.RawMessage) (problems []ArgProblem) {
			if name != "log" {
				return nil
			}
			var fields map[string]any
			if err := json.Unmarshal(args, &fields); err != nil {
				return []ArgProblem{{Message: "args must be an object"}}
			}
			if _, ok := fields["message"]; !ok {
				problems = append(problems, ArgProblem{Path: "message", Message: `field "message" is missing`})
			}
			for name := range fields {
				if name != "message" && name != "level" {
					problems = append(problems, ArgProblem{Path: name, Message: "unknown field " + quote(name), Hint: `did you mean "level"?`})
				}
			}
			return problems
		},
	}
}

// fixture is a set of files: one file of testdata, or all those of a folder.
func fixture(t testing.TB, path string) []Source {
	t.Helper()
	files := []string{path}
	if filepath.Ext(path) == "" {
		files, _ = filepath.Glob(filepath.Join(path, "*.yaml"))
	}
	var sources []Source
	for _, f := range files {
		data, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		sources = append(sources, Source{Name: filepath.Base(f), Data: data})
	}
	return sources
}

func fixtures(t testing.TB) (paths []string) {
	t.Helper()
	for _, pattern := range []string{"good-*", "bad-*"} {
		found, err := filepath.Glob(filepath.Join("testdata", pattern))
		if err != nil || len(found) == 0 {
			t.Fatalf("no fixtures %s: %v", pattern, err)
		}
		paths = append(paths, found...)
	}
	return slices.DeleteFunc(paths, func(p string) bool { return filepath.Ext(p) == ".txt" })
}

func report(r Result) string {
	var b strings.Builder
	Print(&b, r.Problems, false)
	return b.String() + Summary(r) + "\n"
}

func TestFixtures(t *testing.T) {
	for _, path := range fixtures(t) {
		name := strings.TrimSuffix(filepath.Base(path), ".yaml")
		t.Run(name, func(t *testing.T) {
			r := Load(fixture(t, path), fixtureOptions(path))
			if bad := strings.HasPrefix(name, "bad-"); bad != (r.Errors() > 0) {
				t.Errorf("%d errors in %s", r.Errors(), name)
			}
			golden(t, strings.TrimSuffix(path, ".yaml")+".txt", report(r))
			for _, d := range r.Definitions {
				if err := d.Validate(); err != nil {
					t.Errorf("the scheduler refuses %q: %v", d.Name, err)
				}
			}
		})
	}
}

func golden(t *testing.T, path, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("report differs from %s (-want +got):\n%s", path, diff)
	}
}

// The codes of this version.
var codes = strings.Fields(`
	E001 E002 E003 E004 E005 E006 E007 E008 E010 E011 E012 E013 E014 E015 E016 E017 E018 E020 E021 E022 E023 E024 E025
	W101 W102 W103 W104 W105 W106 W107 W108 W110 W111 W112 W113`)

func TestEveryCodeHasAFixture(t *testing.T) {
	seen := map[string]bool{"E024": true} // a file that is none: TestUnreadable
	for _, path := range fixtures(t) {
		for _, p := range Load(fixture(t, path), fixtureOptions(path)).Problems {
			seen[p.Code] = true
			if !slices.Contains(codes, p.Code) {
				t.Errorf("%s: code %s is not of this version", path, p.Code)
			}
		}
	}
	for _, code := range codes {
		if !seen[code] {
			t.Errorf("no fixture shows %s", code)
		}
	}
}

// Every fixture's report must be readable as file:line:column: severity code.
func TestReportLines(t *testing.T) {
	head := regexp.MustCompile(`^[\w.-]+:[1-9]\d*:[1-9]\d*: (error E|warning W)\d{3}: \S`)
	for _, path := range fixtures(t) {
		r := Load(fixture(t, path), fixtureOptions(path))
		for _, p := range r.Problems {
			var b strings.Builder
			Print(&b, []Problem{p}, false)
			lines := strings.Split(b.String(), "\n")
			if len(lines) != 4 || !head.MatchString(lines[0]) || !strings.HasSuffix(lines[2], "^") {
				t.Errorf("%s: report is\n%s", path, b.String())
			}
		}
	}
}
