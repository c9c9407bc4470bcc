package dispatcher

import (
	"context"
	"sync"
	"time"

	"github.com/bide-go/bide/internal/clock"
	"github.com/bide-go/bide/job"
)

// handlerContext is the context of one attempt's handler. It ends at its deadline, with
// the cause job.ErrTimeout, or when the dispatcher says so. The contexts behind it, a
// timer among them, take longer to make than a short handler runs, so they are made
// when somebody first asks. context.Cause and derived contexts work with it as with
// those of package context.
type handlerContext struct {
	base context.Context

	mu       sync.Mutex
	deadline time.Time       // zero until the handler begins
	made     context.Context // nil until somebody asks
	cancel   context.CancelCauseFunc
	stop     context.CancelFunc
	ended    bool  // before anybody asked
	cause    error // of that
}

// begin sets the deadline, before the handler begins.
func (c *handlerContext) begin(deadline time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.deadline = deadline
}

// end ends the context with a cause, nil for context.Canceled, unless it has ended.
func (c *handlerContext) end(cause error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.made == nil && !c.ended && !c.deadline.IsZero() && clock.Until(c.deadline) <= 0 {
		c.make() // it has ended already, by its deadline
	}
	switch {
	case c.made != nil:
		c.cancel(cause)
	case !c.ended:
		c.ended, c.cause = true, cause
	}
}

// release ends the context of a handler that has returned, and lets go of its timer.
func (c *handlerContext) release() {
	c.end(nil)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.made != nil {
		c.stop()
	}
}

// make makes the contexts if there are none. mu is held.
func (c *handlerContext) make() context.Context {
	if c.made == nil {
		var cancelled context.Context
		cancelled, c.cancel = context.WithCancelCause(c.base)
		if c.ended {
			c.cancel(c.cause)
		}
		c.made, c.stop = context.WithDeadlineCause(cancelled, c.deadline, job.ErrTimeout)
	}
	return c.made
}

// ask is the context behind c.
func (c *handlerContext) ask() context.Context {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.make()
}

// Deadline is the end of the attempt's timeout.
func (c *handlerContext) Deadline() (time.Time, bool) { return c.ask().Deadline() }

// Done is closed when the context ends.
func (c *handlerContext) Done() <-chan struct{} { return c.ask().Done() }

// Err is nil until the context ends.
func (c *handlerContext) Err() error { return c.ask().Err() }

// Value is that of the contexts behind c.
func (c *handlerContext) Value(key any) any { return c.ask().Value(key) }
