package proctest

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bide-go/bide/scheduler"
	"github.com/bide-go/bide/scripts"
)

const (
	active    = scheduler.Outcome("active")
	completed = scheduler.Outcome("completed")
)

// ticksOf reads the ticks that commands have noted in a file, as "schedule tick".
func ticksOf(t testing.TB, file string) map[string][]time.Time {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	ticks := map[string][]time.Time{}
	for line := range strings.Lines(string(text)) {
		name, at, _ := strings.Cut(strings.TrimSpace(line), " ")
		tick, err := time.Parse(time.RFC3339, at)
		if err != nil {
			t.Fatalf("noted %q: %v", line, err)
		}
		ticks[name] = append(ticks[name], tick)
	}
	return ticks
}

// planned are the ticks of a schedule that are still to come.
func (r *rig) planned(name string) []time.Time {
	r.t.Helper()
	jobs, _, _, err := r.set.List(r.ctx(), scripts.Page{Place: "delayed", Look: 1000, Want: 1000})
	if err != nil {
		r.t.Fatal(err)
	}
	var ticks []time.Time
	for _, j := range jobs {
		if j.Schedule == name {
			ticks = append(ticks, j.Tick)
		}
	}
	return ticks
}

// wantGrid fails the test unless ticks are every step from first on, each once.
func wantGrid(t testing.TB, name string, first time.Time, step time.Duration, ticks []time.Time) {
	t.Helper()
	want := first
	for _, tick := range slices.SortedFunc(slices.Values(ticks), time.Time.Compare) {
		for want.Before(tick) {
			t.Errorf("%s: no run at %v", name, want)
			want = want.Add(step)
		}
		if !want.Equal(tick) {
			t.Errorf("%s: a run too many at %v", name, tick)
			continue
		}
		want = want.Add(step)
	}
}

// Three schedulers, one of them late, and one that is killed around the instants of
// ticks and comes back with another version of the file each time, which plans all
// anew: what ran and what is planned after that are the planned instants, each once.
func TestSchedulersAreKilledAtTheTick(t *testing.T) {
	r := newRig(t)
	ran := filepath.Join(t.TempDir(), "ran")
	version := func(every string) string {
		return write(t, "", fmt.Sprintf(`
  seconds: &s
    schedule: %q
    concurrencyPolicy: Allow
    catchUp: All # a busy machine may be late
    job: exec
    args: { command: [sh, -c, 'echo "$BIDE_SCHEDULE $BIDE_TICK" >>%s'] }
  tens:
    <<: *s
    schedule: "@every 10s"
`, every, ran))
	}
	versions := []string{version("* * * * * *"), version("@every 1s")}
	promoter, worker := r.serve("promoter"), r.serve("worker")
	all := []*service{r.serve("scheduler", "--file", versions[0])}
	r.eventually("it is applied", func() bool { return r.status("seconds").Definition.Name != "" })
	l, err := r.schedules.List(r.ctx())
	if err != nil {
		t.Fatal(err)
	}
	first := l.AppliedAt.Truncate(time.Second).Add(time.Second)
	doomed := r.serve("scheduler", "--file", versions[1])
	boundary := first.Add(3 * time.Second)
	for i, off := range []time.Duration{0, -250 * time.Millisecond, 20 * time.Millisecond, -80 * time.Millisecond, -10 * time.Millisecond} {
		time.Sleep(time.Until(boundary.Add(off)))
		doomed.kill()
		doomed = r.serve("scheduler", "--file", versions[i%2])
		if i == 2 {
			all = append(all, r.serve("scheduler", "--file", versions[0]))
		}
		boundary = boundary.Add(4 * time.Second)
	}
	r.eventually("the last ticks ran", func() bool {
		return slices.ContainsFunc(ticksOf(t, ran)["seconds"], func(tick time.Time) bool { return !tick.Before(boundary) })
	})
	for _, s := range append(all, doomed) {
		s.kill()
	}
	promoter.stop()
	r.eventually("what is due has run", func() bool { s := r.sum(); return s.Waiting+s.Active == 0 })
	worker.stop()
	for name, step := range map[string]time.Duration{"seconds": time.Second, "tens": 10 * time.Second} {
		ticks := ticksOf(t, ran)[name]
		t.Logf("%s: %d ticks ran", name, len(ticks))
		from := first.Add(step - time.Second).Truncate(step)
		if name == "seconds" && len(ticks) < 20 || name == "tens" && len(ticks) < 2 {
			t.Errorf("only %d ticks of %s ran", len(ticks), name)
		}
		wantGrid(t, name, from, step, append(ticks, r.planned(name)...))
		if s := r.status(name); s.Missed+s.Skipped != 0 {
			t.Errorf("%s: %d missed, %d skipped", name, s.Missed, s.Skipped)
		}
	}
}
