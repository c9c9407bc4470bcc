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

// The states of a schedule. One that is both paused and suspended is paused.
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
	// LastTick is the newest tick whose run became due; manual runs and backfills
	// do not move it.
	LastTick time.Time
	// LastOutcome is the end state of the run that ended last, empty if none has;
	// skipped and expired ticks count, missed ones that never were jobs do not.
	LastOutcome job.State
	LastStarted time.Time
	// LastDuration is how long the last attempt of the run that ended last took;
	// negative if no run has been started and ended.
	LastDuration        time.Duration
	LastSuccess         time.Time
	ConsecutiveFailures int // runs in a row that ended dead
	Running             int // open runs: due and not ended, back-off included
	Missed              int // ticks that did not run for catchUp, deadline or paused
	Skipped             int // ticks that did not run for overlap
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
	return Listing{}, m.notYet("list")
}

// Details is one schedule with its surroundings.
type Details struct {
	Status
	Now       time.Time // by Redis' clock
	AppliedBy string
	AppliedAt time.Time
	Upcoming  []Tick // the next ten ticks, whether or not it is paused or suspended
	History   []Run  // the newest ten records
}

// Show reads one schedule.
func (m *Manager) Show(ctx context.Context, name string) (Details, error) {
	return Details{}, m.notYet("show")
}

// Outcome is how a run ended: an end state, OutcomeActive or OutcomeMissed.
type Outcome string

// The outcomes that are no end states of a job.
const (
	OutcomeActive Outcome = "active" // open: due and not ended yet
	OutcomeMissed Outcome = "missed" // a tick that never became a job
)

// Run is one record of a schedule's history. Times are zero where they do not
// apply.
type Run struct {
	ID      string // the job's; of a missed tick the id it would have had
	Tick    time.Time
	Trigger job.Trigger
	Outcome Outcome
	Reason  job.Reason // why it did not complete; empty if it did or is open
	Due     time.Time
	// Started is when the last attempt began, Duration how long it took until the
	// run's end; negative if it was never started or has not ended.
	Started   time.Time
	Finished  time.Time
	Duration  time.Duration
	Attempts  int // that failed
	Lost      int // leases that ran out
	Worker    string
	LastError string // its first line
}

// HistoryFilter selects records. The zero value is the newest 50.
type HistoryFilter struct {
	Failed bool      // only runs that neither completed nor are open
	Since  time.Time // only what became due at or after it
	Limit  int       // 50 if zero, 1000 at most
	After  string    // Next of the page before
}

// HistoryPage is a part of a history, newest first.
type HistoryPage struct {
	Runs []Run
	Next string // for the next page; empty at the end
}

// History reads the open runs and kept records of a schedule.
func (m *Manager) History(ctx context.Context, name string, f HistoryFilter) (HistoryPage, error) {
	return HistoryPage{}, m.notYet("history")
}

func (m *Manager) notYet(what string) error {
	return errors.Join(m.err, fmt.Errorf("%s: %w", what, errors.ErrUnsupported))
}
