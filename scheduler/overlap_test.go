package scheduler

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bide-go/bide/job"
	"github.com/bide-go/bide/scripts"
)

// A run of 3.5 s on a schedule of every second, under each policy.
func TestOverlap(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		policy  ConcurrencyPolicy
		begun   []int // ticks, in the order in which they began
		at      []int // when, in ms
		skipped int
		most    int
	}{
		{Allow, []int{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}, []int{1000, 2000, 3000, 4000, 5000, 6000, 7000, 8000, 9000, 10000}, 0, 4},
		{Forbid, []int{1, 5, 9}, []int{1000, 5000, 9000}, 7, 1},
		{"", []int{1, 5, 9}, []int{1000, 5000, 9000}, 7, 1},
		{Queue, []int{1, 2, 5}, []int{1000, 4500, 8000}, 6, 1}, // 8 waits
		{Replace, []int{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}, []int{1000, 2000, 3000, 4000, 5000, 6000, 7000, 8000, 9000, 10000}, 0, 1},
	} {
		t.Run(string(tt.policy), func(t *testing.T) {
			t.Parallel()
			d := every("s", "@every 1s")
			d.ConcurrencyPolicy = tt.policy
			s := newStage(t, d, 3500*time.Millisecond)
			s.play(sec(10).Add(500 * time.Millisecond))
			wantIDs(t, "begun", ticks("s", seconds(tt.begun...)...), s.begun)
			for i, id := range s.begun {
				if want := nine.Add(time.Duration(tt.at[i]) * time.Millisecond); !s.at[id].Equal(want) {
					t.Errorf("%s began at %v, want %v", id, s.at[id], want)
				}
			}
			if s.most != tt.most {
				t.Errorf("%d ran at once, want %d", s.most, tt.most)
			}
			if got := s.count("skipped"); got != tt.skipped || s.count("missed") != 0 {
				t.Errorf("skipped: want %d, got %d; missed %d", tt.skipped, got, s.count("missed"))
			}
			if tt.policy == Replace {
				if end, _ := s.set.FindEnd(context.Background(), s.begun[0]); end.State != job.Cancelled || end.Reason != job.ReasonReplaced {
					t.Errorf("the first run ended %+v", end)
				}
			}
			// Each tick is in the history once, and all ends when the schedule does.
			s.sched.apply()
			s.play(s.clock.Add(30 * time.Second))
			if sum := s.sum(); sum.Delayed+sum.Waiting+sum.Active != 0 {
				t.Errorf("%+v", sum)
			}
		})
	}
}

// Every tick of a policy has one record.
func TestEveryTickHasARecord(t *testing.T) {
	t.Parallel()
	for _, policy := range []ConcurrencyPolicy{Allow, Forbid, Replace, Queue} {
		t.Run(string(policy), func(t *testing.T) {
			t.Parallel()
			d := every("s", "@every 1s")
			d.ConcurrencyPolicy = policy
			s := newStage(t, d, 3500*time.Millisecond)
			s.play(sec(30))
			all := map[time.Time]int{}
			for _, list := range s.history() {
				for _, tick := range list {
					all[tick]++
				}
			}
			for i := 1; i <= 30; i++ {
				if all[sec(i)] != 1 {
					t.Errorf("%v has %d records", sec(i), all[sec(i)])
				}
			}
			if len(all) != 30 {
				t.Errorf("%d ticks have records", len(all))
			}
		})
	}
}

// A handler that heeds nothing is fenced off ten seconds after it was asked.
func TestReplaceRevokesAStubbornRun(t *testing.T) {
	t.Parallel()
	d := every("s", "@every 20s")
	d.ConcurrencyPolicy = Replace
	s := newStage(t, d, time.Hour)
	s.stubborn = true
	s.play(sec(20))
	old := s.open[0]
	s.play(sec(49).Add(750 * time.Millisecond))
	wantIDs(t, "begun", ticks("s", sec(20)), s.begun)
	s.play(sec(50))
	wantIDs(t, "begun", ticks("s", sec(20), sec(40)), s.begun)
	if s.ends[old.Job.ID] != scripts.Stale {
		t.Errorf("the old owner was told %q", s.ends[old.Job.ID])
	}
	stale, err := s.set.Complete(context.Background(), []scripts.Lease{old.Lease})
	if err != nil || len(stale) != 1 {
		t.Errorf("the old owner could complete: %v, %v", stale, err)
	}
	if diff := cmp.Diff(seconds(20), s.history()["replaced"]); diff != "" {
		t.Error(diff)
	}
}

// A worker that was killed holds the guard until its lease has run out.
func TestAKilledWorkerUnderForbid(t *testing.T) {
	t.Parallel()
	d := every("s", "@every 1s")
	d.ConcurrencyPolicy = Forbid
	s := newStage(t, d, 0)
	s.at1()
	lost := s.take()[0]
	reap := func(most int) {
		s.rdb.ZAdd(context.Background(), "{bide}:active", zAt(lost.Job.ID))
		if _, _, _, err := s.set.Reap(context.Background(), s.clock, 10, most); err != nil {
			t.Fatal(err)
		}
	}
	s.rig.at(sec(2))
	s.moment()
	wantIDs(t, "begun", nil, s.begun) // it is open
	reap(5)
	s.rig.at(sec(3))
	s.moment() // it runs again, and the guard with it
	wantIDs(t, "begun", ticks("s", sec(1)), s.begun)
	s.rig.at(sec(4))
	s.moment()
	s.rig.at(sec(5))
	s.promote()
	lost = s.take()[0]
	reap(1)
	if end, _ := s.set.FindEnd(context.Background(), lost.Job.ID); end.State != job.Dead {
		t.Errorf("it is %+v", end)
	}
	s.rig.at(sec(6))
	s.moment()
	wantIDs(t, "begun", ticks("s", sec(1), sec(4), sec(6)), s.begun)
	if diff := cmp.Diff(seconds(2, 3), s.history()["overlap"]); diff != "" {
		t.Error(diff)
	}
}

// at1 brings the first tick to its lane.
func (s *stage) at1() {
	s.rig.at(sec(1))
	s.promote()
}

// An edit while a run is open loses neither the run nor the guard; what vanishes
// without a trace holds up nobody.
func TestAnEditWhileARunIsOpen(t *testing.T) {
	t.Parallel()
	for name, edit := range map[string]func(*Definition){
		"retimed":          func(d *Definition) { d.Schedule = []string{"*/2 * * * * *"} },
		"rewritten":        func(d *Definition) { d.Args = []byte(`"new"`) },
		"another deadline": func(d *Definition) { d.StartingDeadline = time.Minute },
		"removed and back": nil,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := every("s", "@every 2s")
			d.ConcurrencyPolicy = Forbid
			s := newStage(t, d, 5*time.Second)
			s.play(sec(3))
			if edit == nil {
				s.sched.apply()
			} else {
				edit(&d)
			}
			s.sched.apply(d)
			s.play(sec(10))
			wantIDs(t, "begun", ticks("s", sec(2), sec(8)), s.begun)
			if name == "another deadline" {
				for _, id := range s.planned() {
					if j := s.get(id); !j.Expiry.Equal(j.Tick.Add(time.Minute)) {
						t.Errorf("%s expires %v", id, j.Expiry)
					}
				}
			}
			s.rdb.Del(context.Background(), "{bide}:job:"+s.begun[1])
			s.open = nil
			s.play(sec(14))
			wantIDs(t, "begun", ticks("s", sec(2), sec(8), sec(12)), s.begun)
			s.rdb.HIncrBy(context.Background(), "{bide}:counts", "created", -1) // the one that was taken away
			s.rdb.ZRem(context.Background(), "{bide}:active", s.begun[1])
		})
	}
}

// A run in back-off is open. Under Forbid a retry that would meet the next tick is
// not made.
func TestARunInBackOff(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		policy ConcurrencyPolicy
		pause  time.Duration
		state  job.State
		reason job.Reason
	}{
		{Forbid, 8 * time.Second, job.Delayed, ""},
		{Forbid, 9 * time.Second, job.Dead, job.ReasonNextTick},
		{Forbid, time.Minute, job.Dead, job.ReasonNextTick},
		{Allow, time.Minute, job.Delayed, ""},
		{Queue, time.Minute, job.Delayed, ""},
	} {
		t.Run(string(tt.policy)+tt.pause.String(), func(t *testing.T) {
			t.Parallel()
			d := every("s", "@every 10s")
			d.ConcurrencyPolicy = tt.policy
			s := newStage(t, d, 0)
			s.rig.at(sec(10))
			s.promote()
			l := s.take()[0]
			s.rig.at(sec(11))
			states, err := s.set.Fail(context.Background(), []scripts.Verdict{{Lease: l.Lease, Retry: true, Pause: tt.pause, Kind: job.KindFailed, Error: "boom"}})
			if err != nil || states[0] != tt.state {
				t.Fatalf("%v, %v", states, err)
			}
			if j := s.get(l.Job.ID); j.Reason != tt.reason {
				t.Errorf("reason %q", j.Reason)
			}
			s.rig.at(sec(20))
			s.moment()
			want := ticks("s", sec(20))
			switch {
			case tt.policy == Queue:
				want = nil
			case tt.state == job.Delayed && tt.pause < 10*time.Second:
				want = ticks("s", sec(10)) // and then the tick is skipped, or runs: both are due
			}
			if tt.policy != Forbid || tt.state == job.Dead {
				wantIDs(t, "begun", want, s.begun)
			} else if s.begun[0] != want[0] {
				t.Errorf("begun %v", s.begun)
			}
			if tt.policy == Queue {
				s.play(sec(80))
				wantIDs(t, "begun", ticks("s", sec(10), sec(20), sec(80)), s.begun)
			}
		})
	}
}
