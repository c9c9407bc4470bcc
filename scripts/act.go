package scripts

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/bide-go/bide/job"
)

// Cancel ends a delayed or waiting job at once, and asks the worker of an active
// one to end its handler. It returns the state the job is in now.
func (s *Set) Cancel(ctx context.Context, id string) (job.State, error) {
	return s.act(ctx, "cancel", id, job.Cancelled, id)
}

// Revive starts a dead job anew and makes a delayed one due now. It returns the
// state the job is in now.
func (s *Set) Revive(ctx context.Context, id string) (job.State, error) {
	return s.act(ctx, "revive", id, job.Waiting, id)
}

// Forget removes a dead job with all that is kept of it.
func (s *Set) Forget(ctx context.Context, id string) error {
	_, err := s.act(ctx, "forget", id, job.Dead, id)
	return err
}

// Reschedule gives a delayed job another due time: after delay from Redis' now, or
// at an instant if at is set. In the past means now.
func (s *Set) Reschedule(ctx context.Context, id string, delay time.Duration, at time.Time) (time.Time, error) {
	when := "+" + strconv.FormatInt(ceilMilli(max(delay, 0)), 10)
	if !at.IsZero() {
		when = strconv.FormatInt(max(ceilUnixMilli(at), 0), 10)
	}
	reply, err := s.run(ctx, "reschedule", []any{id, when})
	if err != nil {
		return time.Time{}, err
	}
	if _, err := verdict(reply, id, job.Delayed); err != nil {
		return time.Time{}, err
	}
	return toTime(item(toList(reply), 2)), nil
}

func (s *Set) act(ctx context.Context, name, id string, to job.State, args ...any) (job.State, error) {
	reply, err := s.run(ctx, name, args)
	if err != nil {
		return "", err
	}
	return verdict(reply, id, to)
}

// verdict turns the status a script answered with into a state or an error.
func verdict(reply any, id string, to job.State) (job.State, error) {
	list := toList(reply)
	detail := toText(item(list, 1))
	switch status := toText(item(list, 0)); status {
	case "ok":
		return job.State(detail), nil
	case "missing":
		return "", fmt.Errorf("%w: %q", job.ErrNotFound, id)
	case "wrong_state":
		return job.State(detail), &job.StateError{ID: id, From: job.State(detail), To: to}
	case "unique":
		return job.Dead, &job.StateError{ID: id, From: job.Dead, To: to, Why: fmt.Sprintf("job %q holds its unique key", detail)}
	case "spoilt":
		return "", fmt.Errorf("job %q: %s", id, detail)
	default:
		return "", fmt.Errorf("job %q: a script answered %q", id, status)
	}
}
