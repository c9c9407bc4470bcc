package dispatcher

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync/atomic"
	"time"

	"github.com/bide-go/bide/internal/clock"
	"github.com/bide-go/bide/job"
	"github.com/bide-go/bide/scripts"
)

// attempt is one lease on a job and the handler that runs under it.
type attempt struct {
	job   *job.Job
	lease scripts.Lease
	order int64 // in which attempts began here

	ctx handlerContext

	lost    atomic.Bool
	since   time.Time // it came here
	started time.Time // zero while the job waits for a slot

	// The rest belongs to the dispatcher's mutex.

	// until is the local end of the lease by the monotonic clock: counted from the
	// moment the reserve or renewal was sent, because a process that was cut off
	// or frozen is never told that it lost it.
	until     time.Time
	returned  bool // the handler has
	settling  bool // handed to a turn, or settled
	abandoned bool // settled as timed out while the handler goes on
	resent    bool // a turn with it had an unknown outcome
	err       error
	took      time.Duration
	pause     time.Duration
}

func (a *attempt) leaseLost() bool { return a.lost.Load() }

// lose cancels the handler of an attempt whose lease is gone.
func (a *attempt) lose() {
	if !a.lost.Swap(true) {
		a.ctx.end(job.ErrLeaseLost)
	}
}

// abandonAfter is how long after its timeout a handler may go on before its job
// is settled without it: somewhat longer than exec gives a command to end.
const abandonAfter = 7 * time.Second

// longestAttempt is the timeout of attempts that have a longer one: a clock cannot
// count much further.
const longestAttempt = 100 * 365 * 24 * time.Hour

// newAttempt holds a leased job whose lease was asked for at sent, and which has come
// now. mu is held.
func (d *Dispatcher) newAttempt(l scripts.Leased, sent, now time.Time) *attempt {
	a := &attempt{job: l.Job, lease: l.Lease, since: now, until: sent.Add(d.cfg.Lease)}
	a.ctx.base = d.base
	d.order++
	a.order = d.order
	d.held[a] = struct{}{}
	return a
}

// start says that the handler of an attempt begins now. mu is held, and the attempt has
// a slot.
func (d *Dispatcher) start(a *attempt, now time.Time) {
	a.started = now
	a.ctx.begin(now.Add(min(a.job.Timeout, longestAttempt)))
}

// run runs the handlers of started attempts in one slot, a after which come those
// that wait for one. Before, it has another slot opened if there is work for it: one
// by one, so that a few goroutines see to jobs that take next to no time, and the
// others do not stand in the way of what comes from Redis.
func (d *Dispatcher) run(a *attempt) {
	d.quietly(d.fill)
	defer func() {
		if a != nil { // a handler has ended this goroutine
			go d.run(a)
		}
	}()
	for a != nil {
		this := a
		d.handlers.RunHere(&this.ctx, this.job, func(err error) {
			// The context's own end says why the handler stopped; read it before
			// it is ended for good.
			if err != nil && errors.Is(context.Cause(&this.ctx), job.ErrTimeout) {
				err = &timeoutError{err}
			}
			this.ctx.release()
			a = d.finished(this, err)
		})
	}
}

// timeoutError marks what a handler returned after its attempt's timeout.
type timeoutError struct{ err error }

func (e *timeoutError) Error() string { return e.err.Error() }
func (e *timeoutError) Unwrap() error { return e.err }

// finished hands an attempt to the next turn and its slot to the job that waits for
// one, which it returns, started.
func (d *Dispatcher) finished(a *attempt, err error) *attempt {
	now := clock.Now()
	took := now.Sub(a.started)
	d.mu.Lock()
	a.returned = true
	if !a.abandoned {
		a.err, a.took = err, took
		d.settle(a)
	}
	d.tempo.note(took)
	next := d.nextAhead(now)
	if next == nil {
		d.free++
	}
	due := d.away == 0 && !d.called
	if due || next == nil || !d.intake || len(d.done) >= d.share() {
		d.called = d.called || due
		d.cond.Broadcast()
	}
	d.mu.Unlock()
	if due && next != nil {
		runtime.Gosched() // the turn first: Redis has nothing to do
	}
	return next
}

// settle queues an attempt for the next turn. mu is held.
func (d *Dispatcher) settle(a *attempt) {
	if a.leaseLost() && a.err != nil {
		// Whoever has the job now settles it. Nil is tried all the same: the
		// token decides, and a job that nobody has taken yet has then completed.
		delete(d.held, a)
		return
	}
	if a.err != nil && errors.Is(context.Cause(&a.ctx), job.ErrShutdown) {
		return // given back at the end, without an attempt
	}
	a.settling = true
	d.done = append(d.done, a)
}

// abandon settles an attempt as timed out although its handler has not returned:
// a job must not hang on a handler that heeds nothing. The slot stays taken.
// mu is held.
func (d *Dispatcher) abandon(a *attempt) {
	a.abandoned = true
	a.err = &timeoutError{fmt.Errorf("%w after %v, and the handler ignores it", job.ErrTimeout, a.job.Timeout)}
	a.took = clock.Since(a.started)
	d.cfg.Log.Warn().Str("job_id", a.job.ID).Str("name", a.job.Name).Msg("handler ignores its context; its job goes on without it")
	d.settle(a)
}

// judge decides how a failed attempt ends.
func judge(a *attempt) scripts.Verdict {
	j, err := a.job, a.err
	v := scripts.Verdict{Lease: a.lease, Kind: job.KindFailed, Error: err.Error(), Retry: true}
	var panicked interface{ PanicStack() string }
	var timeout *timeoutError
	switch {
	case errors.As(err, &panicked):
		v.Kind, v.Stack = job.KindPanic, panicked.PanicStack()
	case errors.As(err, &timeout):
		v.Kind = job.KindTimeout
	}
	delay, chosen := job.RetryDelay(err)
	switch {
	case job.IsPermanent(err):
		v.Retry, v.Reason, v.Hold = false, job.ReasonPermanent, job.PausesSchedule(err)
	case j.Attempt() >= j.MaxAttempts:
		v.Retry, v.Reason = false, job.ReasonAttempts
	case chosen:
		v.Pause = delay
	default:
		v.Pause = job.Backoff(j.Attempt()+1, j.MinBackoff, j.MaxBackoff)
	}
	a.pause = v.Pause
	return v
}

// isRunning reports whether the handler has begun and not returned.
func (a *attempt) isRunning() bool { return !a.started.IsZero() && !a.returned }

// running counts handlers that have not returned. mu is held, or no turn runs.
func (d *Dispatcher) running() int {
	n := 0
	for a := range d.held {
		if a.isRunning() {
			n++
		}
	}
	return n
}

// cancelHandlers ends the contexts of all running handlers.
func (d *Dispatcher) cancelHandlers(cause error) {
	d.lock(func() {
		for a := range d.held {
			if a.isRunning() {
				a.ctx.end(cause)
			}
		}
	})
}

// sortByOrder puts attempts in the order in which Redis leased them. Answers of
// two reserves may arrive the other way round, so Redis' time comes first.
func sortByOrder(list []*attempt) {
	slices.SortFunc(list, func(a, b *attempt) int {
		return cmp.Or(a.job.Started.Compare(b.job.Started), cmp.Compare(a.order, b.order))
	})
}

func leasesOf(list []*attempt) []scripts.Lease {
	leases := make([]scripts.Lease, len(list))
	for i, a := range list {
		leases[i] = a.lease
	}
	return leases
}
