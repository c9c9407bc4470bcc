package dispatcher

import (
	"context"
	"sync"
	"time"

	"github.com/bide-go/bide/internal/clock"
	"github.com/bide-go/bide/scripts"
)

const (
	// giveUpAfter is how long cancelled handlers may take to return.
	giveUpAfter = 100 * time.Millisecond
	// lastWords bounds each of the last calls to a Redis that may be away.
	lastWords = time.Second
)

// drain waits for running handlers until the grace period ends.
func (d *Dispatcher) drain() {
	running := 0
	d.lock(func() {
		d.intake = false
		running = d.running()
	})
	go d.giveAheadBack()
	d.cfg.Log.Info().Int("running", running).Dur("grace", max(d.cfg.Grace, 0)).Msg("draining")
	idle := make(chan struct{})
	stop := make(chan struct{})
	defer close(stop)
	go func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		for len(d.held) > 0 || d.inFlight > 0 || len(d.unanswered) > 0 {
			select {
			case <-stop:
				return
			default:
				d.cond.Wait()
			}
		}
		close(idle)
	}()
	timer := clock.NewTimer(max(d.cfg.Grace, 0))
	defer timer.Stop()
	select {
	case <-idle:
	case <-timer.C:
	case <-d.hard:
	}
}

// giveBack returns what is still held. It is the last thing a process does: until
// it is gone, a handler that ignores its context runs beside its successor.
func (d *Dispatcher) giveBack(work context.Context) {
	ctx, cancel := context.WithTimeout(work, lastWords)
	defer cancel()
	if err := d.set.Leave(ctx, d.id); err != nil {
		d.cfg.Log.Warn().Err(err).Msg("not signed off")
	}
	var rest []*attempt
	var completed []scripts.Lease
	d.lock(func() {
		for a := range d.held {
			switch {
			case a.returned && a.err == nil: // its settlement has not been answered
				completed = append(completed, a.lease)
			case !a.leaseLost():
				rest = append(rest, a)
			}
		}
	})
	if len(completed) > 0 {
		_, _ = d.set.Complete(ctx, completed) // failing again leaves it to the lease
	}
	if len(rest) == 0 {
		return
	}
	sortByOrder(rest)
	for len(rest) > 0 {
		// LPUSH: the last batch must go first, so that the first ends up in front.
		from := max(0, len(rest)-scripts.SettleJobs)
		if _, err := d.set.Release(ctx, leasesOf(rest[from:])); err != nil {
			d.cfg.Log.Warn().Err(err).Int("jobs", len(rest)).Msg("jobs not given back; their leases will run out")
			return
		}
		d.cfg.Log.Info().Int("jobs", len(rest)-from).Msg("jobs given back")
		rest = rest[:from]
	}
}

// await waits until ok, which is called with mu held, or for at most limit.
func (d *Dispatcher) await(limit time.Duration, ok func() bool) {
	over := false
	timer := clock.AfterFunc(limit, func() { d.lock(func() { over = true }) })
	defer timer.Stop()
	d.mu.Lock()
	defer d.mu.Unlock()
	for !ok() && !over {
		d.cond.Wait()
	}
}

func waitFor(wg *sync.WaitGroup, limit time.Duration) {
	done := make(chan struct{})
	go func() { wg.Wait(); close(done) }()
	timer := clock.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-done:
	case <-timer.C:
	}
}
