package cronexpr

import (
	"fmt"
	"strings"
	"time"
)

// A clockNote is what one kind of clock change does to an expression. Changes that
// differ in the date alone are one note.
type clockNote struct {
	before, after, hint string // the message, before and after the dates
	dates               []string
}

// clockChanges names the clock changes of the two years from now on that skip or
// repeat a wall time of the expression. Interval jobs of all 24 hours are left
// out: they just go on through a change.
func (e *Expression) clockChanges(loc *time.Location, now time.Time) []Warning {
	if !e.fixed && e.calendar.hour == span(0, 23) {
		return nil
	}
	at, end := now.Unix(), now.AddDate(2, 0, 0).Unix()
	if at < -farAway || end > farAway {
		return nil
	}
	var notes []clockNote
	for {
		c, ok := firstChange(at, end, offsetAt(at, loc), loc)
		if !ok {
			break
		}
		notes = e.note(notes, c, loc)
		at = c.at
	}
	var all []Warning
	for _, n := range notes {
		all = append(all, Warning{
			Code:    WarnClockChange,
			Message: n.before + join(n.dates, "and") + n.after,
			Hint:    n.hint,
		})
	}
	return all
}

// note adds what the change does to the expression, if anything.
func (e *Expression) note(notes []clockNote, c change, loc *time.Location) []clockNote {
	lo, hi := c.at+min(c.old, c.new), c.at+max(c.old, c.new) // the wall times concerned
	times, several, ok := e.wallTimes(lo, hi)
	if !ok {
		return notes
	}
	n := clockNote{hint: fmt.Sprintf("a time outside %s-%s, or the zone UTC, avoids it", wallClock(lo), wallClock(hi))}
	from, to := wallClock(c.at+c.old), wallClock(c.at+c.new)
	if !c.gap() && !c.repeat() {
		// A correction, of a day perhaps: times of day would not tell.
		n.hint = ""
		from, to = wallDate(c.at+c.old)+" "+from, wallDate(c.at+c.new)+" "+to
	}
	moved := fmt.Sprintf(" in %s, where the clocks go from %s to %s: ", loc, from, to)
	if c.new > c.old {
		n.before, n.after = times+" does not exist on ", moved+"it does not run"
		if several {
			n.before = times + " do not exist on "
		}
		if e.fixed && c.gap() {
			n.after = moved + "it runs once at " + wallClock(hi)
			if wallDate(lo) != wallDate(hi) {
				n.after += " of the next day"
			}
		}
	} else {
		n.before, n.after = times+" happens twice on ", moved+"it runs both times"
		if several {
			n.before = times + " happen twice on "
		}
		if e.fixed && c.repeat() {
			n.after = moved + "it runs the first time only"
		}
	}
	date := wallDate(lo)
	for i, known := range notes {
		if known.before == n.before && known.after == n.after {
			notes[i].dates = append(notes[i].dates, date)
			return notes
		}
	}
	n.dates = []string{date}
	return append(notes, n)
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
