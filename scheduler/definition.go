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

	// Timeout limits one attempt; zero means job.DefaultTimeout.
	Timeout time.Duration `json:"timeout"`
	// MaxAttempts counts the first attempt; zero means job.DefaultMaxAttempts.
	MaxAttempts int `json:"maxAttempts"`
	// MinBackoff and MaxBackoff bound the pause between attempts; zero means
	// the defaults of package job.
	MinBackoff time.Duration `json:"minBackoff"`
	MaxBackoff time.Duration `json:"maxBackoff"`

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
