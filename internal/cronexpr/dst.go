package cronexpr

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// ClockChange is a change of a zone's clocks and what it does to an expression.
type ClockChange struct {
	At       time.Time // the first instant with the new offset, in the zone
	From, To string    // what the clocks show then and what they are set to: "02:00", "03:00"
	Date     string    // the date of the wall times skipped or repeated: "2027-03-28"
	// Effect is what happens to the runs: "02:30 does not exist: it runs once at
	// 03:00". Without an effect on single times it says so.
	Effect string
	// Touched says that there are such times: a run is skipped, moved or repeated.
	Touched bool
}

// String is the whole in one line.
func (c ClockChange) String() string {
	return fmt.Sprintf("the clocks go from %s to %s on %s in %s; %s", c.From, c.To, c.Date, c.At.Location(), c.Effect)
}

// ClockChanges lists the changes of the clocks of loc (nil means UTC) in (from, to],
// oldest first, with what each does to the expression.
func (e *Expression) ClockChanges(loc *time.Location, from, to time.Time) []ClockChange {
	if loc == nil {
		loc = time.UTC
	}
	var all []ClockChange
	for _, c := range changesIn(from, to, loc) {
		n, touched := e.note(c)
		effect := n.times + n.happens + ": " + n.effect
		switch {
		case touched:
		case e.every > 0:
			effect = "it counts on in real time"
		case e.always():
			effect = "it goes on without a break"
		default:
			effect = "no run is skipped or repeated"
		}
		all = append(all, ClockChange{
			At: time.Unix(c.at, 0).In(loc), From: n.from, To: n.to, Date: n.date, Effect: effect, Touched: touched,
		})
	}
	return all
}

// always reports an interval job of all 24 hours, which just goes on through a
// change.
func (e *Expression) always() bool { return !e.fixed && e.calendar.hour == span(0, 23) }

// A clockNote is what a clock change does to an expression. Changes that differ in
// the date alone become one warning.
type clockNote struct {
	date, from, to         string // of the change
	times, happens, effect string // of the runs; empty if it does nothing
	hint                   string
}

// clockChanges names the clock changes in (from, to] that skip or repeat a wall time
// of the expression. Interval jobs of all 24 hours are left out.
func (e *Expression) clockChanges(loc *time.Location, from, to time.Time) []Warning {
	type group struct {
		clockNote
		dates []string
	}
	var groups []group
	for _, c := range changesIn(from, to, loc) {
		n, ok := e.note(c)
		if !ok {
			continue
		}
		date := n.date
		n.date = ""
		i := slices.IndexFunc(groups, func(g group) bool { return g.clockNote == n })
		if i < 0 {
			i = len(groups)
			groups = append(groups, group{clockNote: n})
		}
		groups[i].dates = append(groups[i].dates, date)
	}
	var all []Warning
	for _, g := range groups {
		all = append(all, Warning{
			Code: WarnClockChange,
			Message: fmt.Sprintf("%s%s on %s in %s, where the clocks go from %s to %s: %s",
				g.times, g.happens, join(g.dates, "and"), loc, g.from, g.to, g.effect),
			Hint: g.hint,
		})
	}
	return all
}

// note tells what the change does to the expression. It reports false if that is
// nothing; the change itself is described all the same.
func (e *Expression) note(c change) (clockNote, bool) {
	lo, hi := c.at+min(c.old, c.new), c.at+max(c.old, c.new) // the wall times concerned
	n := clockNote{date: wallDate(lo), from: wallClock(c.at + c.old), to: wallClock(c.at + c.new)}
	n.hint = fmt.Sprintf("a time outside %s-%s, or the zone UTC, avoids it", wallClock(lo), wallClock(hi))
	if !c.gap() && !c.repeat() {
		// A correction, of a day perhaps: times of day would not tell.
		n.hint = ""
		n.from, n.to = wallDate(c.at+c.old)+" "+n.from, wallDate(c.at+c.new)+" "+n.to
	}
	if e.every > 0 || e.always() {
		return n, false
	}
	times, several, ok := e.wallTimes(lo, hi)
	if !ok {
		return n, false
	}
	n.times = times
	switch skipped := c.new > c.old; {
	case skipped && several:
		n.happens = " do not exist"
	case skipped:
		n.happens = " does not exist"
	case several:
		n.happens = " happen twice"
	default:
		n.happens = " happens twice"
	}
	switch {
	case e.fixed && c.gap():
		n.effect = "it runs once at " + wallClock(hi)
		if wallDate(lo) != wallDate(hi) {
			n.effect += " of the next day"
		}
	case c.new > c.old:
		n.effect = "it does not run"
	case e.fixed && c.repeat():
		n.effect = "it runs the first time only"
	default:
		n.effect = "it runs both times"
	}
	return n, true
}

// wallTimes lists the expression's wall times in [lo, hi), the first three by name.
// It reports whether there are several, and whether there are any.
func (e *Expression) wallTimes(lo, hi int64) (text string, several, found bool) {
	const most = 3
	var times []string
	for wall := lo; len(times) <= most; wall++ {
		next, ok := e.calendar.next(wall)
		if !ok || next >= hi {
			break
		}
		times = append(times, wallClock(next))
		wall = next
	}
	if len(times) > most {
		return strings.Join(times[:most], ", ") + " and others", true, true
	}
	return join(times, "and"), len(times) > 1, len(times) > 0
}

func wallClock(wall int64) string { return clock(int(floorMod(wall, secondsPerDay))) }

func wallDate(wall int64) string { return time.Unix(wall, 0).UTC().Format(time.DateOnly) }
