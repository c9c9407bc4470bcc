package proctest

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bide-go/bide/internal/timely"
	"github.com/bide-go/bide/job"
	"github.com/bide-go/bide/scheduler"
)

// makesUp is for how many ticks a schedule of each name makes up, at most.
var makesUp = map[string]int{"skip": 0, "latest": 1, "all": 100}

// threePolicies are schedules of every second that differ in catchUp alone. They
// overlap with nothing, unless a made-up run takes long.
const threePolicies = `
  skip: &s { schedule: "* * * * * *", job: log, args: { message: tick }, history: { successful: 1000 }, catchUp: Skip }
  latest: { <<: *s, catchUp: Latest }
  all: { <<: *s, catchUp: All }
`

// late is when a tick of theirs that has not been promoted is missed.
const late = 500 * time.Millisecond

// wantMadeUp fails the test unless, after an outage that began after the tick last
// and ended at up, the runs of a schedule are those of its policy and each other
// tick is counted.
func (r *rig) wantMadeUp(name string, last, up time.Time) {
	t := r.t
	t.Helper()
	runs := slices.DeleteFunc(r.runs(name, completed), func(run scheduler.Run) bool { return !run.Tick.After(last) })
	slices.SortFunc(runs, func(a, b scheduler.Run) int { return a.Started.Compare(b.Started) })
	ticks := make([]time.Time, len(runs))
	for i, run := range runs {
		ticks[i] = run.Tick
	}
	slices.SortFunc(ticks, time.Time.Compare)
	// The newest tick that was missed for certain when the roles came back, and the
	// newest that may have been when the first of them did something.
	newest, slow := up.Add(-late).Truncate(time.Second), runs[0].Started.Add(-late).Truncate(time.Second)
	from := func(newest time.Time) time.Time {
		oldest := newest.Add(-time.Duration(makesUp[name]-1) * time.Second)
		if next := last.Add(time.Second); oldest.Before(next) {
			return next
		}
		return oldest
	}
	if ticks[0].Before(from(newest)) || ticks[0].After(from(slow)) {
		t.Errorf("%s: the first tick that ran is %v, want %v (or up to %v on a slow machine)", name, ticks[0], from(newest), from(slow))
	}
	for i, tick := range ticks {
		if want := ticks[0].Add(time.Duration(i) * time.Second); !tick.Equal(want) {
			if want.After(slow) {
				t.Logf("%s: a busy machine did not run %v", name, want)
				break
			}
			t.Errorf("%s: tick %d that ran is %v, want %v", name, i, tick, want)
			break
		}
	}
	var before time.Time
	for i, run := range runs {
		if run.Tick.After(newest) {
			continue // a tick on time may go before made-up ones
		}
		if run.Tick.Before(before) {
			t.Errorf("%s: %v ran after %v", name, run.Tick, before)
		}
		if i > 0 && run.Started.Before(runs[i-1].Finished.Truncate(time.Millisecond)) {
			t.Errorf("%s: %v began before the run before it had ended", name, run.Tick)
		}
		before = run.Tick
	}
	s := r.status(name)
	if want := int(s.LastTick.Sub(last)/time.Second) - len(runs); s.Missed+s.Skipped != want {
		t.Errorf("%s: %d missed and %d skipped, want %d in all", name, s.Missed, s.Skipped, want)
	}
	if s.Skipped > 0 {
		t.Logf("%s: a busy machine skipped %d", name, s.Skipped)
	}
	t.Logf("%s: %d ticks ran from %v on, %d are counted", name, len(runs), ticks[0], s.Missed)
}

// rest waits until each of the three has run so many regular ticks after up, and
// ends the roles so that no run is open.
func (r *rig) rest(up time.Time, promoter, others []*service) {
	r.t.Helper()
	for name, made := range makesUp {
		r.eventually(name+" goes on", func() bool {
			runs := r.runs(name, completed)
			after := slices.DeleteFunc(runs, func(run scheduler.Run) bool { return run.Tick.Before(up) })
			return len(after) >= 3 && (made == 0 || r.sum().Waiting == 0)
		})
	}
	for _, s := range promoter {
		s.stop()
	}
	r.eventually("what is due has run", func() bool { s := r.sum(); return s.Waiting+s.Active == 0 })
	for _, s := range others {
		s.stop()
	}
}

// All roles are killed and away for twelve seconds.
func TestAllRolesAreDown(t *testing.T) {
	t.Parallel()
	for _, first := range []string{"promoter", "scheduler"} {
		t.Run(first+" first", func(t *testing.T) {
			r := newRig(t)
			file := write(t, "", threePolicies)
			before := r.serve("scheduler,promoter,worker", "--file", file)
			last := map[string]time.Time{}
			r.eventually("ticks ran", func() bool {
				for name := range makesUp {
					if s := r.status(name); s.LastTick.IsZero() || s.LastOutcome != job.Completed {
						return false
					}
				}
				return true
			})
			// Between two ticks, so that no run is open.
			time.Sleep(time.Until(r.now().Truncate(time.Second).Add(time.Second + late)))
			before.kill()
			down := r.now()
			for name := range makesUp {
				last[name] = r.status(name).LastTick
			}
			if s := r.sum(); s.Waiting+s.Active != 0 {
				t.Logf("a busy machine was killed with open runs: %+v", s)
			}
			time.Sleep(time.Until(down.Add(12 * time.Second).Truncate(time.Second).Add(late + 200*time.Millisecond)))
			up := r.now()
			var promoter, others []*service
			start := func(role string) {
				if role == "promoter" {
					promoter = append(promoter, r.serve(role))
					r.eventually("it promotes", func() bool { return r.status("latest").LastTick.After(last["latest"]) })
				} else {
					sched := r.serve(role, "--file", file)
					others = append(others, sched)
					r.eventually("it plans", func() bool { return strings.Contains(sched.out.String(), "schedules are as applied") })
				}
			}
			others = append(others, r.serve("worker"))
			start(first)
			start(map[string]string{"promoter": "scheduler", "scheduler": "promoter"}[first])
			r.rest(up, promoter, others)
			for name := range makesUp {
				r.wantMadeUp(name, last[name], up)
			}
		})
	}
}

// No role has run for three days: nothing is in the way of a quick start, a hundred
// ticks are made up for at most, and the others are counted.
func TestThreeDaysWithoutAnybody(t *testing.T) {
	r := newRig(t)
	file := write(t, "", threePolicies)
	r.commandEnds(0, "apply", file)
	last := r.now().Add(-72 * time.Hour).Truncate(time.Second)
	for name := range makesUp {
		if err := r.Server.Client().HSet(r.ctx(), "{bide}:schedule:"+name, "cursor", fmt.Sprint(last.UnixMilli())).Err(); err != nil {
			t.Fatal(err)
		}
	}
	up := r.now()
	promoter, worker := r.serve("promoter"), r.serve("worker")
	sched := r.serve("scheduler", "--file", file)
	r.eventually("missed ticks are made up for", func() bool { return len(r.runs("latest", completed)) > 0 })
	timely.Check(t, "the first run after the start", r.now().Sub(up), 5*time.Second)
	r.rest(up, []*service{promoter}, []*service{worker, sched})
	for name := range makesUp {
		r.wantMadeUp(name, last, up)
	}
}
