package scheduler

import (
	"time"

	"github.com/bide-go/bide/internal/cronexpr"
	"github.com/bide-go/bide/job"
	"github.com/bide-go/bide/scripts"
)

const (
	// horizon is how far ahead ticks are planned: if every scheduler dies, they
	// still run.
	horizon = time.Minute
	// mostTicks bounds what is planned of one schedule, and in one call.
	mostTicks = 100
	// mostMissed bounds how many missed ticks one call settles one by one; a longer
	// outage takes several.
	mostMissed = 20_000
	// lateAtMost is when a tick that has not reached its lane counts as missed,
	// unless half the time to the next tick is shorter.
	lateAtMost = time.Minute
	// mostMadeUp is how many missed ticks run under All.
	mostMadeUp = 100
)

// plan is a definition that can be asked for its ticks. It is immutable but for
// the part that mirrors Redis.
type plan struct {
	def   Definition
	set   *cronexpr.Set
	every time.Duration // of a schedule that is one @every expression, else zero

	incarnation, number string
	cursor              int64 // unix ms; the newest tick planned or settled
	span                scripts.Span
}

// next is the first tick after t; zero if there is none.
func (p *plan) next(t time.Time) time.Time {
	if t.Before(p.def.StartAt) {
		t = p.def.StartAt.Add(-1)
	}
	next := p.set.Next(t)
	if !p.def.EndAt.IsZero() && next.After(p.def.EndAt) {
		return time.Time{}
	}
	return next
}

// walk goes from tick to tick, knowing those that follow.
type walk struct {
	p     *plan
	ticks []time.Time // the current one, and those behind it as far as they were asked for
}

// walkFrom stands at the first tick after t.
func (p *plan) walkFrom(t time.Time) *walk { return &walk{p, []time.Time{p.next(t)}} }

// ahead is the n-th tick after the current one, itself for 0; zero if there is none.
func (w *walk) ahead(n int) time.Time {
	for len(w.ticks) <= n {
		last := w.ticks[len(w.ticks)-1]
		if !last.IsZero() {
			last = w.p.next(last)
		}
		w.ticks = append(w.ticks, last)
	}
	return w.ticks[n]
}

func (w *walk) tick() time.Time { return w.ahead(0) }

func (w *walk) advance() {
	w.ahead(1)
	w.ticks = w.ticks[1:]
}

// missed is when the n-th tick counts as missed if it has not been handed to its
// lane. The promoter computes the same from the body of its job.
func (w *walk) missed(n int) time.Time {
	tick, limit := w.ahead(n), lateAtMost
	if next := w.ahead(n + 1); !next.IsZero() {
		limit = min(limit, (next.Sub(tick) / 2).Truncate(time.Millisecond))
	}
	return tick.Add(w.p.jitter(tick) + limit)
}

// superseded is from when the tick is not to run at all, for CatchUp: once it has
// been missed itself under Skip, the one after it under Latest, and the hundredth
// after it under All. Zero if that never comes, or the tick's deadline comes first.
func (w *walk) superseded() time.Time {
	n := map[CatchUp]int{Skip: 0, All: mostMadeUp}
	after, known := n[w.p.def.CatchUp]
	if !known {
		after = 1
	}
	for i := 1; i <= after; i++ {
		if next := w.ahead(i); next.IsZero() || next.After(w.p.deadline(w.tick())) {
			return time.Time{}
		}
	}
	return w.missed(after)
}

// deadline is until when a run of the tick may be started.
func (p *plan) deadline(tick time.Time) time.Time {
	d := p.def.StartingDeadline
	if d == 0 {
		d = DefaultStartingDeadline
	}
	return tick.Add(d)
}

// room reports whether one more job may go with n others in one call.
func (p *plan) room(n int) bool {
	return n == 0 || n < mostTicks && (n+1)*len(p.def.Args) <= scripts.EnqueueBytes
}

// expand computes what to plan between the cursor and now + horizon. Of the ticks
// that were missed, while nobody planned, those run that CatchUp says. ok is false
// when there is nothing to do.
func (p *plan) expand(now time.Time) (e scripts.Expansion, ok bool) {
	e = scripts.Expansion{Schedule: p.def.Name, Number: p.number, Cursor: p.cursor, Next: p.cursor, Span: p.span}
	until := now
	if !p.def.Suspend {
		until = now.Add(horizon)
		// Planned far enough already: wait until half of it is used up, so that a
		// schedule of every second is planned in batches.
		if first := p.next(time.UnixMilli(p.cursor)); first.After(now.Add(horizon/2)) && p.cursor > now.UnixMilli() {
			return e, false
		}
	}
	p.leap(&e, now)
	w := p.walkFrom(time.UnixMilli(e.Next))
	for seen := 0; seen < mostMissed && p.room(len(e.Ticks)); seen++ {
		tick := w.tick()
		if tick.IsZero() {
			break
		}
		if tick.After(until) {
			// At least the next tick is always planned.
			if p.def.Suspend || len(e.Ticks) > 0 || e.Next > now.UnixMilli() {
				break
			}
		}
		superseded := w.superseded()
		if reason := p.unfit(tick, superseded, now); reason != "" {
			p.miss(&e, tick, reason)
		} else {
			e.Ticks = append(e.Ticks, p.job(tick, w.ahead(1), superseded))
		}
		e.Next = tick.UnixMilli()
		w.advance()
	}
	return e, e.Next != e.Cursor
}

// unfit says why a tick is not to run, if it is not.
func (p *plan) unfit(tick, superseded, now time.Time) job.Reason {
	switch {
	case tick.After(now):
		return ""
	case p.def.Suspend || p.pausedAt(tick):
		return job.ReasonPaused
	case !superseded.IsZero() && !superseded.After(now):
		return job.ReasonCatchUp
	case !p.deadline(tick).After(now):
		return job.ReasonDeadline
	}
	return ""
}

// pausedAt reports whether the schedule was paused at an instant.
func (p *plan) pausedAt(t time.Time) bool {
	from, until := scripts.Millis(p.span.From), scripts.Millis(p.span.Until)
	return from != 0 && t.UnixMilli() >= from && (until == 0 || t.UnixMilli() < until)
}

// miss counts a tick that will not run, and notes it if it is among the newest.
func (p *plan) miss(e *scripts.Expansion, tick time.Time, reason job.Reason) {
	e.Missed++
	keep := p.def.history().Failed
	if keep == 0 {
		return
	}
	if len(e.Noted) == keep {
		e.Noted = e.Noted[1:]
	}
	e.Noted = append(e.Noted, scripts.Missed{Tick: tick.UnixMilli(), Reason: reason})
}

// leap counts the ticks of a long outage without walking through them, as far as
// they are all alike: missed long ago, and too many for any history.
func (p *plan) leap(e *scripts.Expansion, now time.Time) {
	// A pause that ended before the cursor no longer matters.
	paused := p.span.From != "" && (p.span.Until == "" || scripts.Millis(p.span.Until) > e.Cursor)
	if p.every == 0 || p.def.Suspend || paused || time.UnixMilli(e.Cursor).Before(p.def.StartAt) {
		return
	}
	// Nothing within the margin can be judged from here.
	until := now.Add(-p.def.Jitter - 2*lateAtMost - (mostMadeUp+2)*p.every)
	if !p.def.EndAt.IsZero() && p.def.EndAt.Before(until) {
		until = p.def.EndAt
	}
	keep := time.Duration(p.def.history().Failed) * p.every
	span := until.Add(-keep).Sub(time.UnixMilli(e.Cursor).Truncate(time.Second))
	if n := int(span / p.every); n > 0 {
		first := p.next(time.UnixMilli(e.Cursor))
		e.Missed += n
		e.Next = first.Add(time.Duration(n-1) * p.every).UnixMilli()
	}
}

// maybePlanned lists, as jobs, the ticks that this or another scheduler may have
// planned: another's cursor is not known here until the next conflict.
func (p *plan) maybePlanned(now time.Time) []scripts.NewJob {
	until := max(p.cursor, now.Add(horizon+10*time.Second).UnixMilli())
	var jobs []scripts.NewJob
	for w := p.walkFrom(now); !w.tick().IsZero() && len(jobs) < 2*mostTicks; w.advance() {
		if w.tick().UnixMilli() > until && len(jobs) > 0 {
			break
		}
		jobs = append(jobs, p.job(w.tick(), w.ahead(1), w.superseded()))
	}
	return jobs
}

// job is the job of one tick. Its id is the same whoever computes it.
func (p *plan) job(tick, next, superseded time.Time) scripts.NewJob {
	n := p.run()
	n.ID, n.Trigger, n.Own = tickID(p.def.Name, tick), job.TriggerSchedule, true
	n.At, n.Tick, n.Next = tick.Add(p.jitter(tick)), tick, next
	n.Superseded, n.Expiry = superseded, p.deadline(tick)
	return n
}

// run is what the jobs of all runs have in common.
func (p *plan) run() scripts.NewJob {
	queue := p.def.Queue
	if queue == "" {
		queue = job.DefaultQueue
	}
	return scripts.NewJob{
		Queue: queue, Name: p.def.Job, Args: p.def.Args,
		MaxAttempts: p.def.MaxAttempts, Timeout: p.def.Timeout, MinBackoff: p.def.MinBackoff, MaxBackoff: p.def.MaxBackoff,
		Schedule: p.def.Name, Incarnation: p.incarnation,
	}
}

// rules are what scripts decide the runs by.
func (d Definition) rules() scripts.Rules {
	none := func(n int) int {
		if n == 0 {
			return -1
		}
		return n
	}
	h := d.history()
	return scripts.Rules{
		Policy: string(d.ConcurrencyPolicy), CatchUp: string(d.CatchUp), PauseAfter: d.PauseAfterFailures,
		KeepSuccessful: none(h.Successful), KeepFailed: none(h.Failed),
	}
}

func (d Definition) history() History {
	if d.History == nil {
		return DefaultHistory
	}
	return *d.History
}
