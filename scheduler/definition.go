package scheduler

import (
	"encoding/json"
	"time"
)

// Definition is one entry of schedules.yaml: what to run and when. Its name is
// its identity across edits.
type Definition struct {
	Name string `json:"name"`
	// Schedule holds one or more cron expressions; the schedule is their union,
	// with one run per instant.
	Schedule []string `json:"schedule"`
	// TimeZone is an IANA name; empty means UTC.
	TimeZone string `json:"timeZone"`

	// Queue, Job and Args make the job of every tick.
	Queue string          `json:"queue"`
	Job   string          `json:"job"`
	Args  json.RawMessage `json:"args"`

	// Timeout limits one attempt; zero means job.DefaultTimeoutOf its job.
	Timeout time.Duration `json:"timeout"`
	// MaxAttempts counts the first attempt; zero means job.DefaultMaxAttempts.
	MaxAttempts int `json:"maxAttempts"`
	// MinBackoff and MaxBackoff bound the pause between attempts; zero means
	// the defaults of package job.
	MinBackoff time.Duration `json:"minBackoff"`
	MaxBackoff time.Duration `json:"maxBackoff"`

	// ConcurrencyPolicy says what happens to a tick that is due while an earlier
	// run is open; empty means Forbid.
	ConcurrencyPolicy ConcurrencyPolicy `json:"concurrencyPolicy,omitempty"`
	// CatchUp says which missed ticks still run; empty means Latest.
	CatchUp CatchUp `json:"catchUp,omitempty"`
	// StartingDeadline is how long after its tick a run may still start; zero
	// means DefaultStartingDeadline.
	StartingDeadline time.Duration `json:"startingDeadline,omitempty"`
	// Jitter delays each tick by a share of it in [0, Jitter) that name and tick
	// fix; zero means none.
	Jitter time.Duration `json:"jitter,omitempty"`
	// StartAt and EndAt bound the ticks: those before StartAt or after EndAt do
	// not exist. Zero means no bound.
	StartAt time.Time `json:"startAt,omitzero"`
	EndAt   time.Time `json:"endAt,omitzero"`
	// History is how many records of runs are kept; nil means DefaultHistory.
	History *History `json:"history,omitempty"`
	// PauseAfterFailures pauses the schedule after so many runs in a row have
	// ended dead; zero means never.
	PauseAfterFailures int `json:"pauseAfterFailures,omitempty"`

	// Suspend keeps the schedule without planning ticks.
	Suspend bool `json:"suspend"`

	Description string            `json:"description"`
	Owner       string            `json:"owner"`
	Runbook     string            `json:"runbook"`
	Labels      map[string]string `json:"labels"`

	// File and Line say where the definition came from. They are no part of its
	// meaning: a definition that only moved is unchanged.
	File string `json:"file"`
	Line int    `json:"line"`
}

// Within is the part of a span of time that lies between StartAt and EndAt; to is not
// after from if there is none.
func (d *Definition) Within(from, to time.Time) (time.Time, time.Time) {
	if from.Before(d.StartAt) {
		from = d.StartAt
	}
	if !d.EndAt.IsZero() && to.After(d.EndAt) {
		to = d.EndAt
	}
	return from, to
}

// ConcurrencyPolicy is what happens to a tick that is due while an earlier run of
// its schedule is open: due, and not at its end state yet.
type ConcurrencyPolicy string

// The policies.
const (
	Allow   ConcurrencyPolicy = "Allow"   // it runs beside the earlier one
	Forbid  ConcurrencyPolicy = "Forbid"  // it is skipped
	Replace ConcurrencyPolicy = "Replace" // the earlier one is cancelled first
	Queue   ConcurrencyPolicy = "Queue"   // it waits; at most one does
)

// CatchUp is what happens to ticks that were missed.
type CatchUp string

// The ways to catch up.
const (
	Skip   CatchUp = "Skip"   // none runs
	Latest CatchUp = "Latest" // the newest runs, once
	All    CatchUp = "All"    // each runs, oldest first, at most the newest 100
)

// DefaultStartingDeadline is the StartingDeadline of a definition that has none.
const DefaultStartingDeadline = time.Hour

// History is how many records a schedule keeps of its runs, 0 to 1000 each.
type History struct {
	Successful int `json:"successful"` // completed runs
	Failed     int `json:"failed"`     // all other outcomes, missed ticks included
}

// DefaultHistory is the History of a definition that has none.
var DefaultHistory = History{Successful: 100, Failed: 100}
