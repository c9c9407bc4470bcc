package scheduler

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/bide-go/bide/internal/redistest"
	"github.com/bide-go/bide/job"
)

// outage takes all roles away for a while and brings them back, one of them first.
func (s *stage) outage(d time.Duration, first string) {
	s.after(d)
	s.sched = s.scheduler("after")
	if first == "promoter" {
		s.moment()
	}
	s.sched.step()
	s.moment()
}

// All roles are down for twelve seconds: none, the newest or all of the missed ticks
// run, in order, and it goes on with the next tick, whoever comes back first and
// whatever the policy and the length of a run.
func TestCatchUp(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		catchUp CatchUp
		want    []int // of the ticks 4 to 15
	}{
		{Skip, nil}, {Latest, []int{15}}, {"", []int{15}}, {All, []int{4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}},
	} {
		for _, first := range []string{"promoter", "scheduler"} {
			for i, policy := range []ConcurrencyPolicy{Allow, Forbid, Replace, Queue} {
				lengths := []time.Duration{0, 400 * time.Millisecond}
				if first == "promoter" {
					slices.Reverse(lengths)
				}
				for _, length := range lengths[i%2 : i%2+1] {
					t.Run(fmt.Sprintf("%s %s first %s runs of %v", tt.catchUp, first, policy, length), func(t *testing.T) {
						t.Parallel()
						d := every("s", "@every 1s")
						d.ConcurrencyPolicy, d.CatchUp = policy, tt.catchUp
						s := newStage(t, d, length)
						s.play(sec(3).Add(750 * time.Millisecond))
						s.outage(12*time.Second, first) // 15.75: the tick 15 is late by more than half a second
						s.play(sec(28))
						want := ticks("s", append(seconds(1, 2, 3), seconds(tt.want...)...)...)
						want = append(want, ticks("s", series(sec(16), sec(28), time.Second)...)...)
						wantIDs(t, "begun", want, s.begun)
						if policy != Allow && s.most > 1 {
							t.Errorf("%d ran at once", s.most)
						}
						if got := s.count("missed"); got != 12-len(tt.want) || s.count("skipped") != 0 {
							t.Errorf("missed: want %d, got %d; skipped %d", 12-len(tt.want), got, s.count("skipped"))
						}
						if got := s.history()["catchUp"]; len(got) != 12-len(tt.want) {
							t.Errorf("noted %v", got)
						}
					})
				}
			}
		}
	}
}

// After an outage of three days All makes up for the newest hundred.
func TestCatchUpAfterThreeDays(t *testing.T) {
	t.Parallel()
	for _, first := range []string{"promoter", "scheduler"} {
		for _, catchUp := range []CatchUp{Skip, Latest, All} {
			t.Run(fmt.Sprint(catchUp, " ", first, " first"), func(t *testing.T) {
				t.Parallel()
				d := every("s", "* * * * * *")
				d.ConcurrencyPolicy, d.CatchUp = Forbid, catchUp
				s := newStage(t, d, 0)
				s.play(sec(2).Add(750 * time.Millisecond))
				back := s.clock.Add(72 * time.Hour)
				s.outage(72*time.Hour, first)
				s.play(back.Add(5 * time.Second))
				newest := back.Truncate(time.Second)
				want := ticks("s", seconds(1, 2)...)
				made := map[CatchUp]int{Skip: 0, Latest: 1, All: 100}[catchUp]
				for i := made - 1; i >= 0; i-- {
					want = append(want, ticks("s", newest.Add(-time.Duration(i)*time.Second))...)
				}
				want = append(want, ticks("s", series(newest.Add(time.Second), newest.Add(5*time.Second), time.Second)...)...)
				wantIDs(t, "begun", want, s.begun)
				if got := s.count("missed"); got != 72*3600-made {
					t.Errorf("missed: want %d, got %d", 72*3600-made, got)
				}
				// The newest that did not run are noted.
				noted := s.history()["catchUp"]
				last := newest.Add(-time.Duration(made) * time.Second)
				if diff := cmp.Diff(series(last.Add(-99*time.Second), last, time.Second), noted); diff != "" {
					t.Errorf("noted (-want +got):\n%s", diff)
				}
			})
		}
	}
}

// Restarts every four seconds leave the grid of a schedule of every ten as it is.
func TestRestartsKeepTheGrid(t *testing.T) {
	t.Parallel()
	d := every("s", "@every 10s")
	d.ConcurrencyPolicy = Forbid
	s := newStage(t, d, 0)
	for i := 1; i <= 16; i++ {
		s.play(sec(4 * i))
		s.sched = s.scheduler("again")
		s.sched.apply(d)
	}
	wantIDs(t, "begun", ticks("s", seconds(10, 20, 30, 40, 50, 60)...), s.begun)
	if s.count("missed")+s.count("skipped") != 0 {
		t.Errorf("missed %d, skipped %d", s.count("missed"), s.count("skipped"))
	}
}

// What is missed by more than the deadline does not run.
func TestDeadlineOfMissedTicks(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		catchUp CatchUp
		first   string
		reasons map[string]int
		ran     int
	}{
		{Latest, "scheduler", map[string]int{"catchUp": 9, "deadline": 1, "completed": 1}, 1},
		{Latest, "promoter", map[string]int{"catchUp": 9, "deadline": 1, "completed": 1}, 1},
		{All, "scheduler", map[string]int{"deadline": 10, "completed": 1}, 1},
		{All, "promoter", map[string]int{"deadline": 10, "completed": 1}, 1},
	} {
		t.Run(fmt.Sprint(tt.catchUp, " ", tt.first), func(t *testing.T) {
			t.Parallel()
			d := every("s", "@every 1h")
			d.CatchUp, d.StartingDeadline, d.ConcurrencyPolicy = tt.catchUp, 5*time.Minute, Forbid
			s := newStage(t, d, 0)
			s.outage(10*time.Hour+10*time.Minute, tt.first)
			s.rig.at(nine.Add(11 * time.Hour))
			s.moment()
			got := map[string]int{}
			for reason, list := range s.history() {
				got[reason] = len(list)
			}
			// Beyond its deadline a tick is not made up for, whether or not a newer one was missed.
			if tt.catchUp == Latest {
				got["catchUp"], got["deadline"] = got["catchUp"]+got["deadline"]-1, 1
			}
			if !maps.Equal(got, tt.reasons) || len(s.begun) != tt.ran {
				t.Errorf("want %v, got %v; begun %v", tt.reasons, got, s.begun)
			}
			if s.count("missed") != 10 {
				t.Errorf("missed: want 10, got %d", s.count("missed"))
			}
		})
	}
}

// A tick in a paused queue expires all the same, and frees the guard.
func TestDeadlineInAPausedQueue(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	d := every("s", "@every 1h")
	d.StartingDeadline, d.ConcurrencyPolicy = 10*time.Minute, Forbid
	s := newStage(t, d, 0)
	if err := s.set.PauseQueue(ctx, "medium", "me", "why"); err != nil {
		t.Fatal(err)
	}
	s.rig.at(nine.Add(time.Hour))
	s.promote()
	s.rig.at(nine.Add(time.Hour + 10*time.Minute))
	if n, _, err := s.set.Expire(ctx, 10); err != nil || n != 1 {
		t.Fatal(n, err)
	}
	if err := s.set.ResumeQueue(ctx, "medium"); err != nil {
		t.Fatal(err)
	}
	s.sched.step()
	s.rig.at(nine.Add(2 * time.Hour))
	s.moment()
	wantIDs(t, "begun", ticks("s", nine.Add(2*time.Hour)), s.begun)
	if got := s.history()["deadline"]; len(got) != 1 || s.count("missed") != 1 {
		t.Errorf("noted %v, missed %d", got, s.count("missed"))
	}
}

// begunTicks are the ids of the ticks that have begun, without runs by hand and
// backfills.
func (s *stage) begunTicks() []string {
	return slices.DeleteFunc(slices.Clone(s.begun), func(id string) bool { return !strings.HasSuffix(id, "Z") })
}

// Whatever the policies and however long runs, outages and pauses are: each tick has
// run once or is counted, no two run at once that must not, and all comes to rest.
func TestEveryTickRunsOrIsCounted(t *testing.T) {
	steppedByHand(t)
	t.Parallel()
	server := redistest.NewMini(t)
	rapid.Check(t, func(rt *rapid.T) {
		server.Mini.FlushAll()
		r := newRig(t, server)
		d := every("s", rapid.SampledFrom([]string{"@every 1s", "*/3 * * * * *", "@every 7s"}).Draw(rt, "expression"))
		d.ConcurrencyPolicy = rapid.SampledFrom([]ConcurrencyPolicy{Allow, Forbid, Replace, Queue}).Draw(rt, "policy")
		d.CatchUp = rapid.SampledFrom([]CatchUp{Skip, Latest, All}).Draw(rt, "catch up")
		d.StartingDeadline = rapid.SampledFrom([]time.Duration{5 * time.Second, time.Hour}).Draw(rt, "deadline")
		if rapid.Bool().Draw(rt, "jitter") {
			d.Jitter = 900 * time.Millisecond
		}
		s := &stage{rig: r, at: map[string]time.Time{}, ends: map[string]job.State{}, sched: r.scheduler("a")}
		s.sched.apply(d)
		m := NewManager(s.rdb, "", "test")
		ctx := context.Background()
		begins := r.clock
		runs := 0
		for range rapid.IntRange(1, 8).Draw(rt, "acts") {
			s.length = time.Duration(rapid.IntRange(0, 40).Draw(rt, "length")) * 100 * time.Millisecond
			s.play(s.clock.Add(time.Duration(rapid.IntRange(0, 20).Draw(rt, "play")) * 250 * time.Millisecond))
			var err error
			switch rapid.SampledFrom([]string{"outage", "outage", "pause", "resume", "run", "edit", "backfill"}).Draw(rt, "act") {
			case "outage":
				s.outage(time.Duration(rapid.IntRange(0, 200).Draw(rt, "outage"))*250*time.Millisecond, rapid.SampledFrom([]string{"promoter", "scheduler"}).Draw(rt, "first"))
			case "pause":
				_, err = m.Pause(ctx, "s", PauseOptions{Reason: "test", For: 3 * time.Second})
			case "resume":
				_, err = m.Resume(ctx, "s")
			case "run":
				runs++
				_, err = m.Run(ctx, "s", RunOptions{})
			case "backfill":
				var b Backfilled
				b, err = m.Backfill(ctx, "s", nine.Add(-20*time.Second), nine, false)
				runs += b.Created
			case "edit":
				d.Args = []byte(fmt.Sprint(r.taken))
				s.sched.apply(d)
			}
			if err != nil {
				rt.Fatal(err)
			}
		}
		if _, err := m.Resume(ctx, "s"); err != nil {
			rt.Fatal(err)
		}
		s.play(s.clock.Add(2 * time.Second))
		last := s.clock
		d.Suspend = true
		s.sched.apply(d) // what has come is claimed
		s.length = 0
		s.play(s.clock.Add(40 * time.Second))
		due := 0
		p, err := newPlan(d)
		if err != nil {
			rt.Fatal(err)
		}
		for tick := p.next(begins); !tick.After(s.clock); tick = p.next(tick) {
			due++
		}
		sum, err := s.set.Audit(ctx)
		if err != nil || sum.Gap() != 0 {
			rt.Fatalf("audit: %+v, %v", sum, err)
		}
		if sum.Delayed+sum.Waiting+sum.Active != 0 {
			rt.Fatalf("it does not come to rest after %v: %+v, planned %v", last, sum, s.planned())
		}
		seen := map[string]int{}
		for _, id := range s.begun {
			if seen[id]++; seen[id] > 1 {
				rt.Fatalf("%s ran twice", id)
			}
		}
		// Ticks that Replace took away before they began are in neither count.
		if counted := len(s.begun) + s.count("missed") + s.count("skipped"); d.ConcurrencyPolicy != Replace && counted < due || counted > due+runs {
			rt.Fatalf("%d began, %d missed, %d skipped, of %d ticks and %d runs by hand", len(s.begun), s.count("missed"), s.count("skipped"), due, runs)
		}
		if d.ConcurrencyPolicy != Allow && s.most > 1 {
			rt.Fatalf("%d ran at once", s.most)
		}
		if begun := s.begunTicks(); !slices.IsSorted(begun) {
			rt.Fatalf("begun in the order %v", begun)
		}
		for _, set := range []string{"open", "held", "makeup"} {
			if n := s.rdb.Exists(ctx, "{bide}:"+set+":s").Val(); n != 0 {
				rt.Fatalf("something is left in %s", set)
			}
		}
	})
}
