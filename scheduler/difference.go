package scheduler

import (
	"context"
	"time"
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

// Addition is a schedule that is new.
type Addition struct {
	Name string
	Next time.Time // its first tick; zero if suspended or ended
}

// Modification is a schedule whose meaning changes.
type Modification struct {
	Name   string
	Fields []FieldChange // in the order of the file's reference
	// NextBefore and NextAfter are the next ticks; zero if suspended or ended.
	NextBefore, NextAfter time.Time
}

// FieldChange is one field of the file, for example "retry.maxAttempts".
type FieldChange struct {
	Field string
	// From and To are the values as the file would have them: nil, bool, int,
	// string (durations and times too), []string, map[string]string or, for args,
	// json.RawMessage.
	From, To any
}

// Application is one apply: who and when.
type Application struct {
	By string
	At time.Time
}

// Diff compares the applied schedules with definitions, changing nothing. The error
// is that of Scheduler.Replace, or of Redis.
func (m *Manager) Diff(ctx context.Context, definitions []Definition) (Difference, error) {
	return Difference{}, m.notYet("diff")
}

// Apply makes definitions the set of schedules, as Scheduler.Replace does, at once.
// Running schedulers plan the new ones within a second.
func (m *Manager) Apply(ctx context.Context, definitions []Definition) (Difference, error) {
	return Difference{}, m.notYet("apply")
}
