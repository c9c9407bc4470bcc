package chaos

import (
	"cmp"
	"slices"
	"time"
)

// The rules, by the names under which they are reported.
const (
	RuleLost    = "an acknowledged job is lost"
	RuleEnd     = "a job does not end, or ends twice"
	RuleEarly   = "a job is started early"
	RuleTwice   = "a job runs twice without a lost lease"
	RuleStale   = "a stale owner settles"
	RuleBeside  = "a handler runs beside its successor with a live context"
	RuleCancel  = "a cancelled job runs"
	RuleTick    = "a tick neither runs nor is counted"
	RuleOverlap = "two runs of a schedule are open at a time"
	RuleOrder   = "jobs of a lane start out of order"
	RuleGap     = "the sum is not zero"
	RuleExit    = "a process ends by itself, or not when told"
	RuleGrowth  = "memory or goroutines grow"
	RuleTotal   = "fewer jobs were created than acknowledged"
	RuleTrouble = "something does not come to rest"
)

// Rules are all of them.
var Rules = []string{
	RuleLost, RuleEnd, RuleEarly, RuleTwice, RuleStale, RuleBeside, RuleCancel, RuleTick, RuleOverlap, RuleOrder, RuleGap, RuleExit, RuleGrowth, RuleTotal, RuleTrouble,
}

// OrderedQueue is the queue that one slot serves.
const OrderedQueue = "ordered"

// mostGoroutines is how many a process may have that has nothing to do.
const mostGoroutines = 150

// ended: every acknowledged job is still there, if it is kept, in exactly one end
// state; one that is not kept has run or was cancelled.
func (c *checker) ended(j *jobs) {
	ends := 0
	for _, r := range j.runs {
		for _, s := range r.settled {
			if s.State == "completed" || s.State == "dead" || s.State == "cancelled" {
				ends++
			}
		}
	}
	if ends > 1 && !c.mayBeLost(j) {
		c.breaks(RuleEnd, j.events, "job %s ended %d times", j.id, ends)
	}
	if j.final == nil || len(j.acked) == 0 {
		return
	}
	kept := len(j.sent) > 0 && j.sent[0].Kept
	switch state := j.final.State; {
	case state == "completed" || state == "dead" || state == "cancelled" || state == "expired" || state == "skipped":
		if state == "completed" && !slices.ContainsFunc(j.runs, func(r *run) bool { return r.ended != nil && r.ended.Err == "" }) {
			c.breaks(RuleEnd, j.events, "job %s is completed, and no handler returned nil", j.id)
		}
	case state != "":
		c.breaks(RuleEnd, j.events, "job %s is still %s", j.id, state)
	case c.mayBeLost(j):
	case kept:
		c.breaks(RuleLost, j.events, "job %s was acknowledged and is gone", j.id)
	case !j.asked && !slices.ContainsFunc(j.runs, func(r *run) bool { return r.ended != nil }):
		c.breaks(RuleLost, j.events, "job %s was acknowledged, never ran to its end, and is gone", j.id)
	}
}

// notEarly: no first attempt before the job is due, no other before its back-off is
// over.
func (c *checker) notEarly(j *jobs) {
	for i, r := range j.runs {
		due := int64(0)
		if len(j.sent) > 0 {
			due = j.sent[0].Due * int64(time.Millisecond)
		}
		if i > 0 {
			last := j.runs[i-1]
			for _, s := range last.settled {
				if s.State == "delayed" && last.ended != nil && r.Attempt > last.Attempt {
					due = max(due, last.ended.At+s.Pause*int64(time.Millisecond))
				}
			}
		}
		if r.At < due-int64(early) {
			c.breaks(RuleEarly, j.events, "job %s was started %v early", j.id, time.Duration(due-r.At))
		}
	}
}

// once: a job runs again only if its attempt failed, its lease was lost, or it was
// given back; the record then says so.
func (c *checker) once(j *jobs) {
	for i := 1; i < len(j.runs); i++ {
		a, b := j.runs[i-1], j.runs[i]
		if c.lossBetween(a.leased(), b.At) && c.mayBeLostBut(j, b.Run) {
			continue
		}
		completed := slices.ContainsFunc(a.settled, func(s Event) bool { return s.State == "completed" || s.State == "dead" || s.State == "cancelled" })
		switch {
		case completed:
			c.breaks(RuleTwice, j.events, "job %s had ended and ran again", j.id)
		case b.Lost > a.Lost:
		case b.Attempt > a.Attempt && a.ended != nil && a.ended.Err != "":
		case c.gaveBack(a, b.At):
		default:
			c.breaks(RuleTwice, j.events, "job %s ran again, and neither failed nor lost its lease nor was given back", j.id)
		}
	}
	if f := j.final; f != nil && f.State != "" && !c.mayBeLost(j) {
		lost := 0
		for _, r := range j.runs {
			lost = max(lost, r.Lost)
		}
		if f.Lost < lost {
			c.breaks(RuleTwice, j.events, "job %s had lost %d leases, and its record says %d", j.id, lost, f.Lost)
		}
	}
}

// gaveBack reports whether the attempt was on a process that was stopping by then:
// it may have given the job back.
func (c *checker) gaveBack(r *run, by int64) bool {
	p := c.procs[r.Proc]
	return p != nil && p.termed != 0 && p.termed < by && (r.ended == nil || r.ended.Err != "")
}

// notCancelled: a job that was cancelled before it began does not begin.
func (c *checker) notCancelled(j *jobs) {
	for _, e := range j.cancelled {
		if e.State == "cancelled" && !c.mayBeLost(j) && slices.ContainsFunc(j.runs, func(r *run) bool { return r.At > e.At }) {
			c.breaks(RuleCancel, j.events, "job %s was cancelled and ran", j.id)
		}
	}
}

// owners: who has lost its lease settles nothing.
func (c *checker) owners(j *jobs) {
	for i := 1; i < len(j.runs); i++ {
		a, b := j.runs[i-1], j.runs[i]
		if a.ended == nil || a.ended.At <= b.At || c.mayBeLost(j) {
			continue
		}
		for _, s := range a.settled {
			if s.State != "" {
				c.breaks(RuleStale, j.events, "an attempt at job %s was settled as %s after the next one had begun", j.id, s.State)
			}
		}
	}
}

// alone: when a job is started again, the context of the attempt before has ended,
// unless its process cannot see it.
func (c *checker) alone(j *jobs) {
	for i := 1; i < len(j.runs); i++ {
		a, b := j.runs[i-1], j.runs[i]
		if c.lossBetween(a.leased(), b.At) {
			continue
		}
		until := a.over()
		if until == 0 {
			until = c.end
		}
		if beside, may := c.beside(a, b, until); beside > may {
			c.breaks(RuleBeside, j.events, "an attempt at job %s went on for %v beside the next one, its context alive", j.id, beside)
		}
	}
}

// beside is how long a's handler went on, until then, after b's had begun, although a's
// lease was gone, and how long it may. It ends before anybody takes its job, unless its
// process was stopped just then; nobody can see more than a busy machine lets him.
func (c *checker) beside(a, b *run, until int64) (beside, may time.Duration) {
	beside = max(time.Duration(until-b.At), 0)
	if p := c.procs[a.Proc]; p != nil {
		beside = time.Duration(p.running(b.At, until))
		if p.stoppedBetween(a.At, until) {
			may = Slack
		}
	}
	return beside, may + c.late
}

// ticks: each runs, or is counted as missed or skipped, or has made room.
func (c *checker) ticks() {
	for _, e := range c.rest {
		if e.Kind != Ticks {
			continue
		}
		var missing []Event
		n := int64(0)
		step := time.Duration(e.Pause) * time.Millisecond
		for at := time.Unix(0, e.From).Truncate(step); at.UnixNano() <= e.To; at = at.Add(step) {
			id := e.What + "@" + at.UTC().Format(time.RFC3339)
			if at.UnixNano() <= e.From || c.lossBetween(at.Add(-time.Minute).UnixNano(), at.Add(time.Second).UnixNano()) {
				continue // Redis may have lost the plan of the minute ahead, and with it what it counted
			}
			if j := c.jobs[id]; (j == nil || len(j.runs) == 0) && !c.gone[id] {
				n++
				if len(missing) < 5 {
					missing = append(missing, Event{At: at.UnixNano(), Kind: Final, ID: id})
				}
			}
		}
		if n > e.N {
			c.breaks(RuleTick, append(missing, e), "%d ticks of %s did not run, and %d were counted as missed or skipped", n, e.What, e.N)
		}
	}
}

// lanes: with one slot, jobs handed out for the first time start by due time, ties by
// arrival.
func (c *checker) lanes() {
	type first struct {
		start, sent, due int64
		events           []Event
	}
	var list []first
	for _, j := range c.order {
		if len(j.sent) == 0 || len(j.acked) == 0 || len(j.runs) == 0 || j.sent[0].Queue != OrderedQueue {
			continue
		}
		r := j.runs[0]
		// One whose acknowledgement was lost may have been created at any time, and
		// what Redis has lost may have come back in another order.
		if len(j.sent) > 1 || r.Attempt > 1 || r.Lost > 0 || c.mayBeLost(j) {
			continue
		}
		list = append(list, first{r.At, j.sent[0].At, j.acked[0].Due, []Event{j.sent[0], j.acked[0], r.Event}})
	}
	slices.SortFunc(list, func(a, b first) int { return cmp.Compare(a.start, b.start) })
	for i := 1; i < len(list); i++ {
		a, b := list[i-1], list[i]
		if b.due < a.due || b.due == a.due && b.sent < a.sent {
			c.breaks(RuleOrder, append(slices.Clone(a.events), b.events...), "a job due at %d was started after one due at %d", b.due, a.due)
		}
	}
}

// samples: the gap is 0 whenever it is looked at, and everything comes to rest.
func (c *checker) samples() {
	for _, e := range c.rest {
		switch {
		case e.Kind == Audited && e.Gap != 0:
			c.breaks(RuleGap, []Event{e}, "the gap was %d", e.Gap)
		case e.Kind == Stuck:
			c.breaks(RuleTrouble, []Event{e}, "%s", e.What)
		}
	}
}

// processes: none ends unless it was told to, and then with status 0. None grows.
func (c *checker) processes() {
	for _, p := range c.procs {
		if p.exit != nil && !p.killed {
			switch {
			case p.termed == 0:
				c.breaks(RuleExit, p.events, "%s ended by itself with status %d", p.name, p.exit.Code)
			case p.exit.Code == -1 && p.born != 0 && time.Duration(p.termed-p.born) < Slack+c.late:
				// The signal came before the program could ask for it.
			case p.exit.Code != 0:
				c.breaks(RuleExit, p.events, "%s ended with status %d when it was told to stop", p.name, p.exit.Code)
			}
		}
		for _, e := range p.events {
			if e.Kind == Goroutines && e.N > mostGoroutines {
				c.breaks(RuleGrowth, []Event{e}, "%s has %d goroutines and nothing to do", p.name, e.N)
			}
		}
		if n := len(p.memories); n >= 20 {
			begun, now := typical(p.memories[n/10:n/10+n/4]), typical(p.memories[n-n/4:])
			if now > 2*begun+64<<20 {
				c.breaks(RuleGrowth, []Event{p.memories[n/10], p.memories[n-1]}, "%s grew from %d to %d bytes", p.name, begun, now)
			}
		}
	}
}

func typical(samples []Event) int64 {
	var values []int64
	for _, e := range samples {
		values = append(values, e.N)
	}
	slices.Sort(values)
	return values[len(values)/2]
}

// total: Redis counted at least what was acknowledged. Ticks that were taken back are
// counted, too, so there is no upper bound.
func (c *checker) total() {
	acked := int64(0)
	for _, j := range c.order {
		if len(j.acked) > 0 || len(j.runs) > 0 {
			acked++
		}
	}
	for _, e := range c.rest {
		if e.Kind == Total && e.N < acked && len(c.losses) == 0 {
			c.breaks(RuleTotal, []Event{e}, "%d jobs were created, and %d are known", e.N, acked)
		}
	}
}
