package chaos

import (
	"fmt"
	"slices"
	"time"
)

// Slack is how much later than it might a loaded machine may do something: let a
// process that was stopped see what has become of its leases, for one.
const Slack = 1500 * time.Millisecond

// Lease is how long leases are. Whoever writes down an answer of Redis does so at most
// that much later than Redis has given it.
const Lease = 2 * time.Second

// stallFactor is how many times as late as the harness somebody else may be woken.
const stallFactor = 5

// early is by how much the clocks of one machine may differ: Redis reads whole
// microseconds, and compares milliseconds.
const early = time.Millisecond

// Violation is a rule that a history breaks.
type Violation struct {
	Rule   string
	Detail string
	// Events are those of the one job, tick or process concerned, and no others.
	Events []Event
}

func (v Violation) String() string {
	text := v.Rule + ": " + v.Detail
	for _, e := range v.Events {
		text += "\n  " + e.String()
	}
	return text
}

// run is one attempt as its worker wrote it down.
type run struct {
	Event          // Started
	ended, context *Event
	settled        []Event
}

// leased is the earliest that Redis may have leased the job to this attempt.
func (r *run) leased() int64 { return r.At - int64(Lease) }

// over is when the handler was certainly not running with a live context any more,
// by what it wrote; 0 if it wrote nothing.
func (r *run) over() int64 {
	at := int64(0)
	for _, e := range []*Event{r.ended, r.context} {
		if e != nil && (at == 0 || e.At < at) {
			at = e.At
		}
	}
	return at
}

// jobs is all that is known of one job.
type jobs struct {
	id        string
	events    []Event
	sent      []Event
	acked     []Event
	asked     bool // to be cancelled
	cancelled []Event
	runs      []*run
	final     *Event
}

type span struct{ from, to int64 }

// process is one process from its birth to its end.
type process struct {
	name     string
	born     int64
	termed   int64
	dead     int64 // killed or gone, 0 if it never was
	killed   bool
	stops    []span
	exit     *Event
	memories []Event
	events   []Event
}

// running is for how long of from … to the process could run.
func (p *process) running(from, to int64) int64 {
	if p.dead != 0 {
		to = min(to, p.dead)
	}
	total := max(to-from, 0)
	for _, s := range p.stops {
		total -= max(min(s.to, to)-max(s.from, from), 0)
	}
	return total
}

// stoppedBetween reports whether the process was stopped for some of from … to.
func (p *process) stoppedBetween(from, to int64) bool {
	return slices.ContainsFunc(p.stops, func(s span) bool { return s.from < to && s.to > from })
}

// checker is a history put in order.
type checker struct {
	jobs   map[string]*jobs
	order  []*jobs // by the first event
	procs  map[string]*process
	losses []Event
	rest   []Event
	gone   map[string]bool // ticks whose runs made room
	late   time.Duration   // as much later again a machine as busy as this one is
	end    int64
	broken []Violation
}

// Check judges a history and returns every rule that it breaks, the shortest
// violations first.
func Check(events []Event) []Violation {
	c := newChecker(events)
	for _, j := range c.order {
		c.ended(j)
		c.notEarly(j)
		c.once(j)
		c.owners(j)
		c.alone(j)
		c.notCancelled(j)
	}
	c.ticks()
	c.overlaps()
	c.lanes()
	c.samples()
	c.processes()
	c.total()
	slices.SortStableFunc(c.broken, func(a, b Violation) int { return len(a.Events) - len(b.Events) })
	return c.broken
}

func newChecker(events []Event) *checker {
	events = slices.Clone(events)
	Sort(events)
	c := &checker{jobs: map[string]*jobs{}, procs: map[string]*process{}, gone: map[string]bool{}}
	byRun := map[string]*run{}
	for _, e := range events {
		c.end = max(c.end, e.At)
		switch e.Kind {
		case Sent, Acked, Unknown, Refused, Asked, Cancelled, Started, Ended, Context, Settled, Final:
			c.ofJob(e, byRun)
		case Born, Killed, Termed, Stopped, Continued, Exited, Memory, Goroutines:
			c.ofProcess(e)
		case Loss:
			c.losses = append(c.losses, e)
		case Replaced:
			c.gone[e.ID] = true
		case Stalled:
			c.late = max(c.late, stallFactor*time.Duration(e.N))
		}
		c.rest = append(c.rest, e)
	}
	for _, p := range c.procs {
		if n := len(p.stops); n > 0 && p.stops[n-1].to == 0 {
			p.stops[n-1].to = c.end
		}
	}
	return c
}

func (c *checker) ofJob(e Event, byRun map[string]*run) {
	j := c.jobs[e.ID]
	if j == nil {
		j = &jobs{id: e.ID}
		c.jobs[e.ID] = j
		c.order = append(c.order, j)
	}
	j.events = append(j.events, e)
	r := byRun[e.Run]
	switch e.Kind {
	case Sent:
		j.sent = append(j.sent, e)
	case Acked:
		j.acked = append(j.acked, e)
	case Asked:
		j.asked = true
	case Cancelled:
		j.cancelled = append(j.cancelled, e)
	case Started:
		r = &run{Event: e}
		byRun[e.Run] = r
		j.runs = append(j.runs, r)
	case Ended:
		if r != nil {
			r.ended = &e
		}
	case Context:
		if r != nil {
			r.context = &e
		}
	case Settled:
		if r != nil {
			r.settled = append(r.settled, e)
		}
	case Final:
		j.final = &e
	}
}

func (c *checker) ofProcess(e Event) {
	p := c.procs[e.Proc]
	if p == nil {
		p = &process{name: e.Proc}
		c.procs[e.Proc] = p
	}
	p.events = append(p.events, e)
	switch e.Kind {
	case Born:
		p.born = e.At
	case Killed:
		p.dead, p.killed = e.At, true
	case Termed:
		p.termed = e.At
	case Stopped:
		p.stops = append(p.stops, span{from: e.At})
	case Continued:
		if n := len(p.stops); n > 0 && p.stops[n-1].to == 0 {
			p.stops[n-1].to = e.At
		}
	case Exited:
		if p.dead == 0 {
			p.dead = e.At
		}
		p.exit = &e
	case Memory:
		p.memories = append(p.memories, e)
	}
}

func (c *checker) breaks(rule string, events []Event, format string, args ...any) {
	c.broken = append(c.broken, Violation{rule, fmt.Sprintf(format, args...), events})
}

// lossAfter reports whether Redis may have forgotten something that was written at
// from or later, before to.
func (c *checker) lossBetween(from, to int64) bool {
	return slices.ContainsFunc(c.losses, func(l Event) bool { return from <= l.To && to >= l.From })
}

// mayBeLost reports whether Redis itself may have lost something of what was
// written about j.
func (c *checker) mayBeLost(j *jobs) bool { return c.mayBeLostBut(j, "") }

// mayBeLostBut is the same without the start of one run.
func (c *checker) mayBeLostBut(j *jobs, run string) bool {
	return slices.ContainsFunc(j.events, func(e Event) bool {
		if e.Kind == Final || e.Kind == Started && e.Run == run {
			return false
		}
		from := e.At
		if e.Kind == Started || e.Kind == Settled {
			from -= int64(Lease)
		}
		return c.lossBetween(from, e.At)
	})
}

// LostByRedis counts the acknowledged jobs of which nothing is left and that were
// acknowledged within a time that Redis may have lost. span is the longest part of
// such a time that they come from.
func LostByRedis(events []Event) (n int, span time.Duration) {
	c := newChecker(events)
	first, last := make([]int64, len(c.losses)), make([]int64, len(c.losses))
	for _, j := range c.order {
		if len(j.acked) == 0 || len(j.runs) > 0 || j.final == nil || j.final.State != "" {
			continue
		}
		at := j.acked[0].At
		i := slices.IndexFunc(c.losses, func(l Event) bool { return at >= l.From && at <= l.To })
		if i < 0 {
			continue
		}
		n++
		if first[i] == 0 {
			first[i] = at
		}
		first[i], last[i] = min(first[i], at), max(last[i], at)
		span = max(span, time.Duration(last[i]-first[i]))
	}
	return n, span
}
