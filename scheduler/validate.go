package scheduler

import (
	"cmp"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/bide-go/bide/internal/cronexpr"
	"github.com/bide-go/bide/internal/duration"
	"github.com/bide-go/bide/job"
)

// The largest values of a definition.
const (
	MaxHistory = 1000
	// MaxPauseAfterFailures bounds Definition.PauseAfterFailures.
	MaxPauseAfterFailures = 1_000_000
)

// Validate reports what is wrong with a definition: all of it, joined. What concerns
// one field of a policy is a *job.InvalidError with the field's name in
// schedules.yaml: concurrencyPolicy, catchUp, startingDeadline, jitter, startAt,
// endAt, history or pauseAfterFailures.
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

// newPlan checks a definition and makes it ready to be asked.
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
	p := &plan{def: def, set: cronexpr.NewSet(loc, expressions...)}
	if len(expressions) == 1 {
		p.every = expressions[0].Every()
	}
	errs = append(errs, def.checkPolicies())
	if err := errors.Join(errs...); err == nil {
		errs = append(errs, p.checkWindow(), p.checkJitter())
	}
	if err := errors.Join(errs...); err != nil {
		return nil, fmt.Errorf("schedule %q: %w", def.Name, err)
	}
	return p, nil
}

// checkPolicies looks at each field of the policies by itself.
func (d Definition) checkPolicies() error {
	var errs []error
	wrong := func(field, value, rule string) {
		errs = append(errs, &job.InvalidError{Field: field, Value: value, Rule: rule})
	}
	switch d.ConcurrencyPolicy {
	case "", Allow, Forbid, Replace, Queue:
	default:
		wrong("concurrencyPolicy", string(d.ConcurrencyPolicy), "must be Allow, Forbid, Replace or Queue")
	}
	switch d.CatchUp {
	case "", Skip, Latest, All:
	default:
		wrong("catchUp", string(d.CatchUp), "must be Skip, Latest or All")
	}
	if d.StartingDeadline != 0 && d.StartingDeadline < time.Second {
		wrong("startingDeadline", d.StartingDeadline.String(), "must be at least 1s")
	}
	if d.Jitter < 0 {
		wrong("jitter", d.Jitter.String(), "must not be negative")
	}
	if deadline := cmp.Or(d.StartingDeadline, DefaultStartingDeadline); d.Jitter >= deadline {
		wrong("jitter", duration.Format(d.Jitter), "must be below startingDeadline, which is "+duration.Format(deadline))
	}
	if h := d.history(); h.Successful < 0 || h.Failed < 0 || h.Successful > MaxHistory || h.Failed > MaxHistory {
		wrong("history", fmt.Sprintf("%d, %d", h.Successful, h.Failed), "must be 0 to 1000 each")
	}
	if n := d.PauseAfterFailures; n < 0 || n > MaxPauseAfterFailures {
		wrong("pauseAfterFailures", strconv.Itoa(n), fmt.Sprintf("must be 0 to %d", MaxPauseAfterFailures))
	}
	if !d.StartAt.IsZero() && !d.EndAt.IsZero() && d.EndAt.Before(d.StartAt) {
		wrong("endAt", d.EndAt.Format(time.RFC3339), "is before startAt")
	}
	return errors.Join(errs...)
}

// checkWindow refuses a window without a tick. Without a beginning it is open to the
// past: a schedule that has ended is none without a tick.
func (p *plan) checkWindow() error {
	d := p.def
	if d.StartAt.IsZero() && d.EndAt.IsZero() {
		return nil
	}
	if from := d.StartAt; !p.next(from.Add(-1)).IsZero() || from.IsZero() && !p.next(time.Unix(0, 0)).IsZero() {
		return nil
	}
	if d.EndAt.IsZero() {
		return &job.InvalidError{Field: "startAt", Value: d.StartAt.Format(time.RFC3339), Rule: "has no tick after it"}
	}
	return &job.InvalidError{Field: "endAt", Value: d.EndAt.Format(time.RFC3339), Rule: "leaves no tick in the window"}
}

// checkJitter refuses a jitter that could bring ticks out of their order.
func (p *plan) checkJitter() error {
	d := p.def
	if d.Jitter < time.Second {
		return nil
	}
	if shortest := p.set.Shortest(); shortest > 0 && d.Jitter >= shortest {
		return &job.InvalidError{
			Field: "jitter", Value: duration.Format(d.Jitter),
			Rule: "must be below the shortest time between two ticks, which is " + duration.Format(shortest),
		}
	}
	return nil
}
