package scheduler

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bide-go/bide/job"
	"github.com/bide-go/bide/scripts"
)

func (r *rig) manager() *Manager { return NewManager(r.rdb, "", "anna@ops") }

func (r *rig) status(name string) Status {
	r.t.Helper()
	d, err := r.manager().Show(context.Background(), name)
	if err != nil {
		r.t.Fatal(err)
	}
	return d.Status
}

func (r *rig) hold(o PauseOptions) Paused {
	r.t.Helper()
	p, err := r.manager().Pause(context.Background(), "s", o)
	if err != nil {
		r.t.Fatal(err)
	}
	return p
}

// An operator's pause holds through restarts, reloads and edits; its ticks are
// counted and not made up for; removal ends it.
func TestPauseOfAnOperator(t *testing.T) {
	t.Parallel()
	for _, catchUp := range []CatchUp{Skip, Latest, All} {
		t.Run(string(catchUp), func(t *testing.T) {
			t.Parallel()
			d := every("s", "@every 1s")
			d.CatchUp = catchUp
			s := newStage(t, d, 0)
			s.play(sec(2))
			if p := s.hold(PauseOptions{Reason: "the bank is closed"}); p.State != SchedulePaused || !p.Until.IsZero() {
				t.Errorf("%+v", p)
			}
			s.play(sec(5))
			s.outage(3*time.Second, "promoter") // restart
			d.Schedule = []string{"*/1 * * * * *"}
			s.sched.apply(d) // reload
			d.Args = json.RawMessage("1")
			s.sched.apply(d)
			s.play(sec(10))
			wantIDs(t, "begun", ticks("s", seconds(1, 2)...), s.begun)
			if diff := cmp.Diff(&Hold{By: "anna@ops", Reason: "the bank is closed", At: sec(2)}, s.status("s").Pause); diff != "" {
				t.Error(diff)
			}
			if got := s.status("s"); !got.Next.IsZero() || got.State != SchedulePaused || got.Missed != 8 {
				t.Errorf("%+v", got)
			}
			if _, err := s.manager().Resume(context.Background(), "s"); err != nil {
				t.Fatal(err)
			}
			s.play(sec(12))
			wantIDs(t, "begun", ticks("s", seconds(1, 2, 11, 12)...), s.begun)
			if diff := cmp.Diff(seconds(3, 4, 5, 6, 7, 8, 9, 10), s.history()["paused"]); diff != "" {
				t.Error(diff)
			}
			s.hold(PauseOptions{Reason: "again"})
			s.sched.apply()
			s.sched.apply(d)
			s.play(sec(14))
			wantIDs(t, "begun", ticks("s", seconds(1, 2, 11, 12, 13, 14)...), s.begun)
		})
	}
}

// A pause with an end needs nobody to resume it, even if no scheduler lived then.
func TestPauseWithAnEnd(t *testing.T) {
	t.Parallel()
	for _, first := range []string{"promoter", "scheduler"} {
		for _, outage := range []time.Duration{0, 100 * time.Second, 3 * time.Hour} {
			t.Run(fmt.Sprint(first, outage), func(t *testing.T) {
				t.Parallel()
				d := every("s", "@every 10s")
				s := newStage(t, d, 0)
				s.play(sec(10))
				end := s.clock.Add(outage + 30*time.Second)
				s.hold(PauseOptions{Reason: "test", Until: end})
				if got := s.status("s"); !got.Pause.Until.Equal(end) || !got.Next.Equal(end) {
					t.Errorf("%+v", got)
				}
				s.after(outage)
				s.rig.at(end.Add(-time.Second))
				s.outage(0, first)
				s.play(end.Add(10 * time.Second))
				wantIDs(t, "begun", ticks("s", sec(10), end, end.Add(10*time.Second)), s.begun)
				n := int(end.Sub(sec(10))/(10*time.Second)) - 1
				if got := s.history()["paused"]; len(got) != min(n, 100) || s.count("missed") != n {
					t.Errorf("%d are noted and %d counted, want %d", len(got), s.count("missed"), n)
				}
				if got := s.status("s"); got.Pause != nil || got.State != ScheduleActive {
					t.Errorf("%+v", got)
				}
			})
		}
	}
	t.Run("ended before anybody looked", func(t *testing.T) {
		t.Parallel()
		s := newStage(t, every("s", "@every 10s"), 0)
		s.hold(PauseOptions{Reason: "test", For: 10 * time.Minute})
		s.rig.at(nine.Add(10*time.Minute - time.Millisecond))
		s.outage(2*time.Millisecond, "scheduler")
		wantIDs(t, "begun", ticks("s", nine.Add(10*time.Minute)), s.begun)
	})
}

func TestPauseIsChecked(t *testing.T) {
	t.Parallel()
	r := mini(t)
	r.scheduler("a").apply(every("s", "@daily"))
	for field, o := range map[string]PauseOptions{
		"reason":   {Reason: " "},
		"until":    {Reason: "x", Until: nine},
		"duration": {Reason: "x", For: -1},
	} {
		var invalid *job.InvalidError
		if _, err := r.manager().Pause(context.Background(), "s", o); !errors.As(err, &invalid) || invalid.Field != field {
			t.Errorf("%+v: %v", o, err)
		}
	}
	ctx := context.Background()
	m := r.manager()
	for name, call := range map[string]func() error{
		"pause":    func() error { _, err := m.Pause(ctx, "none", PauseOptions{Reason: "x"}); return err },
		"resume":   func() error { _, err := m.Resume(ctx, "none"); return err },
		"run":      func() error { _, err := m.Run(ctx, "none", RunOptions{}); return err },
		"backfill": func() error { _, err := m.Backfill(ctx, "none", nine, nine.Add(1), false); return err },
		"show":     func() error { _, err := m.Show(ctx, "none"); return err },
		"history":  func() error { _, err := m.History(ctx, "none", HistoryFilter{}); return err },
	} {
		if err := call(); !errors.Is(err, job.ErrNotFound) || !strings.Contains(err.Error(), `"none"`) {
			t.Errorf("%s of nobody: %v", name, err)
		}
	}
	if p, err := m.Resume(ctx, "s"); err != nil || p.State != ScheduleActive {
		t.Errorf("resume of what is not paused: %+v, %v", p, err)
	}
	bad := NewManager(r.rdb, "Not Legal", "me")
	if _, err := bad.List(ctx); err == nil {
		t.Error("a bad namespace is taken")
	}
}

// A pause tells which pause it replaces, if one is in force.
func TestPauseReplaces(t *testing.T) {
	t.Parallel()
	r := mini(t)
	r.scheduler("a").apply(every("s", "@daily"))
	pause := func(o PauseOptions) *Hold {
		t.Helper()
		p, err := r.manager().Pause(context.Background(), "s", o)
		if err != nil {
			t.Fatal(err)
		}
		return p.Replaced
	}
	if got := pause(PauseOptions{Reason: "one", For: time.Hour}); got != nil {
		t.Errorf("%+v", got)
	}
	want := &Hold{By: "anna@ops", Reason: "one", At: nine, Until: nine.Add(time.Hour)}
	if got := pause(PauseOptions{Reason: "two"}); !cmp.Equal(want, got) {
		t.Errorf("%+v, want %+v", got, want)
	}
	want = &Hold{By: "anna@ops", Reason: "two", At: nine}
	if got := pause(PauseOptions{Reason: "three", For: time.Minute}); !cmp.Equal(want, got) {
		t.Errorf("%+v, want %+v", got, want)
	}
	r.after(time.Hour)
	if got := pause(PauseOptions{Reason: "four"}); got != nil {
		t.Errorf("one that was over: %+v", got)
	}
}

// A run by hand works while paused, moves no tick and obeys the policy.
func TestRunNow(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	for _, tt := range []struct {
		policy ConcurrencyPolicy
		force  bool
		state  job.State
	}{
		{Allow, false, job.Waiting}, {Forbid, false, job.Skipped}, {Forbid, true, job.Waiting}, {Queue, false, job.Delayed}, {Replace, false, job.Delayed},
	} {
		t.Run(fmt.Sprint(tt.policy, tt.force), func(t *testing.T) {
			t.Parallel()
			d := every("s", "@every 1h")
			d.ConcurrencyPolicy = tt.policy
			s := newStage(t, d, time.Minute)
			s.hold(PauseOptions{Reason: "test"})
			first, err := s.manager().Run(ctx, "s", RunOptions{})
			if err != nil || first.State != job.Waiting || first.Trigger != job.TriggerManual || !first.Due.Equal(nine) {
				t.Fatalf("%+v, %v", first, err)
			}
			s.moment()
			second, err := s.manager().Run(ctx, "s", RunOptions{Args: json.RawMessage(`"mine"`), Force: tt.force})
			if err != nil || second.State != tt.state {
				t.Fatalf("%+v, %v", second, err)
			}
			if tt.state == job.Skipped {
				if got := s.history()["overlap"]; len(got) != 1 || s.count("skipped") != 0 { // no tick
					t.Errorf("%v, skipped %d", got, s.count("skipped"))
				}
				return
			}
			j := s.get(second.ID)
			if string(j.Args) != `"mine"` || j.FromDefinition || !s.get(first.ID).FromDefinition || j.Schedule != "s" || !j.Tick.IsZero() {
				t.Errorf("%+v", j)
			}
			s.rig.at(nine.Add(61 * time.Second))
			s.moment()
			if !slices.Equal(s.begun, []string{first.ID, second.ID}) {
				t.Errorf("begun %v", s.begun)
			}
			if got := s.status("s"); !got.LastTick.IsZero() {
				t.Errorf("it moved the last tick to %v", got.LastTick)
			}
		})
	}
}

// Backfills run oldest first and one at a time, and due ticks go before them.
func TestBackfill(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	d := every("s", "@every 1m")
	d.ConcurrencyPolicy = Forbid
	s := newStage(t, d, time.Second)
	s.rig.at(nine.Add(55 * time.Second))
	dry, err := s.manager().Backfill(ctx, "s", nine.Add(-10*time.Minute), nine, true)
	if err != nil || dry.Ticks != 10 || dry.Created != 0 || s.sum().Created != 1 {
		t.Fatalf("%+v, %v", dry, err)
	}
	b, err := s.manager().Backfill(ctx, "s", nine.Add(-10*time.Minute), nine, false)
	if err != nil || b.Ticks != 10 || b.Created != 10 {
		t.Fatalf("%+v, %v", b, err)
	}
	if got := s.status("s"); got.Running != 10 {
		t.Errorf("%d are open", got.Running)
	}
	s.moment()
	s.play(sec(70))
	if s.most != 1 || len(s.begun) != 11 {
		t.Fatalf("%d at once, begun %v", s.most, s.begun)
	}
	if at := slices.Index(s.begun, ticks("s", sec(60))[0]); at != 5 && at != 6 {
		t.Errorf("the due tick went as number %d", at)
	}
	runs := slices.DeleteFunc(slices.Clone(s.begun), func(id string) bool { return id == ticks("s", sec(60))[0] })
	for i, id := range runs {
		if want := ticks("s", nine.Add(time.Duration(i-10)*time.Minute))[0] + "."; !strings.HasPrefix(id, want) {
			t.Errorf("number %d is %s, want %s…", i, id, want)
		}
	}
	if s.count("skipped") != 0 {
		t.Error("a tick was skipped")
	}
	var ahead *job.InvalidError
	if b, err := s.manager().Backfill(ctx, "s", nine, s.clock.Add(time.Minute), false); !errors.As(err, &ahead) || ahead.Field != "to" || b.Created != 0 {
		t.Errorf("of what lies ahead: %+v, %v; want it refused", b, err)
	}
	_, err = s.manager().Backfill(ctx, "s", nine.Add(-10_001*time.Minute), nine, false)
	var invalid *job.InvalidError
	if !errors.As(err, &invalid) {
		t.Errorf("more than 10,000: %v", err)
	}
}

// A large backfill is made in bounded calls, and a call whose answer was lost makes
// nothing twice.
func TestALargeBackfill(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	r := mini(t)
	d := every("s", "@every 1m")
	d.ConcurrencyPolicy = Forbid
	r.scheduler("a").apply(d)
	if b, err := r.manager().Backfill(ctx, "s", nine.Add(-2000*time.Minute), nine, false); err != nil || b.Created != 2000 {
		t.Fatalf("%+v, %v", b, err)
	}
	if got := r.sum(); got.Created != 2001 || got.Delayed != 2001 {
		t.Errorf("%+v", got)
	}
	p, _ := r.set.Progress(ctx, []string{"s"})
	one := scripts.NewJob{ID: "s@x", Queue: "low", Name: "tick", Schedule: "s", Incarnation: p.Schedules[0].Incarnation, Tick: nine}
	for range 2 {
		if made, ok, err := r.set.Backfill(ctx, "s", p.Schedules[0].Number, "token", 0, []scripts.NewJob{one}); made != 1 || !ok || err != nil {
			t.Errorf("%d, %v, %v", made, ok, err)
		}
	}
	if got := r.sum(); got.Created != 2002 {
		t.Errorf("%+v", got)
	}
	// Those far behind are looked at rarely, and go with their schedule.
	r.after(30 * time.Second)
	if n := r.promote(); n > 100 {
		t.Errorf("%d of 2000 waiting ones were looked at", n)
	}
	r.scheduler("b").apply()
	if got := r.sum(); got.Delayed != 0 {
		t.Errorf("%+v", got)
	}
}

// Runs that all die go on ticking, until the schedule is to be paused for it.
func TestPauseAfterFailures(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	for _, after := range []int{0, 3} {
		t.Run(fmt.Sprint(after), func(t *testing.T) {
			t.Parallel()
			d := every("s", "@every 1s")
			d.PauseAfterFailures, d.ConcurrencyPolicy = after, Forbid
			s := newStage(t, d, 0)
			ran := 0
			tick := func(i int, ok bool) {
				s.rig.at(sec(i))
				s.sched.step()
				s.promote()
				for _, l := range s.take() {
					ran++
					if ok {
						_, _ = s.set.Complete(ctx, []scripts.Lease{l.Lease})
					} else if _, err := s.set.Fail(ctx, []scripts.Verdict{{Lease: l.Lease, Reason: job.ReasonAttempts, Kind: job.KindFailed, Error: "boom"}}); err != nil {
						t.Fatal(err)
					}
				}
			}
			for i := 1; i <= 10; i++ {
				tick(i, i == 2)
			}
			got := s.status("s")
			if after == 0 {
				if ran != 10 || got.ConsecutiveFailures != 8 || got.State != ScheduleActive {
					t.Errorf("%d ran, %+v", ran, got)
				}
				return
			}
			if ran != 5 || got.State != SchedulePaused || got.Pause.By != "bide" || !strings.Contains(got.Pause.Reason, "3 runs") {
				t.Fatalf("%d ran, %+v", ran, got)
			}
			if _, err := s.manager().Resume(ctx, "s"); err != nil {
				t.Fatal(err)
			}
			for i := 11; i <= 20; i++ { // it takes three more
				tick(i, false)
			}
			if got := s.status("s"); ran != 8 || got.State != SchedulePaused || got.ConsecutiveFailures != 6 {
				t.Errorf("%d ran, %+v", ran, got)
			}
		})
	}
}
