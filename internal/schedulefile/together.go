package schedulefile

import (
	"fmt"
	"strings"
	"time"

	"go.yaml.in/yaml/v4"

	"github.com/bide-go/bide/internal/cronexpr"
	"github.com/bide-go/bide/internal/duration"
	"github.com/bide-go/bide/scheduler"
)

// findTicks reads what needs the zone of the schedule: its bounds and its ticks.
func (e *entry) findTicks(s scope) {
	if e.own.timeZone != "" {
		e.loc, _ = time.LoadLocation(e.own.timeZone) // that it loads has been checked
	}
	if p := e.known.get("startAt"); p != nil {
		e.def.StartAt = s.child("startAt").instant(*p, e.own.timeZone)
	}
	if p := e.known.get("endAt"); p != nil {
		e.def.EndAt = s.child("endAt").instant(*p, e.own.timeZone)
	}
	if e.loc == nil || e.exprsBad || len(e.exprs) == 0 {
		return
	}
	var list []*cronexpr.Expression
	for _, x := range e.exprs {
		list = append(list, x.parsed)
	}
	e.ticks = cronexpr.NewSet(e.loc, list...)
}

// checkTogether makes the checks that need more than one field.
func (e *entry) checkTogether(s scope) {
	for _, x := range e.exprs {
		x.warnings(e.loc, e.opt.Now, &e.def)
	}
	if p := e.known.get("suspend"); p != nil && e.def.Suspend && strings.TrimSpace(e.def.Description) == "" {
		s.child("suspend").warn("W111", p.key, s.root+" is suspended without a description", "say why in description")
	}
	e.checkWindow(s)
	e.checkIntervals(s)
	e.checkArgs(s)
	e.checkSecrets(s)
}

// checkWindow looks for a tick between startAt and endAt. A window that is over is
// no mistake: the file would turn bad by itself.
func (e *entry) checkWindow(s scope) {
	start, end := e.known.get("startAt"), e.known.get("endAt")
	if start == nil || end == nil || e.def.StartAt.IsZero() || e.def.EndAt.IsZero() {
		return
	}
	s = s.child("endAt")
	if e.def.EndAt.Before(e.def.StartAt) {
		s.fail("E018", end.at(), fmt.Sprintf("%s (%s) is before startAt (%s)", s.label(), end.value.Value, start.value.Value), "swap them")
		return
	}
	if e.ticks == nil {
		return
	}
	first := e.ticks.Next(e.def.StartAt.Add(-1))
	if !first.IsZero() && !first.After(e.def.EndAt) {
		return
	}
	hint := "leave the window out"
	if !first.IsZero() {
		hint = "the first one after startAt is at " + first.Format(time.RFC3339)
	}
	s.fail("E018", end.at(), fmt.Sprintf("%s: there is no tick between startAt (%s) and endAt (%s)", s.label(), start.value.Value, end.value.Value), hint)
}

// frequent is the interval below which making up for every missed tick deserves a
// second look, and so many schedules on one minute do not.
const frequent = 5 * time.Minute

// checkIntervals compares what the schedule allows itself with the time between its
// ticks.
func (e *entry) checkIntervals(s scope) {
	e.checkDeadline(s)
	timeout := e.given("timeout") && e.own.timeout > 0 && e.own.concurrency == scheduler.Forbid
	all := e.own.catchUp == scheduler.All
	if e.ticks == nil || e.own.jitter <= 0 && !timeout && !all {
		return
	}
	shortest := e.ticks.Shortest()
	if shortest == 0 {
		return
	}
	if e.own.jitter >= shortest {
		message := fmt.Sprintf("%s (%s) must be below the shortest interval, which is %s", s.child("jitter").label(), duration.Format(e.own.jitter), duration.Format(shortest))
		hint := fmt.Sprintf("for example %q", duration.Format(shortest/2))
		if e.known.get("jitter") == nil {
			message = fmt.Sprintf("the default jitter (%s) must be below the shortest interval of %s, which is %s", duration.Format(e.own.jitter), s.root, duration.Format(shortest))
			hint = `write "jitter: 0s" in this schedule, or a shorter one`
		}
		s.child("jitter").fail("E017", e.place("jitter"), message, hint)
	}
	if timeout && e.own.timeout >= shortest {
		s.child("timeout").warn("W106", e.place("timeout"), fmt.Sprintf("%s (%s) is not below the shortest interval (%s): under Forbid, a run that takes so long skips the next tick",
			s.child("timeout").label(), duration.Format(e.own.timeout), duration.Format(shortest)), "shorten the timeout, or choose another concurrencyPolicy")
	}
	if all && shortest < frequent {
		s.child("catchUp").warn("W108", e.place("catchUp"), fmt.Sprintf("catchUp All in %s, whose ticks may be %s apart: after an outage up to 100 missed ones run", s.root, duration.Format(shortest)),
			`"Latest" runs the newest one only`)
	}
}

// checkDeadline refuses a jitter that may start a run when it is too late to.
func (e *entry) checkDeadline(s scope) {
	deadline := e.own.startingDeadline
	if deadline == 0 {
		deadline = scheduler.DefaultStartingDeadline
	}
	if e.own.jitter < deadline || e.own.jitter == 0 {
		return
	}
	s.child("jitter").fail("E017", e.place("jitter"), fmt.Sprintf("%s (%s) must be below startingDeadline, which is %s: a run would be too late before it is due",
		s.child("jitter").label(), duration.Format(e.own.jitter), duration.Format(deadline)), "shorten it, or write a longer startingDeadline")
}

// given reports whether the entry or the defaults of its file set the field.
func (e *entry) given(name string) bool {
	return e.known.get(name) != nil || e.defaults.given.get(name) != nil
}

// place is where a problem with the field is shown: at its expressions, if the field
// is a default.
func (e *entry) place(name string) *yaml.Node {
	for _, name := range []string{name, "schedule"} {
		if p := e.known.get(name); p != nil {
			return p.at()
		}
	}
	return nil // an entry without a schedule has no ticks to compare with
}
