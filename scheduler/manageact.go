package scheduler

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/bide-go/bide/job"
	"github.com/bide-go/bide/scripts"
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
	if err := job.CheckArgs(o.Args); err != nil {
		return Started{}, err
	}
	token, err := uuid.NewV7()
	if err != nil {
		return Started{}, fmt.Errorf("run id: %w", err)
	}
	for range applyTries {
		_, _, p, err := m.read(ctx, name)
		if err != nil {
			return Started{}, err
		}
		n := p.run()
		n.ID, n.Trigger, n.Own = name+"@"+token.String(), job.TriggerManual, o.Args == nil
		if o.Args != nil {
			n.Args = o.Args
		}
		state, due, ok, err := m.set.Start(ctx, p.number, o.Force, n)
		if err != nil {
			var unknown *job.OutcomeUnknownError
			if errors.As(err, &unknown) {
				unknown.IDs = append(unknown.IDs, n.ID)
			}
			return Started{}, named(name, err)
		}
		if ok {
			return Started{ID: n.ID, Schedule: name, Trigger: n.Trigger, State: state, Due: due}, nil
		}
	}
	return Started{}, errMoves
}

// errMoves says that each try found another definition.
var errMoves = errors.New("others keep applying schedules at the same time")

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
	// Replaced is the pause that was in force before Pause, nil if there was none. It
	// may have had an end that the new one has not.
	Replaced *Hold
}

// Pause keeps a schedule from running its ticks, through restarts and edits, until
// it is resumed, removed, or the pause's end has come. Ticks that pass meanwhile
// are counted with the reason paused and not made up for. Open runs go on. A
// pause of a paused schedule replaces the earlier one.
func (m *Manager) Pause(ctx context.Context, name string, o PauseOptions) (Paused, error) {
	if m.err != nil {
		return Paused{}, m.err
	}
	switch {
	case strings.TrimSpace(o.Reason) == "":
		return Paused{}, &job.InvalidError{Field: "reason", Rule: "is missing: say why"}
	case utf8.RuneCountInString(o.Reason) > mostReason || !utf8.ValidString(o.Reason):
		return Paused{}, &job.InvalidError{Field: "reason", Rule: fmt.Sprintf("must be text of at most %d characters", mostReason)}
	case o.For != 0 && !o.Until.IsZero():
		return Paused{}, &job.InvalidError{Field: "until", Rule: "and a duration were both given: give one"}
	case o.For < 0:
		return Paused{}, positive("duration", o.For)
	}
	if err := checkInstant(o.Until); err != nil {
		return Paused{}, err
	}
	_, before, err := m.set.HoldSchedule(ctx, name, m.by, o.Reason, o.For, o.Until)
	if errors.Is(err, scripts.ErrPast) {
		return Paused{}, &job.InvalidError{Field: "until", Value: o.Until.Format(time.RFC3339), Rule: "has passed by Redis' clock"}
	}
	after, err := m.paused(ctx, name, err)
	if err == nil && !before.At.IsZero() {
		after.Replaced = &Hold{By: before.By, Reason: before.Reason, At: before.At, Until: before.Until}
	}
	return after, err
}

// mostReason is the longest reason, in characters.
const mostReason = 500

// paused tells how a schedule is after a pause or its end.
func (m *Manager) paused(ctx context.Context, name string, err error) (Paused, error) {
	if err != nil {
		return Paused{}, named(name, err)
	}
	got, p, _, err := m.read(ctx, name)
	if err != nil {
		return Paused{}, err
	}
	status, err := statusOf(p, got.Now)
	if err != nil {
		return Paused{}, err
	}
	after := Paused{Name: name, State: status.State}
	if status.Pause != nil {
		after.Until = status.Pause.Until
	}
	return after, nil
}

// Resume ends a pause. It is no error if there is none.
func (m *Manager) Resume(ctx context.Context, name string) (Paused, error) {
	if m.err != nil {
		return Paused{}, m.err
	}
	_, err := m.set.ResumeSchedule(ctx, name, m.by)
	return m.paused(ctx, name, err)
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
// Allow, behind the schedule's own ticks. More than MostBackfill ticks, and a to that
// lies ahead, are refused with a *job.InvalidError. A dry run only counts.
//
// After an error some of the jobs may have been made: Created says how many, and
// the error that nothing more follows.
func (m *Manager) Backfill(ctx context.Context, name string, from, to time.Time, dryRun bool) (Backfilled, error) {
	b := Backfilled{Schedule: name, From: from, To: to, DryRun: dryRun}
	if !from.Before(to) {
		return b, &job.InvalidError{Field: "to", Value: to.Format(time.RFC3339), Rule: "must be after from"}
	}
	if err := errors.Join(checkInstant(from), checkInstant(to)); err != nil {
		return b, err
	}
	token, err := uuid.NewV7()
	if err != nil {
		return b, fmt.Errorf("backfill id: %w", err)
	}
	got, _, p, err := m.read(ctx, name)
	if err != nil {
		return b, err
	}
	if to.After(got.Now) {
		return b, &job.InvalidError{
			Field: "to", Value: to.Format(time.RFC3339),
			Rule: "lies ahead: ticks from now (" + got.Now.Format(time.RFC3339) + ") on run by themselves",
		}
	}
	ticks := p.upcoming(from, to, MostBackfill+1)
	if b.Ticks = len(ticks); b.Ticks > MostBackfill {
		return b, &job.InvalidError{Field: "to", Value: to.Format(time.RFC3339), Rule: fmt.Sprintf("leaves more than %d ticks: make up for them in parts", MostBackfill)}
	}
	for tries := 0; b.Created < b.Ticks && !dryRun; {
		var batch []scripts.NewJob
		for _, t := range ticks[b.Created:] {
			if len(batch) == scripts.BackfillJobs || len(batch) > 0 && (len(batch)+1)*len(p.def.Args) > scripts.EnqueueBytes {
				break
			}
			n := p.run()
			n.ID, n.Trigger, n.Own, n.Tick = tickID(name, t.Tick)+"."+token.String(), job.TriggerBackfill, true, t.Tick
			batch = append(batch, n)
		}
		made, ok, err := m.set.Backfill(ctx, name, p.number, token.String(), b.Created, batch)
		if err == nil && ok {
			b.Created = made
			continue
		}
		// A batch whose answer was lost is sent once more: it makes nothing twice.
		tries++
		if err != nil && (!errors.Is(err, job.ErrOutcomeUnknown) || tries > 1) {
			return b, named(name, err)
		}
		if tries > applyTries {
			return b, errMoves
		}
		if err == nil {
			if _, _, p, err = m.read(ctx, name); err != nil {
				return b, err
			}
		}
	}
	return b, nil
}
