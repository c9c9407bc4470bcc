package scheduler

import (
	"context"
	"encoding/json"
	"time"

	"github.com/bide-go/bide/job"
)

// RunOptions say how a schedule is run now. The zero value is its definition.
type RunOptions struct {
	// Args replace the definition's; nil keeps them. The handler then sees them as
	// args that no operator applied: they may not refer to secrets.
	Args json.RawMessage
	// Force runs it beside open runs, whatever the concurrency policy.
	Force bool
}

// Started is a run that was asked for.
type Started struct {
	ID       string
	Schedule string
	Trigger  job.Trigger
	// State is waiting; delayed while it waits for an open run (Replace, Queue); or
	// skipped, under Forbid.
	State job.State
	Due   time.Time
}

// Run starts a schedule's job now, paused or not. It moves no tick.
func (m *Manager) Run(ctx context.Context, name string, o RunOptions) (Started, error) {
	return Started{}, m.notYet("run")
}

// PauseOptions say why and for how long a schedule is paused.
type PauseOptions struct {
	Reason string // required, at most 500 characters
	// For counts from Redis' now, Until is an instant. Neither is until somebody
	// resumes it; both are an error.
	For   time.Duration
	Until time.Time
}

// Paused is a schedule after Pause or Resume.
type Paused struct {
	Name  string
	State ScheduleState
	Until time.Time // zero unless the pause ends by itself
}

// Pause keeps a schedule from running its ticks, through restarts and edits, until
// it is resumed, removed, or the pause's end has come. Ticks that pass meanwhile
// are counted with the reason paused and not made up for. Open runs go on. A
// pause of a paused schedule replaces the earlier one.
func (m *Manager) Pause(ctx context.Context, name string, o PauseOptions) (Paused, error) {
	return Paused{}, m.notYet("pause")
}

// Resume ends a pause. It is no error if there is none.
func (m *Manager) Resume(ctx context.Context, name string) (Paused, error) {
	return Paused{}, m.notYet("resume")
}

// MostBackfill is how many ticks one Backfill makes up for at most.
const MostBackfill = 10_000

// Backfilled says what a Backfill did.
type Backfilled struct {
	Schedule string
	From, To time.Time
	Ticks    int // in [From, To)
	Created  int // jobs made, 0 in a dry run
	DryRun   bool
}

// Backfill makes jobs of a schedule's ticks in [from, to), with fresh ids: they run
// even if the ticks ran before, oldest first and one at a time unless the policy is
// Allow, behind the schedule's own ticks. More than MostBackfill ticks are refused
// with a *job.InvalidError. A dry run only counts.
//
// After an error some of the jobs may have been made: Created says how many, and
// the error that nothing more follows.
func (m *Manager) Backfill(ctx context.Context, name string, from, to time.Time, dryRun bool) (Backfilled, error) {
	return Backfilled{}, m.notYet("backfill")
}
