package scheduler

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
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
	// mostMissed bounds how many missed ticks one call settles; a longer outage
	// takes several.
	mostMissed = 20_000
	// lateAtMost is when a tick that has not reached its lane counts as missed,
	// unless half the time to the next tick is shorter.
	lateAtMost = time.Minute
)

// Validate reports what is wrong with a definition.
func (d Definition) Validate() error {
	_, err := newPlan(d)
	return err
}

// Next returns the first instant after t at which the definition has a tick, in its
// zone; zero if it has none. A suspended definition has its ticks all the same.
func (d Definition) Next(t time.Time) (time.Time, error) {
	p, err := newPlan(d)
	if err != nil {
		return time.Time{}, err
	}
	return p.next(t), nil
}

// plan is a definition that can be asked for its ticks. It is immutable but for
// the part that mirrors Redis.
type plan struct {
	def Definition
	set *cronexpr.Set

	incarnation, number string
	cursor              int64 // unix ms; the newest tick planned or settled
}

func newPlan(def Definition) (*plan, error) {
	errs := []error{job.CheckSchedule(def.Name), job.CheckName(def.Job), job.CheckArgs(def.Args)}
	if def.Queue != "" {
		errs = append(errs, job.CheckQueue(def.Queue))
	}
	zone := def.TimeZone
	if zone == "" {
		zone = "UTC"
	}
	loc, err := time.LoadLocation(zone)
	if zone == "Local" { // another one on each machine
		err = errors.New(`time zone "Local" is not allowed: give an IANA name such as "Europe/Berlin"`)
	}
	errs = append(errs, err)
	if len(def.Schedule) == 0 {
		errs = append(errs, errors.New("no expression"))
	}
	var expressions []*cronexpr.Expression
	for _, text := range def.Schedule {
		e, err := cronexpr.Parse(text)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		expressions = append(expressions, e)
	}
	if err := errors.Join(errs...); err != nil {
		return nil, fmt.Errorf("schedule %q: %w", def.Name, err)
	}
	return &plan{def: def, set: cronexpr.NewSet(loc, expressions...)}, nil
}

// next is the first tick after t; zero if there is none.
func (p *plan) next(t time.Time) time.Time { return p.set.Next(t) }

// walk goes from tick to tick, knowing the two that follow.
type walk struct {
	p                      *plan
	tick, following, after time.Time
}

// walkFrom stands at the first tick after t.
func (p *plan) walkFrom(t time.Time) *walk {
	w := &walk{p: p, tick: p.next(t)}
	w.following = w.then(w.tick)
	w.after = w.then(w.following)
	return w
}

func (w *walk) then(t time.Time) time.Time {
	if t.IsZero() {
		return t
	}
	return w.p.next(t)
}

func (w *walk) advance() {
	w.tick, w.following, w.after = w.following, w.after, w.then(w.after)
}

// superseded is when the tick is no longer worth running, because the one after it
// has been missed too: that one's instant plus the time it may take to its lane.
// Zero if no tick follows.
func (w *walk) superseded() time.Time {
	if w.following.IsZero() {
		return time.Time{}
	}
	limit := lateAtMost
	if !w.after.IsZero() {
		limit = min(limit, w.after.Sub(w.following)/2)
	}
	return w.following.Add(limit)
}

// room reports whether one more job may go with n others in one call.
func (p *plan) room(n int) bool {
	return n == 0 || n < mostTicks && (n+1)*len(p.def.Args) <= scripts.EnqueueBytes
}

// expand computes what to plan between the cursor and now + horizon. Of the ticks
// that were missed, while nobody planned, only the newest still runs. ok is false
// when there is nothing to do.
func (p *plan) expand(now time.Time) (e scripts.Expansion, ok bool) {
	e = scripts.Expansion{Schedule: p.def.Name, Number: p.number, Cursor: p.cursor, Next: p.cursor}
	until := now
	if !p.def.Suspend {
		until = now.Add(horizon)
		// Planned far enough already: wait until half of it is used up, so that a
		// schedule of every second is planned in batches.
		if first := p.next(time.UnixMilli(p.cursor)); first.After(now.Add(horizon/2)) && p.cursor > now.UnixMilli() {
			return e, false
		}
	}
	w := p.walkFrom(time.UnixMilli(p.cursor))
	for seen := 0; seen < mostMissed && p.room(len(e.Ticks)); seen++ {
		tick := w.tick
		if tick.IsZero() {
			break
		}
		passed := !tick.After(now)
		if tick.After(until) {
			// At least the next tick is always planned.
			if p.def.Suspend || len(e.Ticks) > 0 || e.Next > now.UnixMilli() {
				break
			}
		}
		switch superseded := w.superseded(); {
		case passed && (p.def.Suspend || !superseded.IsZero() && !superseded.After(now)):
			e.Missed++
		default:
			e.Ticks = append(e.Ticks, p.job(tick, superseded))
		}
		e.Next = tick.UnixMilli()
		w.advance()
	}
	return e, e.Next != e.Cursor
}

// maybePlanned lists, as jobs, the ticks that this or another scheduler may have
// planned: another's cursor is not known here until the next conflict.
func (p *plan) maybePlanned(now time.Time) []scripts.NewJob {
	until := max(p.cursor, now.Add(horizon+10*time.Second).UnixMilli())
	var jobs []scripts.NewJob
	for w := p.walkFrom(now); !w.tick.IsZero() && len(jobs) < 2*mostTicks; w.advance() {
		if w.tick.UnixMilli() > until && len(jobs) > 0 {
			break
		}
		jobs = append(jobs, p.job(w.tick, w.superseded()))
	}
	return jobs
}

// job is the job of one tick. Its id is the same whoever computes it.
func (p *plan) job(tick, superseded time.Time) scripts.NewJob {
	queue := p.def.Queue
	if queue == "" {
		queue = job.DefaultQueue
	}
	return scripts.NewJob{
		ID:    tickID(p.def.Name, tick),
		Queue: queue, Name: p.def.Job, Args: p.def.Args, Trigger: job.TriggerSchedule, At: tick,
		MaxAttempts: p.def.MaxAttempts, Timeout: p.def.Timeout, MinBackoff: p.def.MinBackoff, MaxBackoff: p.def.MaxBackoff,
		Schedule: p.def.Name, Incarnation: p.incarnation, Tick: tick, Superseded: superseded,
	}
}

// encode is the definition as Redis keeps it.
func (d Definition) encode() string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(d) // checked args and plain values always encode
	return strings.TrimSuffix(b.String(), "\n")
}

func decodeDefinition(text string) (Definition, error) {
	var d Definition
	err := json.Unmarshal([]byte(text), &d)
	return d, err
}

// same reports whether two definitions mean the same, wherever they stand.
func same(a, b Definition) bool {
	return sameTimes(a, b) && a.Queue == b.Queue && a.Job == b.Job && bytes.Equal(compact(a.Args), compact(b.Args)) &&
		a.Timeout == b.Timeout && a.MaxAttempts == b.MaxAttempts && a.MinBackoff == b.MinBackoff && a.MaxBackoff == b.MaxBackoff &&
		a.Description == b.Description && a.Owner == b.Owner && a.Runbook == b.Runbook && maps.Equal(a.Labels, b.Labels)
}

// sameTimes reports whether two definitions have the same ticks.
func sameTimes(a, b Definition) bool {
	return slices.Equal(a.Schedule, b.Schedule) && a.TimeZone == b.TimeZone && a.Suspend == b.Suspend
}

func compact(args json.RawMessage) []byte {
	var b bytes.Buffer
	if len(args) == 0 || json.Compact(&b, args) != nil {
		return []byte("null")
	}
	return b.Bytes()
}
