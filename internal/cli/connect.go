package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"

	"github.com/bide-go/bide/internal/clock"
	"github.com/bide-go/bide/scripts"
)

func init() {
	// The driver writes to standard error by itself; what it says reaches people
	// through our own errors and log.
	redis.SetLogger(silent{})
}

type silent struct{}

func (silent) Printf(context.Context, string, ...any) {}

// patience is how long a short command waits for a Redis that says nothing.
const patience = 2 * time.Second

// conn is a short command's Redis, which has answered already.
type conn struct {
	rdb redis.UniversalClient
	set *scripts.Set
}

// now is Redis' time.
func (c *conn) now(ctx context.Context) (time.Time, error) { return c.rdb.Time(ctx).Result() }

// client makes the client of a short or a long-running command. A short one tries
// nothing twice and heeds every deadline.
func (t target) client(short bool) redis.UniversalClient {
	switch {
	case t.cluster != nil:
		o := t.cluster
		o.ContextTimeoutEnabled = true
		if short {
			o.MaxRetries, o.MaxRedirects, o.DialerRetries = -1, 3, 1
			o.DialTimeout, o.ReadTimeout, o.WriteTimeout = patience, patience, patience
		}
		return redis.NewClusterClient(o)
	case t.sentinel != nil:
		o := t.sentinel
		o.ContextTimeoutEnabled = true
		if short {
			o.MaxRetries, o.DialerRetries = -1, 1
			o.DialTimeout, o.ReadTimeout, o.WriteTimeout = patience, patience, patience
		}
		return redis.NewFailoverClient(o)
	}
	o := t.single
	o.ContextTimeoutEnabled = true
	if short {
		o.MaxRetries, o.DialerRetries, o.DisableIdentity = -1, 1, true
		o.DialTimeout, o.ReadTimeout, o.WriteTimeout = patience, patience, patience
		o.MaintNotificationsConfig = &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
	}
	return redis.NewClient(o)
}

// target reads the Redis URL. This is the only place that does.
func (p *program) target() (target, error) {
	t, err := parseRedisURL(p.set.redisURL.text)
	if err != nil {
		return t, usage(p.set.redisURL.from+": "+err.Error(), "")
	}
	return t, nil
}

// withRedis runs a short command against Redis, for at most the command timeout.
// Nothing is written before Redis has answered the handshake: a command that gave
// up on a silent Redis does nothing later.
func (p *program) withRedis(ctx context.Context, atMost time.Duration, f func(ctx context.Context, c *conn) error) error {
	t, err := p.target()
	if err != nil {
		return err
	}
	if p.set.timeout > 0 {
		atMost = p.set.timeout
	}
	rdb := t.client(true)
	defer rdb.Close()
	within, cancel := context.WithTimeout(ctx, atMost)
	defer cancel()

	set, err := scripts.New(rdb, p.set.namespace)
	if err != nil {
		return err
	}
	if err := handshake(within, rdb); err != nil {
		return handshakeError(ctx, err, t.shown)
	}
	err = set.Hello(within)
	if err == nil || scripts.TakesNoWrites(err) {
		// A full or read-only Redis can still be looked at, and a job in it be
		// cancelled; what does need a write is refused soon enough.
		err = f(within, &conn{rdb, set})
	}
	return outOfTime(ctx, within, err, atMost)
}

// handshake waits for Redis to answer for as long as it may stay silent, and
// returns at once when ctx ends.
func handshake(ctx context.Context, rdb redis.UniversalClient) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	done := make(chan error, 1)
	go func() { done <- rdb.Ping(ctx).Err() }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

func handshakeError(parent context.Context, err error, where string) error {
	switch {
	case parent.Err() != nil:
		return &failure{code: exitInterrupted, err: errInterrupted, next: "nothing was sent"}
	case notLetIn(err):
		return fmt.Errorf("redis at %s does not let us in: %w", where, err)
	case redisAnswered(err):
		return fmt.Errorf("redis at %s: %w", where, err)
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, os.ErrDeadlineExceeded):
		err = errors.New("it is silent")
	}
	return &failure{code: exitAway, err: fmt.Errorf("redis at %s does not answer: %w", where, err), next: whereIsRedis}
}

// outOfTime tells an error that comes from the end of the time for the command, or
// from an interruption, from one of Redis.
func outOfTime(parent, within context.Context, err error, atMost time.Duration) error {
	if err == nil || !scripts.Away(err) && !errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, context.Canceled) {
		return err
	}
	_, next := judge(err)
	if parent.Err() != nil {
		return &failure{code: exitInterrupted, err: fmt.Errorf("%w: %w", errInterrupted, err)}
	}
	// The connection's deadline is the context's and may be noticed a moment before.
	deadline, _ := within.Deadline()
	if clock.Until(deadline) > 20*time.Millisecond {
		return err
	}
	if next == whereIsRedis || next == "" {
		next = "give it more with --command-timeout"
	}
	return &failure{code: exitTimeout, err: fmt.Errorf("not done within %s: %w", atMost, err), next: next}
}
