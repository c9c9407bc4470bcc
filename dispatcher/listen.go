package dispatcher

import (
	"context"
	"time"

	"github.com/bide-go/bide/internal/clock"
	"github.com/bide-go/bide/internal/trouble"
	"github.com/bide-go/bide/scripts"
)

// standBack is how long a process that passed a call on leaves it to the others.
const standBack = 20 * time.Millisecond

// listenForJobs makes the dispatcher hungry whenever a lane may have got something.
// It only listens while there is a free slot: a call taken by a busy process is
// lost to the idle ones.
func (d *Dispatcher) listenForJobs(ctx context.Context, waiter *scripts.Waiter) {
	watch := trouble.New(d.cfg.Log, "wait for jobs")
	stop := context.AfterFunc(ctx, func() { d.lock(func() {}) })
	defer stop()
	for {
		d.mu.Lock()
		for d.free <= 0 && ctx.Err() == nil {
			d.cond.Wait()
		}
		d.mu.Unlock()
		if ctx.Err() != nil {
			return
		}
		queue, call, called, err := waiter.Wait(ctx)
		if err != nil {
			if ctx.Err() == nil {
				d.lock(func() { d.hungry = true }) // other connections may be well
				clock.Sleep(ctx, watch.Failed(err))
			}
			continue
		}
		watch.OK()
		if !called {
			d.lock(func() { d.hungry = true })
			continue
		}
		w := &wakeUp{queue, call, make(chan bool, 1)}
		d.lock(func() { d.hungry, d.woken = true, w })
		// Listening again before the call is answered, or at once after it was
		// passed on, this process would take it from whoever can use it.
		select {
		case passed := <-w.passed:
			if passed {
				clock.Sleep(ctx, standBack)
			}
		case <-ctx.Done():
		}
	}
}

// listenForCalls renews at once when a running job is to be cancelled.
func (d *Dispatcher) listenForCalls(work context.Context, waiter *scripts.Waiter) {
	watch := trouble.New(d.cfg.Log, "wait for calls")
	for work.Err() == nil {
		_, _, called, err := waiter.Wait(work)
		if err != nil {
			if work.Err() == nil {
				clock.Sleep(work, watch.Failed(err))
			}
			continue
		}
		watch.OK()
		if called {
			d.renewNow()
		}
	}
}
