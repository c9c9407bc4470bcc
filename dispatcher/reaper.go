package dispatcher

import (
	"context"
	"time"

	"github.com/bide-go/bide/internal/clock"
	"github.com/bide-go/bide/internal/trouble"
	"github.com/bide-go/bide/job"
)

// reapJobs bounds one call of reap.
const reapJobs = 200

// reaper takes back jobs whose lease ran out. After an outage, a failover or a step
// of Redis' clock all leases look expired at once although their owners are well,
// so it only takes what was expired already when it last looked, and starts anew
// when Redis' clock moved much further than its own.
type reaper struct {
	before time.Time // Redis' time at the previous look, zero for none
	seen   time.Time // the same moment by the local monotonic clock
	since  time.Time // the local moment since which both clocks have moved alike
}

// look notes Redis' time and returns the time up to which leases may be reaped:
// that of the look before, once Redis' clock has moved as the local one for long
// enough that every owner who is well has renewed.
func (r *reaper) look(now time.Time, lease time.Duration) (before time.Time, ok bool) {
	local := clock.Now()
	before = r.before
	if before.IsZero() || now.Sub(before) > local.Sub(r.seen)+lease/4 {
		r.since = local
	}
	r.before, r.seen = now, local
	return before, local.Sub(r.since) >= lease/2
}

// reap runs until ctx ends, and then hears what its last call has done. Looking every
// quarter of a lease, twice, has a killed process' job run again within a lease and a
// half.
func (d *Dispatcher) reap(ctx, work context.Context) {
	watch := trouble.New(d.cfg.Log, "take back lost jobs")
	every := d.cfg.Lease / 4
	r := &reaper{}
	for clock.Sleep(ctx, every) {
		err := d.reapOnce(work, r)
		for err != nil && ctx.Err() == nil && clock.Sleep(ctx, watch.Failed(err)) {
			// What is expired now need not have been before the trouble.
			*r = reaper{}
			err = d.reapOnce(work, r)
		}
		if err == nil {
			watch.OK()
		}
	}
}

// reapOnce is one look: it notes the time, and takes back what was expired at the
// look before.
func (d *Dispatcher) reapOnce(work context.Context, r *reaper) error {
	call, cancel := context.WithTimeout(work, d.callTimeout())
	defer cancel()
	// A time of 0 takes nothing and tells Redis' time.
	_, now, _, err := d.set.Reap(call, time.UnixMilli(0), reapJobs, d.cfg.MaxLost)
	if err != nil {
		return err
	}
	d.passed()
	before, ok := r.look(now, d.cfg.Lease)
	if !ok {
		return nil
	}
	for {
		reaped, _, more, err := d.set.Reap(call, before, reapJobs, d.cfg.MaxLost)
		if err != nil {
			return err
		}
		for _, x := range reaped {
			log := d.cfg.Log.Warn().Str("job_id", x.ID).Str("state", string(x.State))
			if x.State == job.Dead {
				log = log.Str("reason", string(job.ReasonLost))
			}
			log.Msg("lease ran out; job taken back")
			if x.Paused.Schedule != "" {
				d.tellPaused(x.Paused)
			}
		}
		if !more || len(reaped) == 0 {
			return nil
		}
	}
}
