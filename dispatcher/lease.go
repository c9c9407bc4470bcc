package dispatcher

import (
	"context"
	"time"

	"github.com/bide-go/bide/internal/clock"
	"github.com/bide-go/bide/internal/trouble"
	"github.com/bide-go/bide/job"
	"github.com/bide-go/bide/scripts"
)

// renewNow asks for a round of renewals at once.
func (d *Dispatcher) renewNow() {
	select {
	case d.renew <- struct{}{}:
	default:
	}
}

// keepLeases renews all leases every third of one, also while draining.
func (d *Dispatcher) keepLeases(work context.Context) {
	watch := trouble.New(d.cfg.Log, "renew leases")
	every := d.cfg.Lease / 3
	for wait := every; ; {
		clock.SleepOr(work, wait, d.renew)
		if work.Err() != nil {
			return
		}
		if err := d.renewAll(work); err != nil {
			// Soon again: the first thing after an outage is to renew, before
			// anybody counts the leases as lost.
			wait = min(watch.Failed(err), every)
			continue
		}
		watch.OK()
		wait = every
	}
}

// watchLeases cancels the handlers whose lease has come to its local end without a
// renewal, and settles the attempts whose handler ignores its timeout. It asks Redis
// nothing and so never waits for an answer, as keepLeases may do for longer than it
// takes others to start the job again.
func (d *Dispatcher) watchLeases(work context.Context) {
	// What is leased from now on has more of its lease left than this.
	every := d.cfg.Lease / 3
	for clock.Sleep(work, min(every, d.untilFirstEnd())) {
		d.endLost()
		d.abandonStuck()
	}
}

// untilFirstEnd is how long the lease that ends first is still valid.
func (d *Dispatcher) untilFirstEnd() time.Duration {
	d.mu.Lock()
	defer d.mu.Unlock()
	first := d.cfg.Lease
	for a := range d.held {
		if !a.leaseLost() {
			first = min(first, clock.Until(a.until))
		}
	}
	return first
}

// endLost cancels the handlers whose lease has come to its local end.
func (d *Dispatcher) endLost() {
	var lost []*attempt
	d.mu.Lock()
	for a := range d.held {
		if !a.leaseLost() && clock.Until(a.until) <= 0 {
			lost = append(lost, a)
		}
	}
	d.mu.Unlock()
	d.lose(lost, "lease ran out without a renewal")
}

// abandonStuck settles attempts whose handler ignores its timeout.
func (d *Dispatcher) abandonStuck() {
	d.lock(func() {
		for a := range d.held {
			if a.isRunning() && !a.settling && !a.leaseLost() && clock.Since(a.started)-abandonAfter > a.job.Timeout {
				d.abandon(a)
			}
		}
	})
}

// renewAll renews every held lease.
func (d *Dispatcher) renewAll(work context.Context) error {
	var list []*attempt
	d.mu.Lock()
	for a := range d.held {
		if !a.leaseLost() {
			list = append(list, a)
		}
	}
	d.mu.Unlock()
	for len(list) > 0 {
		n := min(len(list), scripts.SettleJobs)
		if err := d.renewSome(work, list[:n]); err != nil {
			return err
		}
		list = list[n:]
	}
	return nil
}

func (d *Dispatcher) renewSome(work context.Context, list []*attempt) error {
	ctx, cancel := context.WithTimeout(work, d.callTimeout())
	defer cancel()
	sent := clock.Now()
	renewals, err := d.set.Renew(ctx, d.cfg.Lease, leasesOf(list))
	if err != nil {
		return err
	}
	d.passed()
	var lost []*attempt
	d.mu.Lock()
	for i, a := range list {
		if _, held := d.held[a]; !held {
			continue // settled meanwhile
		}
		switch renewals[i] {
		case scripts.RenewalStale:
			if !a.settling { // a settlement may have ended the lease a moment ago
				lost = append(lost, a)
			}
		case scripts.CancelAsked:
			a.until = sent.Add(d.cfg.Lease)
			a.ctx.end(job.ErrCancelled)
		default:
			a.until = sent.Add(d.cfg.Lease)
		}
	}
	d.mu.Unlock()
	d.lose(lost, "lease is another's")
	return nil
}

// lose cancels the handlers of attempts whose lease is gone. Their jobs are no
// longer held once the handler returns.
func (d *Dispatcher) lose(list []*attempt, why string) {
	for _, a := range list {
		d.cfg.Log.Warn().Str("job_id", a.job.ID).Str("name", a.job.Name).Str("why", why).Msg("lease lost; handler cancelled")
		a.lose()
	}
}

// renewFirst renews jobs before they are started and returns those that are still
// ours, with the time from which their leases count.
func (d *Dispatcher) renewFirst(ctx context.Context, jobs []scripts.Leased) ([]scripts.Leased, time.Time) {
	leases := make([]scripts.Lease, len(jobs))
	for i, l := range jobs {
		leases[i] = l.Lease
	}
	sent := clock.Now()
	renewals, err := d.set.Renew(ctx, d.cfg.Lease, leases)
	var ours []scripts.Leased
	for i, l := range jobs {
		if err == nil && renewals[i] != scripts.RenewalStale {
			ours = append(ours, l)
		}
	}
	if len(ours) < len(jobs) {
		d.cfg.Log.Warn().Err(err).Int("jobs", len(jobs)-len(ours)).Msg("leases went before their jobs could be started")
	}
	return ours, sent
}
