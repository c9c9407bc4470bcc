package scheduler

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/bide-go/bide/job"
	"github.com/bide-go/bide/scripts"
)

// Manager is what tools do with schedules: look at them, run, pause and resume
// them, make up for the past, and apply definitions. It plans no ticks: that takes
// a running Scheduler somewhere. It is safe for concurrent use and needs no
// closing: the Redis client stays the caller's.
//
// A name that no applied schedule has is an error that wraps job.ErrNotFound; a
// value that is not allowed a *job.InvalidError, which names the field. Errors of
// Redis are those of Client.
type Manager struct {
	set *scripts.Set
	by  string
	err error
}

// NewManager returns a manager of the schedules in namespace, "bide" if empty. by
// says who acts, to be shown beside pauses and applied sets. A mistake in the
// arguments is returned by every call.
func NewManager(rdb redis.UniversalClient, namespace, by string) *Manager {
	set, err := scripts.New(rdb, namespace)
	return &Manager{set: set, by: by, err: err}
}

// ScheduleState says whether a schedule runs its ticks.
type ScheduleState string

// The states of a schedule. The later ones go before the earlier: one that is both
// paused and suspended is paused.
const (
	ScheduleActive    ScheduleState = "active"
	ScheduleSuspended ScheduleState = "suspended" // by its definition
	SchedulePaused    ScheduleState = "paused"    // by an operator, its failures or its handler
	ScheduleEnded     ScheduleState = "ended"     // no tick is left, as after endAt
)

// Hold is a pause that is in force.
type Hold struct {
	By     string
	Reason string
	At     time.Time
	Until  time.Time // when it ends by itself; zero for never
}

// Status is one applied schedule as it is now. Times are Redis'; a zero time means
// that it has not happened.
type Status struct {
	Definition Definition
	State      ScheduleState
	Pause      *Hold // nil if nobody paused it
	// Next is the next tick that will run, before jitter: of a paused schedule the
	// first after the pause's end; zero if suspended, paused without an end, or ended.
	Next time.Time
	// LastTick is the newest tick whose run became due, whatever became of it; manual
	// runs and backfills do not move it.
	LastTick time.Time
	// LastRun is the newest run of any kind that was started, and is active or has
	// ended. It need not be that of LastTick, which may have been skipped.
	LastRun LastRun
	// LastOutcome is the end state of the run that ended last, empty if none has;
	// skipped and expired ticks count, missed ones that never were jobs do not.
	LastOutcome job.State
	// LastStarted is LastRun's.
	LastStarted time.Time
	// LastDuration is how long the last attempt took of the newest run that was
	// started and has ended; negative if none has.
	LastDuration        time.Duration
	LastSuccess         time.Time
	ConsecutiveFailures int // runs in a row that ended dead
	Running             int // open runs: due and not ended, whether waiting, active or in back-off
	Missed              int // ticks that did not run for catchUp, deadline or paused
	Skipped             int // ticks that did not run for overlap
}

// LastRun is how the newest run that was started is or ended. The zero value is
// none.
type LastRun struct {
	Outcome  Outcome    // active, or an end state; empty of one that ended under an earlier version
	Reason   job.Reason // why it did not complete
	Started  time.Time  // its last attempt
	Finished time.Time  // zero while it is active
	Duration time.Duration
}

// Listing is the applied schedules at one instant.
type Listing struct {
	Now       time.Time // by Redis' clock
	AppliedBy string    // who applied the set, empty if nobody has
	AppliedAt time.Time
	Schedules []Status // sorted by name
	// Foreign names applied schedules that this version cannot read.
	Foreign []string
}

// List reads all applied schedules.
func (m *Manager) List(ctx context.Context) (Listing, error) {
	if m.err != nil {
		return Listing{}, m.err
	}
	applied, err := m.set.Definitions(ctx)
	if err != nil {
		return Listing{}, err
	}
	names := make([]string, len(applied))
	for i, a := range applied {
		names[i] = a.Name
	}
	l := Listing{Schedules: []Status{}}
	// Once at least, for the time and who applied.
	for first := true; first || len(names) > 0; first = false {
		some := names[:min(len(names), scripts.ProgressSchedules)]
		names = names[len(some):]
		got, err := m.set.Progress(ctx, some)
		if err != nil {
			return Listing{}, err
		}
		l.Now, l.AppliedBy, l.AppliedAt = got.Now, got.AppliedBy, got.AppliedAt
		for _, p := range got.Schedules {
			if status, err := statusOf(p, got.Now); err == nil {
				l.Schedules = append(l.Schedules, status)
			} else {
				l.Foreign = append(l.Foreign, p.Name)
			}
		}
	}
	return l, nil
}

// read finds one applied schedule.
func (m *Manager) read(ctx context.Context, name string) (scripts.Progresses, scripts.Progress, *plan, error) {
	if m.err != nil {
		return scripts.Progresses{}, scripts.Progress{}, nil, m.err
	}
	got, err := m.set.Progress(ctx, []string{name})
	if err != nil {
		return got, scripts.Progress{}, nil, err
	}
	if len(got.Schedules) == 0 {
		return got, scripts.Progress{}, nil, &noSchedule{name}
	}
	p := got.Schedules[0]
	plan, err := planned(p)
	return got, p, plan, err
}

// planned is the plan of an applied schedule.
func planned(p scripts.Progress) (*plan, error) {
	def, err := decodeDefinition(p.Definition)
	if err == nil {
		var made *plan
		if made, err = newPlan(def); err == nil {
			made.incarnation, made.number = p.Incarnation, p.Number
			return made, nil
		}
	}
	return nil, fmt.Errorf("schedule %q was applied by another version: %w", p.Name, err)
}

// statusOf says how a schedule is.
func statusOf(p scripts.Progress, now time.Time) (Status, error) {
	made, err := planned(p)
	if err != nil {
		return Status{}, err
	}
	s := Status{
		Definition: made.def, LastTick: p.LastTick, LastOutcome: p.LastOutcome, LastStarted: p.LastStarted, LastDuration: p.LastDuration,
		LastSuccess: p.LastSuccess, ConsecutiveFailures: p.Failures, Running: p.Open + p.Waiting, Missed: p.Missed, Skipped: p.Skipped,
	}
	switch {
	case p.ActiveSince.After(p.LastStarted):
		s.LastStarted = p.ActiveSince
		s.LastRun = LastRun{Outcome: Outcome(job.Active), Started: p.ActiveSince}
	case !p.LastStarted.IsZero():
		s.LastRun = LastRun{
			Outcome: Outcome(p.LastRun.State), Reason: p.LastRun.Reason,
			Started: p.LastStarted, Finished: p.LastStarted.Add(max(p.LastDuration, 0)), Duration: max(p.LastDuration, 0),
		}
	}
	from := now
	if p.Paused(now) {
		s.Pause = &Hold{By: p.PausedBy, Reason: p.PausedReason, At: p.PausedAt, Until: p.PausedUntil}
		from = p.PausedUntil.Add(-1) // a tick at the pause's end runs
	}
	next := made.next(now)
	switch {
	case next.IsZero():
		s.State = ScheduleEnded
	case s.Pause != nil:
		s.State = SchedulePaused
	case made.def.Suspend:
		s.State = ScheduleSuspended
	default:
		s.State = ScheduleActive
	}
	if !made.def.Suspend && (s.Pause == nil || !s.Pause.Until.IsZero()) {
		s.Next = made.next(from)
	}
	return s, nil
}

// Details is one schedule with its surroundings.
type Details struct {
	Status
	Now time.Time // by Redis' clock
	// AppliedBy and AppliedAt tell who added this definition or changed it last, and
	// when; its File and Line are those of then. Both are zero if that was an earlier
	// version of bide.
	AppliedBy string
	AppliedAt time.Time
	// SetAppliedBy and SetAppliedAt tell who last changed any schedule of the set.
	SetAppliedBy string
	SetAppliedAt time.Time
	// LastTickOutcome is what became of the run of LastTick, and LastTickReason why
	// it did not complete. Empty if there was none yet, or nothing is known of it.
	LastTickOutcome Outcome
	LastTickReason  job.Reason
	Upcoming        []Tick // the next ten ticks, whether or not it is paused or suspended
	History         []Run  // the newest ten records
}

// Show reads one schedule.
func (m *Manager) Show(ctx context.Context, name string) (Details, error) {
	got, p, made, err := m.read(ctx, name)
	if err != nil {
		return Details{}, err
	}
	d := Details{Now: got.Now, AppliedBy: p.AppliedBy, AppliedAt: p.AppliedAt, SetAppliedBy: got.AppliedBy, SetAppliedAt: got.AppliedAt}
	if d.Status, err = statusOf(p, got.Now); err != nil {
		return Details{}, err
	}
	d.Upcoming = made.upcoming(got.Now.Add(1), time.Time{}, shown)
	runs, err := m.records(ctx, name, time.Time{})
	if err != nil {
		return Details{}, err
	}
	d.History = runs[:min(len(runs), shown)]
	d.LastTickOutcome, d.LastTickReason = Outcome(p.LastTickEnd.State), p.LastTickEnd.Reason
	for _, r := range runs {
		if r.Outcome.Open() && r.Trigger == job.TriggerSchedule && r.Tick.Equal(d.LastTick) {
			d.LastTickOutcome, d.LastTickReason = r.Outcome, ""
		}
	}
	return d, nil
}

// shown is how many ticks and records Show gives.
const shown = 10

// noSchedule says that no schedule is called so.
type noSchedule struct{ name string }

func (e *noSchedule) Error() string        { return fmt.Sprintf("no such schedule: %q", e.name) }
func (e *noSchedule) Is(target error) bool { return target == job.ErrNotFound }

// named gives an error of a script the name of the schedule it was about.
func named(name string, err error) error {
	if errors.Is(err, job.ErrNotFound) {
		return &noSchedule{name}
	}
	return err
}
