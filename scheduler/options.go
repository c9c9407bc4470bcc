package scheduler

import (
	"fmt"
	"time"

	"github.com/bide-go/bide/job"
	"github.com/bide-go/bide/scripts"
)

// Option sets one option of a job.
type Option func(*scripts.NewJob) error

// WithID gives the job an id of the caller's: creating it again, while a job with
// that id is live, retained or dead, writes nothing. By default ids are UUIDv7.
func WithID(id string) Option {
	return func(n *scripts.NewJob) error { n.ID = id; return job.CheckID(id) }
}

// WithUnique makes the job the only live one with this key: while one is delayed,
// waiting or active, another is not created. An empty key means none.
func WithUnique(key string) Option {
	return func(n *scripts.NewJob) error { n.Unique = key; return job.CheckUnique(key) }
}

// WithTimeout limits one attempt; the default is job.DefaultTimeoutOf its name.
func WithTimeout(d time.Duration) Option {
	return func(n *scripts.NewJob) error { n.Timeout = d; return positive("timeout", d) }
}

// WithMaxAttempts allows n attempts in all, the first one included; the default is
// job.DefaultMaxAttempts.
func WithMaxAttempts(attempts int) Option {
	return func(n *scripts.NewJob) error {
		if attempts < 1 || attempts > job.MaxMaxAttempts {
			return &job.InvalidError{Field: "maximum of attempts", Value: fmt.Sprint(attempts), Rule: fmt.Sprintf("must be 1 to %d", job.MaxMaxAttempts)}
		}
		n.MaxAttempts = attempts
		return nil
	}
}

// WithBackoff bounds the pause between attempts; see job.Backoff. The defaults are
// job.DefaultMinBackoff and job.DefaultMaxBackoff.
func WithBackoff(lo, hi time.Duration) Option {
	return func(n *scripts.NewJob) error {
		n.MinBackoff, n.MaxBackoff = lo, hi
		if hi < lo {
			return &job.InvalidError{Field: "maximum back-off", Value: hi.String(), Rule: "is below the minimum of " + lo.String()}
		}
		return positive("minimum back-off", lo)
	}
}

// WithExpiry ends the job as expired if it has not been started by then. By
// default a job waits for ever.
func WithExpiry(at time.Time) Option {
	return func(n *scripts.NewJob) error { n.Expiry = at; return nil }
}

// WithExpiryIn is WithExpiry counted from Redis' now.
func WithExpiryIn(d time.Duration) Option {
	return func(n *scripts.NewJob) error { n.ExpiryIn = d; return positive("expiry", d) }
}

// WithRetention keeps the finished job for d, to be looked at and so that its id
// stays taken. By default nothing is kept but the count.
func WithRetention(d time.Duration) Option {
	return func(n *scripts.NewJob) error {
		if d < 0 {
			return positive("retention", d)
		}
		n.Retention = d
		return nil
	}
}

// WithHeaders sends text along with the job that means nothing to bide.
func WithHeaders(headers map[string]string) Option {
	return func(n *scripts.NewJob) error { n.Headers = headers; return job.CheckHeaders(headers) }
}

func positive(field string, d time.Duration) error {
	if d > 0 {
		return nil
	}
	return &job.InvalidError{Field: field, Value: d.String(), Rule: "must be above zero"}
}
