package scheduler

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bide-go/bide/job"
	"github.com/bide-go/bide/scripts"
)

func TestListAndShow(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	s := newStage(t, every("s", "@every 10s"), 3*time.Second)
	suspended, ended := every("b", "@every 1h"), every("c", "@every 1s")
	suspended.Suspend, ended.EndAt = true, sec(12)
	s.sched.apply(suspended, ended, every("s", "@every 10s"))
	s.play(sec(11))
	l, err := s.manager().List(ctx)
	if err != nil || l.AppliedBy != "a" || !l.AppliedAt.Equal(nine) || !l.Now.Equal(sec(11)) || len(l.Schedules) != 3 {
		t.Fatalf("%+v, %v", l, err)
	}
	if got := l.Schedules[2]; got.Definition.Name != "s" || got.State != ScheduleActive || got.Running != 1 || !got.LastStarted.Equal(sec(10)) ||
		got.LastOutcome != "" || got.LastDuration >= 0 || !got.LastTick.Equal(sec(10)) || !got.Next.Equal(sec(20)) {
		t.Errorf("%+v", got)
	}
	s.play(sec(15))
	d, err := s.manager().Show(ctx, "s")
	if err != nil {
		t.Fatal(err)
	}
	if d.LastDuration != 3*time.Second || d.LastOutcome != job.Completed || !d.LastSuccess.Equal(sec(13)) || d.Running != 0 || len(d.Upcoming) != 10 || !d.Upcoming[0].Due.Equal(sec(20)) {
		t.Errorf("%+v", d)
	}
	want := []Run{{ID: "s@2026-11-30T09:00:10Z", Tick: sec(10), Trigger: job.TriggerSchedule, Outcome: "completed", Due: sec(10), Started: sec(10), Finished: sec(13), Duration: 3 * time.Second, Worker: "w"}}
	if diff := cmp.Diff(want, d.History); diff != "" {
		t.Error(diff)
	}
	l, _ = s.manager().List(ctx)
	if got := []ScheduleState{l.Schedules[0].State, l.Schedules[1].State}; !slices.Equal(got, []ScheduleState{ScheduleSuspended, ScheduleEnded}) || !l.Schedules[0].Next.IsZero() {
		t.Errorf("%v", got)
	}
	if none, err := NewManager(mini(t).rdb, "", "x").List(ctx); err != nil || len(none.Schedules) != 0 || none.Now.IsZero() || none.AppliedBy != "" {
		t.Errorf("%+v, %v", none, err)
	}
}

func TestHistory(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	d := every("s", "@every 1s")
	d.History = &History{Successful: 3, Failed: 2}
	s := newStage(t, d, 0)
	s.play(sec(5))
	fail := func(i int) {
		s.rig.at(sec(i))
		s.sched.step()
		s.promote()
		l := s.take()[0]
		if _, err := s.set.Fail(ctx, []scripts.Verdict{{Lease: l.Lease, Reason: job.ReasonPermanent, Kind: job.KindFailed, Error: "boom\nsecond line"}}); err != nil {
			t.Fatal(err)
		}
	}
	for i := 6; i <= 8; i++ {
		fail(i)
	}
	s.rig.at(sec(9))
	s.promote()
	open := s.take()[0].Job.ID
	page := func(f HistoryFilter) (ids []string, next string) {
		t.Helper()
		p, err := s.manager().History(ctx, "s", f)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range p.Runs {
			ids = append(ids, r.ID)
		}
		return ids, p.Next
	}
	all := ticks("s", seconds(9, 8, 7, 5, 4, 3)...)
	if got, next := page(HistoryFilter{}); !slices.Equal(got, all) || next != "" || got[0] != open {
		t.Errorf("%v, %q", got, next)
	}
	if got, _ := page(HistoryFilter{Failed: true}); !slices.Equal(got, all[1:3]) {
		t.Errorf("failed: %v", got)
	}
	if got, _ := page(HistoryFilter{Since: sec(7)}); !slices.Equal(got, all[:3]) {
		t.Errorf("since: %v", got)
	}
	var paged []string
	for f := (HistoryFilter{Limit: 4}); ; {
		got, next := page(f)
		paged = append(paged, got...)
		if f.After = next; next == "" {
			break
		}
	}
	if !slices.Equal(paged, all) {
		t.Errorf("page by page: %v", paged)
	}
	p, _ := s.manager().History(ctx, "s", HistoryFilter{Limit: 2})
	if r := p.Runs[1]; r.LastError != "boom" || r.Reason != job.ReasonPermanent || r.Outcome != Outcome(job.Dead) || r.Attempts != 1 || r.Duration != 0 {
		t.Errorf("%+v", r)
	}
	if r := p.Runs[0]; r.Outcome != Outcome(job.Active) || r.Worker != "w" || r.Duration >= 0 || !r.Finished.IsZero() {
		t.Errorf("%+v", r)
	}
	var invalid *job.InvalidError
	if _, err := s.manager().History(ctx, "s", HistoryFilter{Limit: 1001}); !errors.As(err, &invalid) {
		t.Errorf("a limit of 1001: %v", err)
	}
	for _, after := range []string{"x", "2026-11-30", all[0], "000001764493203000", "000001764493203000 s@x", " 000001764493203000 s@x 000001764493203000"} {
		if _, err := s.manager().History(ctx, "s", HistoryFilter{After: after}); !errors.As(err, &invalid) {
			t.Errorf("cursor %q: %v", after, err)
		}
	}
	// Nothing is kept beyond the caps, nor of a schedule that is gone.
	d.History = &History{}
	s.sched.apply(d)
	fail(10)
	s.sched.apply()
	for _, set := range []string{"succeeded", "failed", "open", "held", "makeup"} {
		if n := s.rdb.ZCard(ctx, "{bide}:"+set+":s").Val(); n > 0 && set != "open" {
			t.Errorf("%s: %d are left", set, n)
		}
	}
}

// What became of the last tick and how the last run went are two things, and neither
// needs the history.
func TestLastTickAndLastRun(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	d := every("s", "@every 10s")
	d.ConcurrencyPolicy, d.History = Forbid, &History{}
	s := newStage(t, d, 25*time.Second)
	type last struct {
		tick    time.Time
		outcome Outcome
		reason  job.Reason
		run     LastRun
	}
	check := func(what string, want last) {
		t.Helper()
		d, err := s.manager().Show(ctx, "s")
		if err != nil {
			t.Fatal(err)
		}
		got := last{d.LastTick, d.LastTickOutcome, d.LastTickReason, d.LastRun}
		if diff := cmp.Diff(want, got, cmp.AllowUnexported(last{})); diff != "" {
			t.Errorf("%s (-want +got)\n%s", what, diff)
		}
	}
	active := func(i int) LastRun { return LastRun{Outcome: Outcome(job.Active), Started: sec(i)} }
	ended := func(from, to int, o job.State, why job.Reason) LastRun {
		return LastRun{Outcome: Outcome(o), Reason: why, Started: sec(from), Finished: sec(to), Duration: sec(to).Sub(sec(from))}
	}
	check("new", last{})
	s.play(sec(11))
	check("the first", last{sec(10), Outcome(job.Active), "", active(10)})
	s.play(sec(21))
	check("the second is skipped", last{sec(20), Outcome(job.Skipped), job.ReasonOverlap, active(10)})
	s.play(sec(36))
	check("the first has ended", last{sec(30), Outcome(job.Skipped), job.ReasonOverlap, ended(10, 35, job.Completed, "")})
	s.after(4 * time.Second)
	s.sched.step()
	s.promote()
	check("nobody has taken it", last{sec(40), Outcome(job.Waiting), "", ended(10, 35, job.Completed, "")})
	s.moment()
	s.after(5 * time.Second)
	if _, err := s.set.Fail(ctx, []scripts.Verdict{{Lease: s.open[0].Lease, Reason: job.ReasonPermanent, Kind: job.KindFailed, Error: "boom"}}); err != nil {
		t.Fatal(err)
	}
	s.open = nil
	check("dead", last{sec(40), Outcome(job.Dead), job.ReasonPermanent, ended(40, 45, job.Dead, job.ReasonPermanent)})
	// A run by hand is a run, and no tick.
	if _, err := s.manager().Run(ctx, "s", RunOptions{}); err != nil {
		t.Fatal(err)
	}
	s.after(time.Second)
	s.moment()
	check("by hand", last{sec(40), Outcome(job.Dead), job.ReasonPermanent, active(46)})
}

// A run that is open is in the history with the state that its job is in.
func TestHistoryOfOpenRuns(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	d := every("s", "@every 10s")
	d.ConcurrencyPolicy = Queue
	s := newStage(t, d, time.Minute)
	s.play(sec(20)) // the second waits for the first
	forced, err := s.manager().Run(ctx, "s", RunOptions{Force: true})
	if err != nil {
		t.Fatal(err)
	}
	outcomes := func(f HistoryFilter) map[string]Outcome {
		t.Helper()
		page, err := s.manager().History(ctx, "s", f)
		if err != nil {
			t.Fatal(err)
		}
		all := map[string]Outcome{}
		for _, r := range page.Runs {
			all[r.ID] = r.Outcome
			if !r.Outcome.Open() {
				t.Errorf("%s is %s, and not open", r.ID, r.Outcome)
			}
		}
		return all
	}
	first, second := tickID("s", sec(10)), tickID("s", sec(20))
	want := map[string]Outcome{first: "active", second: "delayed", forced.ID: "waiting"}
	if diff := cmp.Diff(want, outcomes(HistoryFilter{})); diff != "" {
		t.Error(diff)
	}
	if got := outcomes(HistoryFilter{Failed: true}); len(got) > 0 {
		t.Errorf("failed: %v", got)
	}
	l := s.take()[0]
	if _, err := s.set.Fail(ctx, []scripts.Verdict{{Lease: l.Lease, Retry: true, Pause: time.Minute, Kind: job.KindFailed, Error: "boom"}}); err != nil {
		t.Fatal(err)
	}
	if want[forced.ID] = "delayed"; !cmp.Equal(want, outcomes(HistoryFilter{})) {
		t.Errorf("in back-off: %v", outcomes(HistoryFilter{}))
	}
	for _, o := range []Outcome{OutcomeMissed, "completed", "dead", "cancelled", "expired", "skipped", ""} {
		if o.Open() {
			t.Errorf("%q is open", o)
		}
	}
}

func TestDiffAndApply(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	r := mini(t)
	m := r.manager()
	a, b := every("a", "@every 1h"), every("b", "30 * * * *")
	if d, err := m.Diff(ctx, []Definition{b, a}); err != nil || len(d.Added) != 2 || d.Added[0].Name != "a" || d.Replaced != nil || d.Applied || len(r.applied()) > 0 {
		t.Fatalf("%+v, %v", d, err)
	}
	if d, err := m.Apply(ctx, []Definition{b, a}); err != nil || !d.Applied || !d.Added[1].Next.Equal(nine.Add(30*time.Minute)) {
		t.Fatalf("%+v, %v", d, err)
	}
	r.after(time.Minute)
	if n := r.rdb.HExists(ctx, "{bide}:beats", "scheduler").Val(); n {
		t.Error("whoever applies is taken for a scheduler")
	}
	c := every("c", "@daily")
	b.Schedule, b.Args, b.MaxAttempts, b.Labels, b.Line = []string{"45 * * * *"}, json.RawMessage(`{"a": 1}`), 2, map[string]string{"team": "web"}, 99
	a.File = "other.yaml"
	want := Difference{
		Added: []Addition{{"c", nine.Add(15 * time.Hour)}},
		Changed: []Modification{{Name: "b", NextBefore: nine.Add(30 * time.Minute), NextAfter: nine.Add(45 * time.Minute), Fields: []FieldChange{
			{"schedule", []string{"30 * * * *"}, []string{"45 * * * *"}},
			{"args", json.RawMessage("null"), json.RawMessage(`{"a":1}`)},
			{"retry.maxAttempts", 4, 2},
			{"labels", nil, map[string]string{"team": "web"}},
		}}},
		Unchanged: 1, Replaced: &Application{By: "anna@ops", At: nine},
	}
	got, err := m.Diff(ctx, []Definition{a, b, c})
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v\n%s", err, diff)
	}
	if got, err = m.Apply(ctx, []Definition{a}); err != nil || !slices.Equal(got.Removed, []string{"b"}) || got.Unchanged != 1 {
		t.Errorf("%+v, %v", got, err)
	}
	if got, err = m.Apply(ctx, []Definition{a}); err != nil || !got.Empty() || !got.Applied {
		t.Errorf("%+v, %v", got, err)
	}
	bad := every("x", "nonsense")
	if _, err := m.Apply(ctx, []Definition{bad}); err == nil || !slices.Equal(r.applied(), []string{"a"}) {
		t.Errorf("a bad entry among good ones: %v, applied %v", err, r.applied())
	}
	// A scheduler that runs takes over what was applied.
	s := r.scheduler("running")
	s.step()
	wantIDs(t, "planned", ticks("a", nine.Add(time.Hour)), r.planned())
}
