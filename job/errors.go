package job

import (
	"errors"
	"fmt"
	"time"
	"unicode"
	"unicode/utf8"
)

var (
	// ErrNotFound says that no job with that id is live, retained or dead.
	ErrNotFound = errors.New("no such job")
	// ErrUnavailable says that Redis could not be asked: nothing was sent, so
	// nothing will appear later and the call may simply be repeated.
	ErrUnavailable = errors.New("redis is unavailable")
	// ErrOutcomeUnknown says that a call was sent and its answer did not come.
	// It may have been carried out. Repeat it with the same job id (an
	// OutcomeUnknownError carries it): while that job is live, retained or dead
	// the repetition writes nothing and answers with it.
	ErrOutcomeUnknown = errors.New("redis did not answer: the outcome is unknown")
	// ErrLeaseLost is the cause of a handler's cancelled context after its lease
	// ran out: somebody else may be running the job.
	ErrLeaseLost = errors.New("the lease on this job was lost")
	// ErrCancelled is the cause of a handler's cancelled context after the job
	// was cancelled by request.
	ErrCancelled = errors.New("the job was cancelled")
	// ErrTimeout is the cause of a handler's ended context after the job's own
	// timeout for one attempt.
	ErrTimeout = errors.New("the attempt timed out")
	// ErrShutdown is the cause of a handler's cancelled context when its worker
	// stops and the grace period is over. The job is given back.
	ErrShutdown = errors.New("the worker is shutting down")
)

// StateError says that a move was refused because of the state the job was in.
type StateError struct {
	ID   string
	From State // the state the job was in
	To   State // the state that was asked for
	Why  string
}

func (e *StateError) Error() string {
	msg := fmt.Sprintf("job %q is %s and cannot become %s", e.ID, e.From, e.To)
	if e.From == e.To {
		msg = fmt.Sprintf("job %q is %s already", e.ID, e.From)
	}
	if e.Why != "" {
		msg += ": " + e.Why
	}
	return msg
}

// OutcomeUnknownError is ErrOutcomeUnknown together with the ids of the jobs the
// call was about.
type OutcomeUnknownError struct {
	IDs []string
	Err error
}

func (e *OutcomeUnknownError) Error() string {
	return fmt.Sprintf("%v (%v)", ErrOutcomeUnknown, e.Err)
}

// Unwrap makes both ErrOutcomeUnknown and the underlying error visible to errors.Is.
func (e *OutcomeUnknownError) Unwrap() []error { return []error{ErrOutcomeUnknown, e.Err} }

// InvalidError says which value is not allowed and what would be.
type InvalidError struct {
	Field string
	Value string
	Rule  string
}

func (e *InvalidError) Error() string {
	if e.Value == "" {
		return e.Field + " " + e.Rule
	}
	return fmt.Sprintf("%s %q %s", e.Field, e.Value, e.Rule)
}

type permanentError struct{ err error }

func (e *permanentError) Error() string { return e.err.Error() }
func (e *permanentError) Unwrap() error { return e.err }

// Permanent wraps a handler's error to say that no retry can help: the job is
// dead at once with reason "permanent". Permanent(nil) is nil.
func Permanent(err error) error {
	if err == nil {
		return nil
	}
	return &permanentError{err}
}

// IsPermanent reports whether err was made by Permanent.
func IsPermanent(err error) bool {
	var p *permanentError
	return errors.As(err, &p)
}

type pauseError struct{ err error }

func (e *pauseError) Error() string { return e.err.Error() }
func (e *pauseError) Unwrap() error { return e.err }

// PauseSchedule wraps a handler's error to say that neither a retry nor a later
// tick can help: the job is dead at once with reason "permanent", and the schedule
// it is a run of is paused, with the error's text as the reason, until somebody
// resumes it. For any other job it is Permanent. PauseSchedule(nil) is nil.
func PauseSchedule(err error) error {
	if err == nil {
		return nil
	}
	return Permanent(&pauseError{err})
}

// PausesSchedule reports whether err was made by PauseSchedule.
func PausesSchedule(err error) bool {
	var p *pauseError
	return errors.As(err, &p)
}

type retryAfterError struct {
	err   error
	after time.Duration
}

func (e *retryAfterError) Error() string { return e.err.Error() }
func (e *retryAfterError) Unwrap() error { return e.err }

// RetryAfter wraps a handler's error to choose the pause before the next attempt
// itself: exactly d instead of the back-off, and at once when d is not positive.
// The attempt counts as any other. RetryAfter(nil, d) is nil.
func RetryAfter(err error, d time.Duration) error {
	if err == nil {
		return nil
	}
	return &retryAfterError{err, d}
}

// RetryDelay reports the pause asked for by RetryAfter.
func RetryDelay(err error) (time.Duration, bool) {
	var r *retryAfterError
	if errors.As(err, &r) {
		return max(r.after, 0), true
	}
	return 0, false
}

func printable(s string) bool {
	if !utf8.ValidString(s) {
		return false
	}
	for _, r := range s {
		if unicode.IsControl(r) {
			return false
		}
	}
	return true
}
