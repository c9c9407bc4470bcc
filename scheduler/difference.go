package scheduler

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/bide-go/bide/internal/clock"
	"github.com/bide-go/bide/job"
)

// Difference is what applying a set of definitions changes, or has changed.
type Difference struct {
	Added     []Addition     // sorted by name, as the others
	Changed   []Modification // edits of place (file and line) alone are none
	Removed   []string
	Unchanged int
	// Applied says that it was carried out.
	Applied bool
	// Replaced is the apply before this one, nil if there was none.
	Replaced *Application
}

// Empty reports whether nothing differs.
func (d *Difference) Empty() bool { return len(d.Added)+len(d.Changed)+len(d.Removed) == 0 }

func (d *Difference) sort() {
	slices.SortFunc(d.Added, func(a, b Addition) int { return cmp.Compare(a.Name, b.Name) })
	slices.SortFunc(d.Changed, func(a, b Modification) int { return cmp.Compare(a.Name, b.Name) })
	slices.Sort(d.Removed)
}

// Addition is a schedule that is new.
type Addition struct {
	Name string
	Next time.Time // its first tick; zero if suspended or ended
}

// Modification is a schedule whose meaning changes.
type Modification struct {
	Name string
	// Fields are in the order of the file's reference; none if the applied
	// definition is one of another version that cannot be read.
	Fields []FieldChange
	// NextBefore and NextAfter are the next ticks; zero if suspended or ended.
	NextBefore, NextAfter time.Time
}

// FieldChange is one field of the file, for example "retry.maxAttempts".
type FieldChange struct {
	Field string
	// From and To are the values as the file would have them: nil, bool, int,
	// string (durations and times too), []string, map[string]string or, for args,
	// json.RawMessage. Defaults are filled in.
	From, To any
}

// Application is one apply: who and when.
type Application struct {
	By string
	At time.Time
}

// modification compares two definitions of one schedule.
func modification(old, def Definition, now time.Time) Modification {
	m := Modification{Name: def.Name, NextBefore: nextOf(old, now), NextAfter: nextOf(def, now)}
	after := make(map[string]any)
	for _, f := range def.fields() {
		after[f.name] = f.value
	}
	for _, f := range changes(old, def) {
		m.Fields = append(m.Fields, FieldChange{Field: f.name, From: f.value, To: after[f.name]})
	}
	return m
}

// nextOf is the next tick that will run; zero if none will.
func nextOf(d Definition, now time.Time) time.Time {
	if d.Suspend {
		return time.Time{}
	}
	next, err := d.Next(now)
	if err != nil {
		return time.Time{}
	}
	return next
}

// applier is a scheduler that only applies, and that has learnt what is applied at now.
func (m *Manager) applier(ctx context.Context, definitions []Definition) (s *Scheduler, now time.Time, err error) {
	if m.err != nil {
		return nil, now, m.err
	}
	s = &Scheduler{cfg: Config{Name: m.by}, set: m.set, quiet: true, poke: make(chan struct{}, 1)}
	if err := s.Replace(definitions, nil); err != nil {
		return nil, now, err
	}
	now, err = s.learn(ctx)
	return s, now, err
}

// Diff compares the applied schedules with definitions, changing nothing. The error
// is that of Scheduler.Replace, or of Redis.
func (m *Manager) Diff(ctx context.Context, definitions []Definition) (Difference, error) {
	s, now, err := m.applier(ctx, definitions)
	if err != nil {
		return Difference{}, err
	}
	_, d := s.diff(s.wanted, now)
	return d, nil
}

// Apply makes definitions the set of schedules, as Scheduler.Replace does, at once.
// Running schedulers plan the new ones within a second. It is one step, however many
// schedules change: some 0.1 ms of Redis' time for each of them, during which it
// answers nobody else. If that is longer than the client waits for an answer, Apply
// asks until it knows, or ctx ends.
func (m *Manager) Apply(ctx context.Context, definitions []Definition) (Difference, error) {
	s, now, err := m.applier(ctx, definitions)
	if err != nil {
		return Difference{}, err
	}
	made, err := s.applyForSure(ctx, now)
	if err != nil {
		return Difference{}, err
	}
	made.Applied = true
	return made, nil
}

const (
	// A script that runs long keeps Redis from answering anybody, for the first five
	// seconds by default; then it says that it is busy.
	longSilence = 10 * time.Second
	askAgain    = 200 * time.Millisecond
)

// applyForSure applies once, even if Redis takes longer than the client waits for an
// answer: it asks what became of it, until ctx ends or nothing is heard any more. To
// apply is to compare and set, so what is sent twice is carried out once.
func (s *Scheduler) applyForSure(ctx context.Context, now time.Time) (Difference, error) {
	err := s.apply(ctx, now)
	if !errors.Is(err, job.ErrOutcomeUnknown) {
		return s.wanted.made, err
	}
	for range applyTries {
		sent, unknown := s.wanted.made, err
		for heard := clock.Now(); ; {
			if now, err = s.learn(ctx); err == nil {
				break
			}
			if errors.Is(err, job.ErrUnavailable) && busy(err) {
				heard = clock.Now()
			} else if !errors.Is(err, job.ErrOutcomeUnknown) || clock.Since(heard) > longSilence {
				return Difference{}, unknown
			}
			if !clock.Sleep(ctx, askAgain) {
				return Difference{}, unknown
			}
		}
		if err = s.apply(ctx, now); err == nil && s.wanted.made.Empty() {
			return sent, nil // it had been carried out
		}
		if !errors.Is(err, job.ErrOutcomeUnknown) {
			break
		}
	}
	return s.wanted.made, err
}

// busy reports whether Redis says that a script is running.
func busy(err error) bool { return redis.HasErrorPrefix(err, "BUSY") }
