package app

import (
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/rs/zerolog"

	"github.com/bide-go/bide/dispatcher"
	"github.com/bide-go/bide/job"
	"github.com/bide-go/bide/scheduler"
	"github.com/bide-go/bide/scripts"
)

// stage is a running Dev.
type stage struct {
	t         testing.TB
	out, told *text
	log       *text
	dir       string
	stop      context.CancelFunc
	done      chan error
}

// dev starts Dev with files of a folder, without any if there are none.
func dev(t testing.TB, files ...string) *stage {
	t.Helper()
	d := &stage{t: t, out: &text{}, told: &text{}, log: &text{}, dir: t.TempDir(), done: make(chan error, 1)}
	var ctx context.Context
	ctx, d.stop = context.WithCancel(context.Background())
	o := Options{
		Namespace: "bide", Version: "1.2.3", Log: zerolog.New(d.log), Sample: sample(t), Problems: d.told, Dev: d.out,
		Queues: []string{"high", "medium", "low"}, Concurrency: 10, Lease: 5 * time.Second, Grace: 5 * time.Second, MaxLost: 5,
		Listen: "127.0.0.1:0", AnyPort: true,
	}
	for _, f := range files {
		if !filepath.IsAbs(f) {
			f = filepath.Join(d.dir, f)
		}
		o.Files = append(o.Files, f)
	}
	go func() { d.done <- Dev(ctx, o) }()
	t.Cleanup(d.end)
	return d
}

func (d *stage) end() {
	d.stop()
	select {
	case err := <-d.done:
		if err != nil {
			d.t.Errorf("it ended with %v", err)
		}
		d.done <- nil
	case <-time.After(15 * time.Second):
		d.t.Error("it does not end")
	}
}

// sees waits until the pattern is in the output.
func (d *stage) sees(limit time.Duration, pattern string) []string {
	d.t.Helper()
	re := regexp.MustCompile("(?m)" + pattern)
	var m []string
	deadline := time.Now().Add(limit)
	for {
		if m = re.FindStringSubmatch(d.out.String()); m != nil {
			return m
		}
		if time.Now().After(deadline) {
			d.t.Fatalf("not within %v: %s\n%s", limit, pattern, d.out)
		}
		time.Sleep(10 * time.Millisecond) // between two looks
	}
}

func (d *stage) write(name, content string) {
	d.t.Helper()
	if err := os.WriteFile(filepath.Join(d.dir, name), []byte(content), 0o600); err != nil {
		d.t.Fatal(err)
	}
}

// atNight is how the time of the next nightly report is shown, if it is: what comes within
// the hour is without.
func atNight(t *testing.T) string {
	t.Helper()
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	const clock = `\w{3} 01:30 CES?T `
	now := time.Now().In(berlin)
	night := time.Date(now.Year(), now.Month(), now.Day(), 1, 30, 0, 0, berlin)
	if !night.After(now) {
		night = night.AddDate(0, 0, 1)
	}
	switch left := night.Sub(now); {
	case left < time.Minute || left > time.Hour-time.Minute && left < time.Hour+time.Minute:
		return "(" + clock + ")?" // it changes about now
	case left < time.Hour:
		return ""
	}
	return clock
}

func TestDevShowsWhatHappens(t *testing.T) {
	t.Parallel()
	for name, files := range map[string][]string{"no file": nil, "a file that is not there": {"schedules.yaml"}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := dev(t, files...)
			d.sees(5*time.Second, `^bide 1\.2\.3 dev: embedded Redis, nothing is kept after exit$`)
			began := time.Now()
			d.sees(time.Second, `^  schedules   \(the sample\) .*7 schedules; write a schedules\.yaml`)
			d.sees(time.Second, `^next          .*(flaky-demo|hello-every-10s) in \d+s · .*nightly-report `+atNight(t)+`in \S+`)
			health := d.sees(time.Second, `(http://127\.0\.0\.1:\d+/-/ready)$`)[1]
			address := d.sees(time.Second, `^  redis       (redis://\S+)$`)[1]

			limit := func() time.Duration { return 15*time.Second - time.Since(began) }
			d.sees(limit(), `flaky-demo@\S+ +failed +attempt 1 of 4, again in .*failed as asked`)
			d.sees(limit(), `flaky-demo@\S+ +completed +attempt 2`)
			d.sees(limit(), `hello-every-10s@\S+ +completed .*late.*"hello"`)

			resp, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Get(health)
			if err != nil {
				t.Fatal(err)
			}
			body, _ := io.ReadAll(resp.Body)
			resp.Body.Close()
			if resp.StatusCode != http.StatusOK {
				t.Errorf("health: %d %s", resp.StatusCode, body)
			}
			o, err := redis.ParseURL(address)
			if err != nil {
				t.Fatal(err)
			}
			rdb := redis.NewClient(o)
			defer rdb.Close()
			if _, err := scheduler.NewClient(rdb).ExecuteLater(context.Background(), "medium", "log", map[string]string{"message": "hi"}, time.Second, scheduler.WithID("mine")); err != nil {
				t.Fatal(err)
			}
			d.sees(5*time.Second, `^\d\d:\d\d:\d\d mine +completed .*"hi"$`)
			set, err := scripts.New(rdb, "")
			if err != nil {
				t.Fatal(err)
			}
			if sum, err := set.Audit(context.Background()); err != nil || sum.Gap() != 0 || sum.Completed < 3 {
				t.Errorf("audit: %+v, %v", sum, err)
			}
		})
	}
}

func TestDevTakesEditsAndRefusesBrokenOnes(t *testing.T) {
	t.Parallel()
	d := dev(t, "schedules.yaml")
	d.sees(5*time.Second, `^  schedules   \(the sample\)`)
	// The file that it asks for is used instead of the sample.
	quick := "version: 1\nschedules:\n  quick:\n    schedule: \"@every 1s\"\n    job: log\n    args: { message: quick }\n"
	d.write("schedules.yaml", quick)
	d.sees(inEffect+slack, `schedules read: 1$`)
	d.sees(inEffect+slack, `quick@\S+ +completed`)

	edited := quick + "  added:\n    schedule: \"@every 1s\"\n    job: log\n    args: { message: added }\n"
	d.write("schedules.yaml", edited)
	d.sees(inEffect+slack, `added@\S+ +completed .*"added"`)

	d.write("schedules.yaml", edited+"  broken:\n    schedule: \"61 * * * *\"\n    job: log\n    args: { message: x }\n")
	eventually(t, inEffect+slack, "the mistake is printed with its line", func() bool {
		return d.told.has(`schedules.yaml:12:16: error E010: minute "61"`) && d.told.has("   12 |     schedule: \"61 * * * *\"")
	})
	runsOn := func(what string) {
		t.Helper()
		n := strings.Count(d.out.String(), "quick@")
		eventually(t, 5*time.Second, what, func() bool { return strings.Count(d.out.String(), "quick@") >= n+2 })
	}
	runsOn("the rest runs on after a bad entry")
	d.write("schedules.yaml", edited+" nonsense")
	eventually(t, inEffect+slack, "the syntax error is printed", func() bool { return d.told.has("error E001") })
	runsOn("the rest runs on after a syntax error")
	if strings.Contains(d.out.String(), "broken@") {
		t.Errorf("the broken one ran: %s", d.out)
	}
}

func TestDevWithAFileOfItsOwn(t *testing.T) {
	t.Parallel()
	t.Run("it is named", func(t *testing.T) {
		t.Parallel()
		dir := t.TempDir()
		path := filepath.Join(dir, "mine.yaml")
		if err := os.WriteFile(path, []byte("version: 1\nschedules: {}\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		d := dev(t, path)
		d.sees(5*time.Second, `^  schedules   `+regexp.QuoteMeta(path)+` +0 schedules; edits load by themselves$`)
		d.sees(time.Second, `^next          nothing is scheduled$`)
	})
	t.Run("a bad one is fatal", func(t *testing.T) {
		t.Parallel()
		path := filepath.Join(t.TempDir(), "bad.yaml")
		if err := os.WriteFile(path, []byte(noYAML), 0o600); err != nil {
			t.Fatal(err)
		}
		var out text
		err := Dev(context.Background(), Options{Files: []string{path}, FilesGiven: true, Problems: &out, Dev: &out})
		var file *FileError
		if !errors.As(err, &file) || !out.has("E001") {
			t.Errorf("want a FileError and its problems, got %v: %s", err, &out)
		}
	})
}

func TestOutcomesInWords(t *testing.T) {
	t.Parallel()
	due := time.Date(2026, 11, 30, 9, 0, 5, 0, time.UTC)
	plain := &job.Job{ID: "one", Name: "log", Args: []byte(`{"message":"hi"}`), Due: due, Started: due.Add(400 * time.Microsecond), MaxAttempts: 4}
	again := &job.Job{ID: "one", Name: "x", Due: due, Started: due, Attempts: 1, MaxAttempts: 4}
	byHand := &job.Job{ID: "nightly@0190", Schedule: "nightly", Name: "x", Due: due, Started: due, MaxAttempts: 4}
	for name, tt := range map[string]struct {
		outcome dispatcher.Outcome
		want    string
	}{
		"a run by hand":      {dispatcher.Outcome{Job: byHand, State: job.Completed, Took: time.Millisecond}, `nightly (by hand)           completed  0.0ms late, 1.0ms`},
		"completed":          {dispatcher.Outcome{Job: plain, State: job.Completed, Took: time.Millisecond}, `one                         completed  0.4ms late, 1.0ms  "hi"`},
		"completed at last":  {dispatcher.Outcome{Job: again, State: job.Completed, Took: 1500 * time.Millisecond}, `one                         completed  attempt 2, 1.5s`},
		"failed":             {dispatcher.Outcome{Job: plain, State: job.Delayed, Err: errors.New("no\x1b[31m\nway"), Pause: 1400 * time.Millisecond}, "one                         failed     attempt 1 of 4, again in 1.4s: no [31m way"},
		"dead":               {dispatcher.Outcome{Job: again, State: job.Dead, Err: errors.New("no")}, "one                         dead       attempt 2 of 4: no"},
		"the lease was lost": {dispatcher.Outcome{Job: plain}, "one                         lost       the lease ran out"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			out := &text{}
			(&screen{out: out}).outcome(tt.outcome)
			if !out.has(" " + tt.want) {
				t.Errorf("want %q, got %q", tt.want, out)
			}
		})
	}
}

func TestSpansInWords(t *testing.T) {
	t.Parallel()
	for d, want := range map[time.Duration]string{
		-time.Second: "0.0ms", 420 * time.Microsecond: "0.4ms", 42 * time.Millisecond: "42ms", 2340 * time.Millisecond: "2.3s", 90 * time.Second: "1m30s",
	} {
		if got := short(d); got != want {
			t.Errorf("short(%v): want %q, got %q", d, want, got)
		}
	}
	for d, want := range map[time.Duration]string{
		0: "1s", 400 * time.Millisecond: "1s", 9600 * time.Millisecond: "10s", 90*time.Minute + 20*time.Second: "1h30m", 75*time.Hour + 31*time.Minute: "3d4h",
	} {
		if got := coarse(d); got != want {
			t.Errorf("coarse(%v): want %q, got %q", d, want, got)
		}
	}
}
