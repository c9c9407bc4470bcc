// Package job holds bide's words: what a job is, the states it can be in and the
// moves between them, how long it waits between attempts, and the errors that
// clients and handlers meet. It imports nothing else of bide and no driver.
package job

import (
	"context"
	"encoding/json"
	"fmt"
	"time"
	"unicode/utf8"
)

// Defaults of the options that a job is not given.
const (
	DefaultQueue       = "medium"
	DefaultMaxAttempts = 4 // the first one included
	DefaultMinBackoff  = time.Second
	DefaultMaxBackoff  = time.Hour
	DefaultTimeout     = 10 * time.Minute
	DefaultHTTPTimeout = 30 * time.Second // of the bundled handler http
)

// DefaultTimeoutOf is the timeout of one attempt at a job called name that is given
// none.
func DefaultTimeoutOf(name string) time.Duration {
	if name == "http" {
		return DefaultHTTPTimeout
	}
	return DefaultTimeout
}

// Limits that hold for every job, however it was made.
const (
	MaxArgs        = 1 << 20 // bytes of encoded args
	MaxHeaders     = 64 << 10
	MaxMaxAttempts = 100_000
)

// Job is one unit of work, as a handler or an operator sees it. Times come from
// Redis' clock; a zero time means that it has not happened or does not apply.
type Job struct {
	ID    string
	Queue string
	// Name says which handler runs the job.
	Name string
	// Args is any JSON value, "null" when none was given.
	Args json.RawMessage
	// Headers travel with the job and mean nothing to bide, for example a
	// traceparent. Nil when there are none.
	Headers map[string]string

	State   State
	Trigger Trigger
	// Schedule and Tick name the schedule and the planned instant, for the jobs
	// of schedules.
	Schedule string
	Tick     time.Time
	// FromDefinition says that the args are those of the schedule's definition,
	// as an operator applied it: only there may they refer to secrets.
	FromDefinition bool
	// PreviousStatus is the end state of the schedule's run before this one, as
	// the handler of a schedule's job sees it; empty if there was none.
	PreviousStatus State

	Created time.Time
	// Due and Started are those of the current or the last attempt.
	Due     time.Time
	Started time.Time
	// Finished is when the job reached its end state.
	Finished time.Time

	// Attempts counts the attempts in which the handler failed, Lost the leases
	// that ran out, for example because the worker was killed. They have
	// separate caps.
	Attempts    int
	Lost        int
	MaxAttempts int

	// Errors holds the last 10 failures, newest first.
	Errors []Failure

	// Worker is the id of the worker that holds or last held the lease.
	Worker          string
	LeaseUntil      time.Time
	CancelRequested bool
	// Reason says why the job ended, unless it completed.
	Reason Reason

	Unique     string
	Timeout    time.Duration
	MinBackoff time.Duration
	MaxBackoff time.Duration
	Expiry     time.Time
	Retention  time.Duration
}

// Attempt is the number of the attempt a handler is running, from 1. An attempt
// whose lease was lost is repeated under the same number: to be safe against
// that, make the handler's effect depend on the job's id.
func (j *Job) Attempt() int { return j.Attempts + 1 }

// LastError is the text of the newest failure, empty if there was none.
func (j *Job) LastError() string {
	if len(j.Errors) == 0 {
		return ""
	}
	return j.Errors[0].Error
}

// Kind says how an attempt ended badly.
type Kind string

// The kinds of failure.
const (
	KindFailed  Kind = "failed"  // the handler returned an error
	KindTimeout Kind = "timeout" // the attempt ran into the job's timeout
	KindPanic   Kind = "panic"   // the handler panicked
	KindLost    Kind = "lost"    // the lease ran out
)

// MaxText is how many bytes of an error's text and of its stack are kept.
const MaxText = 4 << 10

// Failure is one attempt that ended badly.
type Failure struct {
	Attempt int
	Kind    Kind
	Error   string
	Stack   string
	Worker  string
	Started time.Time
	At      time.Time
}

// CheckArgs reports whether args can be stored: JSON of at most MaxArgs bytes.
// Nothing at all is allowed and means null.
func CheckArgs(args []byte) error {
	if len(args) > MaxArgs {
		return &InvalidError{Field: "args", Rule: fmt.Sprintf("have %d bytes, %d are allowed", len(args), MaxArgs)}
	}
	if len(args) == 0 {
		return nil
	}
	if !utf8.Valid(args) {
		return &InvalidError{Field: "args", Rule: "are not valid UTF-8"}
	}
	if !json.Valid(args) {
		return &InvalidError{Field: "args", Rule: "are not valid JSON"}
	}
	return nil
}

// CheckHeaders reports whether headers can be stored: at most MaxHeaders bytes
// of printable names and UTF-8 values.
func CheckHeaders(headers map[string]string) error {
	size := 0
	for name, value := range headers {
		size += len(name) + len(value)
		if name == "" || !printable(name) {
			return &InvalidError{Field: "header name", Value: name, Rule: "must be printable text"}
		}
		if !utf8.ValidString(value) {
			return &InvalidError{Field: "header", Value: name, Rule: "must have a value of valid UTF-8"}
		}
	}
	if size > MaxHeaders {
		return &InvalidError{Field: "headers", Rule: fmt.Sprintf("have %d bytes, %d are allowed", size, MaxHeaders)}
	}
	return nil
}

type contextKey struct{}

// NewContext returns a context that carries j to its handler.
func NewContext(ctx context.Context, j *Job) context.Context {
	return context.WithValue(ctx, contextKey{}, j)
}

// FromContext returns the job whose handler is running under ctx, and false
// outside of a handler.
func FromContext(ctx context.Context) (*Job, bool) {
	j, ok := ctx.Value(contextKey{}).(*Job)
	return j, ok
}
