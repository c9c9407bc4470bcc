package app

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bide-go/bide/internal/schedulefile"
	"github.com/bide-go/bide/internal/timely"
)

// inEffect is how soon a change of a file must be in effect.
const inEffect = 3 * time.Second

// slack is what a busy machine may add to a limit.
const slack = 2 * time.Second

const (
	twoGood = `version: 1
schedules:
  one:
    schedule: "@daily"
    job: log
    args: { message: one }
  two:
    schedule: "@hourly"
    job: log
    args: { message: two }
`
	oneBad = `version: 1
schedules:
  one:
    schedule: "61 * * * *"
    job: log
    args: { message: one }
  two:
    schedule: "@weekly"
    job: log
    args: { message: two }
  new:
    schedule: "@yearly"
    job: log
    args: { message: new }
  new-and-bad:
    schedule: "@daily"
    job: log
    args: { mesage: oops }
`
	noYAML = "version: 1\nschedules:\n  one: [\n"
)

func wantApplied(t testing.TB, r *rig, names ...string) {
	t.Helper()
	eventually(t, inEffect+slack, "applied: "+strings.Join(names, " "), func() bool { return slices.Equal(r.applied(), names) })
}

func TestFilesAtStart(t *testing.T) {
	t.Parallel()
	t.Run("a good one is applied", func(t *testing.T) {
		t.Parallel()
		r := mini(t)
		r.write(twoGood)
		r.serve()
		wantApplied(t, r, "one", "two")
	})
	t.Run("several are one set", func(t *testing.T) {
		t.Parallel()
		r := mini(t)
		r.write(twoGood)
		more := filepath.Join(r.dir, "more.yaml")
		if err := os.WriteFile(more, []byte("version: 1\nschedules:\n  three: { schedule: \"@daily\", job: log, args: { message: x } }\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		r.opts.Files = append(r.opts.Files, more)
		r.serve()
		wantApplied(t, r, "one", "three", "two")
	})
	for name, tt := range map[string]struct {
		content string
		printed []string
		says    string
	}{
		"a bad entry":     {oneBad, []string{"schedules.yaml:4:16: error E010", "61 * * * *", "schedules.yaml:18:13: error E006"}, "nothing was applied"},
		"no YAML":         {noYAML, []string{"error E001"}, "nothing was applied"},
		"an empty file":   {"", []string{"error E005"}, "nothing was applied"},
		"another version": {"version: 2\nschedules: {}\n", []string{"this bide reads version 1"}, "nothing was applied"},
	} {
		t.Run(name+" is fatal", func(t *testing.T) {
			t.Parallel()
			r := mini(t)
			r.write(tt.content)
			err := r.begin().wait(10 * time.Second)
			var file *FileError
			if !errors.As(err, &file) || !strings.Contains(err.Error(), tt.says) {
				t.Errorf("want a FileError that says %q, got %v", tt.says, err)
			}
			for _, part := range tt.printed {
				if !r.told.has(part) {
					t.Errorf("%q is not printed: %s", part, r.told)
				}
			}
			if keys := r.Mini.Keys(); len(keys) != 0 {
				t.Errorf("something was written: %v", keys)
			}
		})
	}
	t.Run("one that is missing and was not asked for leaves what Redis has", func(t *testing.T) {
		t.Parallel()
		r := mini(t)
		r.write(twoGood)
		first := r.serve()
		wantApplied(t, r, "one", "two")
		first.end()

		r.opts.Files = []string{filepath.Join(r.dir, "missing.yaml")}
		a := r.serve()
		a.readyWithin(5 * time.Second)
		if got := r.applied(); !slices.Equal(got, []string{"one", "two"}) {
			t.Errorf("applied: %v", got)
		}
		// Once it is there, it counts.
		if err := os.WriteFile(r.opts.Files[0], []byte("version: 1\nschedules: {}\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		wantApplied(t, r)
	})
	for name, path := range map[string]string{"missing": "missing.yaml", "a folder": "."} {
		t.Run("one that was asked for and is "+name+" is fatal", func(t *testing.T) {
			t.Parallel()
			r := mini(t)
			r.opts.Files, r.opts.FilesGiven = []string{filepath.Join(r.dir, path)}, true
			err := r.begin().wait(10 * time.Second)
			var file *FileError
			if !errors.As(err, &file) || !strings.Contains(err.Error(), "--file") {
				t.Errorf("want a FileError that names --file, got %v", err)
			}
		})
	}
	t.Run("role scheduler alone reads files", func(t *testing.T) {
		t.Parallel()
		r := mini(t)
		r.write(noYAML)
		r.opts.Roles = []string{"promoter", "worker"}
		r.serve().readyWithin(5 * time.Second)
	})
}

func TestReload(t *testing.T) {
	t.Parallel()
	t.Run("a changed file is in effect within three seconds", func(t *testing.T) {
		t.Parallel()
		r := mini(t)
		r.write(twoGood)
		r.serve()
		wantApplied(t, r, "one", "two")
		before := r.definition("one")
		r.write(strings.Replace(twoGood, "  two:", "  three:", 1))
		wantApplied(t, r, "one", "three")
		if r.definition("one") != before {
			t.Error("an unchanged one was touched")
		}
		// It is said once the scheduler has been told, which may have applied it by then.
		eventually(t, slack, "it is said", func() bool { return r.log.count("schedules file read") >= 1 })
		if n := r.log.count("schedules file read"); n != 1 {
			t.Errorf("read %d times: %s", n, r.log)
		}
	})
	t.Run("when asked, at once and without a change", func(t *testing.T) {
		t.Parallel()
		r := mini(t)
		r.write(twoGood)
		r.serve()
		wantApplied(t, r, "one", "two")
		for i := 1; i <= 3; i++ {
			r.reload <- struct{}{}
			eventually(t, time.Second, "read again", func() bool { return r.log.count("schedules file read") == i })
		}
		eventually(t, time.Second+slack, "nothing to apply", func() bool { return r.log.count("schedules are as applied") >= 1 })
	})
	t.Run("a bad entry keeps its last good definition and the others apply", func(t *testing.T) {
		t.Parallel()
		r := mini(t)
		r.write(twoGood)
		r.serve()
		wantApplied(t, r, "one", "two")
		before := r.definition("one")
		r.write(oneBad)
		wantApplied(t, r, "new", "one", "two")
		if r.definition("one") != before || !strings.Contains(r.definition("two"), "@weekly") {
			t.Errorf("one: %s\ntwo: %s", r.definition("one"), r.definition("two"))
		}
		if !r.told.has("schedules.yaml:4:16: error E010") || !r.told.has("schedules.yaml:18:13: error E006") {
			t.Errorf("printed: %s", r.told)
		}
		const kept = "bad entries keep their last good definition; the others apply"
		eventually(t, slack, "it is said", func() bool { return r.log.count(kept) >= 1 })
		if n := r.log.count(kept); n != 1 {
			t.Errorf("log: %s", r.log)
		}
		r.write(twoGood) // healed
		wantApplied(t, r, "one", "two")
	})
	t.Run("a syntax error changes nothing and is said once per content", func(t *testing.T) {
		t.Parallel()
		r := mini(t)
		r.write(twoGood)
		r.serve()
		wantApplied(t, r, "one", "two")
		const refused = "schedules file refused; nothing changes"
		r.write(noYAML)
		eventually(t, inEffect+slack, "it is refused", func() bool { return r.log.count(refused) == 1 })
		quiet := time.NewTimer(2*pollEvery + 500*time.Millisecond) // two more polls of the same content
		<-quiet.C
		if n := r.log.count(refused); n != 1 {
			t.Errorf("said %d times", n)
		}
		if got := r.applied(); !slices.Equal(got, []string{"one", "two"}) {
			t.Errorf("applied: %v", got)
		}
		r.write("version: 1\nschedules: }\n")
		eventually(t, inEffect+slack, "another content is refused", func() bool { return r.log.count(refused) == 2 })
		r.write("version: 1\nschedules: {}\n")
		wantApplied(t, r)
	})
	t.Run("a file that vanishes keeps the last good set", func(t *testing.T) {
		t.Parallel()
		r := mini(t)
		path := r.write(twoGood)
		r.opts.FilesGiven = true
		r.serve()
		wantApplied(t, r, "one", "two")
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
		const gone = "schedules file cannot be read; what is applied stays"
		eventually(t, inEffect+slack, "it is said", func() bool { return r.log.count(gone) == 1 })
		quiet := time.NewTimer(pollEvery + 500*time.Millisecond) // one more poll
		<-quiet.C
		if n := r.log.count(gone); n != 1 {
			t.Errorf("said %d times", n)
		}
		if got := r.applied(); !slices.Equal(got, []string{"one", "two"}) {
			t.Errorf("applied: %v", got)
		}
		r.write(strings.Replace(twoGood, "  two:", "  three:", 1)) // it is back, with a change
		wantApplied(t, r, "one", "three")
	})
	t.Run("a flushed Redis is applied anew", func(t *testing.T) {
		t.Parallel()
		r := mini(t)
		r.write(twoGood)
		r.serve()
		wantApplied(t, r, "one", "two")
		r.Mini.FlushAll()
		wantApplied(t, r, "one", "two")
	})
}

// sample is the schedules file that bide ships.
func sample(t testing.TB) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("..", "..", "schedules.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func TestTheShippedFileIsFaultless(t *testing.T) {
	t.Parallel()
	r := schedulefile.Load([]schedulefile.Source{{Name: "schedules.yaml", Data: sample(t)}}, CheckOptions())
	for _, p := range r.Problems {
		t.Errorf("%+v", p)
	}
	if r.Fatal || len(r.Definitions) != 7 || r.Schedules != 7 {
		t.Errorf("%d definitions of %d schedules", len(r.Definitions), r.Schedules)
	}
}

// uncommented is the shipped file with its broken entry.
func uncommented(t testing.TB) string {
	t.Helper()
	head, broken, ok := strings.Cut(string(sample(t)), "  # broken:\n")
	if !ok {
		t.Fatal("the shipped file has no broken entry")
	}
	lines := []string{"  broken:"}
	for line := range strings.Lines(broken) {
		lines = append(lines, strings.Replace(strings.TrimRight(line, "\n"), "# ", "", 1))
	}
	return head + strings.Join(lines, "\n") + "\n"
}

func TestTheBrokenPartOfTheShippedFileIsRefused(t *testing.T) {
	t.Parallel()
	data := uncommented(t)
	r := schedulefile.Load([]schedulefile.Source{{Name: "schedules.yaml", Data: []byte(data)}}, CheckOptions())
	if r.Fatal || len(r.Definitions) != 7 || !slices.Equal(r.Bad, []string{"broken"}) {
		t.Errorf("%d definitions, bad: %v", len(r.Definitions), r.Bad)
	}
	lines := strings.Split(data, "\n")
	type found struct{ code, line string }
	var got []found
	for _, p := range r.Problems {
		got = append(got, found{p.Code, strings.TrimSpace(lines[p.Line-1])})
	}
	want := []found{
		{"E010", `schedule: "61 * * * *"`}, {"E006", "args: { mesage: hello }"}, {"E006", "args: { mesage: hello }"},
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(found{})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestNothingIsAppliedUntilRedisIsThere(t *testing.T) {
	t.Parallel()
	r := mini(t)
	r.write(twoGood)
	r.Mini.Close()
	a := r.serve()
	if status, h, took := a.ask("/-/ready"); status != 503 || h.Ready || len(h.Problems) == 0 || took > timely.Limit(time.Second+slack) {
		t.Errorf("ready without Redis: %d, %+v after %v", status, h, took)
	}
	if err := r.Mini.Restart(); err != nil {
		t.Fatal(err)
	}
	eventually(t, 5*time.Second, "applied", func() bool { return slices.Equal(r.applied(), []string{"one", "two"}) })
	a.readyWithin(5 * time.Second)
	if err := r.rdb.Ping(context.Background()).Err(); err != nil {
		t.Error(err)
	}
}
