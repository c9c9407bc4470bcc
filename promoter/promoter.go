// Package promoter moves jobs to their lanes when they become due.
//
// All the service's punctuality is here: one script call moves what is due and
// answers how long it is until the next job; the promoter sleeps exactly that
// long, or until an earlier job arrives. It decides nothing that another promoter
// might decide differently, so any number of them can run.
package promoter

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/rs/zerolog"

	"github.com/bide-go/bide/internal/clock"
	"github.com/bide-go/bide/internal/trouble"
	"github.com/bide-go/bide/scripts"
)

const (
	// maxSleep bounds the time for which a lost wake-up call goes unnoticed, and an
	// inbox entry, which wakes nobody: with the pass itself, 100 ms.
	maxSleep  = 98 * time.Millisecond
	heartbeat = time.Second
	// The sweeps come with the heartbeat, when the process is awake anyway; when that
	// does not come through, after sweepAtLast all the same: they make room.
	sweepAtLast = 2 * time.Second
	// sweepJobs bounds one call of the sweeps, which walk lanes.
	sweepJobs = 200
)

// Config is how a promoter works. The zero value is good.
type Config struct {
	// Namespace is "bide" if empty.
	Namespace string
	// Log gets what an operator wants to know; the zero value is silent.
	Log zerolog.Logger
	// DeadRetention is how long dead jobs are kept, 90 days if zero.
	DeadRetention time.Duration
	// DeadMax is how many of them are kept at most, 100,000 if zero.
	DeadMax int
}

// Promoter is one promoter. Make it with New.
type Promoter struct {
	cfg      Config
	set      *scripts.Set
	err      error
	lastPass clock.Stamp

	// Adoption has a back-off of its own: what keeps it, a full Redis above all,
	// does not make jobs late that are there already.
	adopting *trouble.Log
	nextTry  time.Time
}

// New returns a promoter on rdb. A mistake in the configuration is returned by Run.
func New(rdb redis.UniversalClient, cfg Config) *Promoter {
	if cfg.DeadRetention == 0 {
		cfg.DeadRetention = 90 * 24 * time.Hour
	}
	if cfg.DeadMax == 0 {
		cfg.DeadMax = 100_000
	}
	set, err := scripts.New(rdb, cfg.Namespace)
	return &Promoter{cfg: cfg, set: set, err: err, adopting: trouble.New(cfg.Log, "adopt inbox entries")}
}

// Run promotes due jobs until ctx ends, through any trouble of Redis. It returns
// nil when asked to stop, and an error only for a bad configuration.
func (p *Promoter) Run(ctx context.Context) error {
	if p.err != nil {
		return p.err
	}
	wake := make(chan struct{}, 1)
	waiter := p.set.PromoterWaiter()
	defer waiter.Close()
	go p.listen(ctx, waiter, wake)
	beats := make(chan struct{}, 1)
	go p.keepHouse(ctx, beats)

	watch := trouble.New(p.cfg.Log, "promote")
	var nextBeat, lastDue time.Time
	for ctx.Err() == nil {
		sleep := maxSleep
		beat := !clock.Now().Before(nextBeat)
		next, taken, err := p.promoteDue(ctx, beat)
		switch {
		case err == nil:
			watch.OK()
			now := clock.Now()
			p.lastPass.Set(now)
			if beat {
				nextBeat = now.Add(heartbeat)
				signal(beats)
			}
			if taken {
				lastDue = now
			}
			if next >= 0 {
				sleep = min(until(next, now.Sub(lastDue) > quietAfter), maxSleep)
			}
		case ctx.Err() == nil:
			sleep = watch.Failed(err)
		}
		clock.SleepOr(ctx, sleep, wake)
	}
	return nil
}

// How much before a due time the promoter is back at Redis: a timer is late by a little,
// on many systems by up to a millisecond, and so is a call that takes its way. Redis
// decides what is due, so being early costs a few calls and never a job its instant.
// Between jobs that follow each other closely it would cost as many calls as there are
// jobs.
const (
	ahead      = 300 * time.Microsecond
	aheadFrom  = time.Millisecond
	aheadQuiet = time.Millisecond
	// quietAfter is how long nothing has been due for the next job to be a single one.
	quietAfter = 20 * time.Millisecond
)

// until is how long to sleep when the next job is due after next; quiet says that it
// is a single one.
func until(next time.Duration, quiet bool) time.Duration {
	switch {
	case quiet:
		return max(0, next-aheadQuiet)
	case next > aheadFrom:
		return next - ahead
	case next <= ahead:
		return 0
	}
	return next
}

// LastPass is when the promoter last did its work, by this machine's clock; zero
// if it has not yet.
func (p *Promoter) LastPass() time.Time { return p.lastPass.Time() }

// promoteDue moves everything that is due, batch by batch, and returns how long it
// is until the next job, negative if there is none, and whether there was any.
func (p *Promoter) promoteDue(ctx context.Context, beat bool) (next time.Duration, taken bool, err error) {
	for {
		done, err := p.set.Promote(ctx, scripts.PromoteJobs, beat)
		if err != nil {
			return 0, taken, err
		}
		taken = taken || done.Taken > 0
		if done.Inbox > 0 && !clock.Now().Before(p.nextTry) {
			if err := p.adopt(ctx); err != nil {
				p.nextTry = clock.Now().Add(p.adopting.Failed(err))
			} else {
				p.adopting.OK()
				if done.Taken < scripts.PromoteJobs {
					return 0, taken, nil // what was adopted may be due
				}
			}
		}
		if done.Taken < scripts.PromoteJobs {
			return done.Next, taken, nil
		}
		beat = false
	}
}

// keepHouse ends expired jobs and removes what was kept long enough, beside the
// promotion so as not to delay it. Each call is bounded, since some walk lanes.
func (p *Promoter) keepHouse(ctx context.Context, beats <-chan struct{}) {
	watch := trouble.New(p.cfg.Log, "sweep")
	for ctx.Err() == nil {
		more, err := p.sweep(ctx)
		switch {
		case err == nil:
			watch.OK()
			if !more {
				clock.SleepOr(ctx, sweepAtLast, beats)
			}
		case ctx.Err() == nil:
			clock.Sleep(ctx, watch.Failed(err))
		}
	}
}

// sweep is one pass of keepHouse. more says that it should be repeated at once.
func (p *Promoter) sweep(ctx context.Context) (more bool, err error) {
	expired, more, err := p.set.Expire(ctx, sweepJobs)
	if err != nil {
		return false, err
	}
	trimmed, err := p.set.Trim(ctx, sweepJobs, p.cfg.DeadRetention, p.cfg.DeadMax)
	if err != nil {
		return false, err
	}
	if expired > 0 {
		p.cfg.Log.Info().Int("jobs", expired).Msg("jobs expired before they were started")
	}
	if trimmed.Dead > 0 {
		p.cfg.Log.Warn().Int("jobs", trimmed.Dead).Msg("dead jobs trimmed")
	}
	return more || trimmed.Finished == sweepJobs || trimmed.Dead == sweepJobs, nil
}

// listen passes wake-up calls on until ctx ends. It may be inside a blocking call
// then, which nobody waits for.
func (p *Promoter) listen(ctx context.Context, waiter *scripts.Waiter, wake chan<- struct{}) {
	watch := trouble.New(p.cfg.Log, "wait for wake-up calls")
	for ctx.Err() == nil {
		_, _, called, err := waiter.Wait(ctx)
		if err != nil {
			if ctx.Err() == nil {
				clock.Sleep(ctx, watch.Failed(err))
			}
			continue
		}
		watch.OK()
		if called {
			signal(wake)
		}
	}
}

// signal wakes whoever waits for c, or is about to.
func signal(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
