package cronexpr

import "time"

const (
	// farAway bounds the instants that are looked at, some 34,000 years around
	// 1970: sums of seconds cannot overflow within it.
	farAway = int64(1) << 40
	// searchSeconds bounds the search in real time. An expression may match the
	// calendar and yet fire never: an interval job at a wall time that its zone
	// skips every year.
	searchSeconds = searchYears * 366 * secondsPerDay
)

// Next returns the first instant strictly after the given one at which the
// expression fires on the wall clock of loc (nil means UTC). It is a whole second,
// given in loc. It is the zero time if there is none within 400 years, which is
// only so for interval jobs whose every wall time is skipped by the zone, and for
// instants more than 34,000 years away.
func (e *Expression) Next(after time.Time, loc *time.Location) time.Time {
	if loc == nil {
		loc = time.UTC
	}
	unix := after.Unix()
	if unix < -farAway || unix > farAway {
		return time.Time{}
	}
	if e.every > 0 {
		d := int64(e.every / time.Second)
		return time.Unix((floorDiv(unix, d)+1)*d, 0).In(loc)
	}
	next, ok := e.next(unix, loc)
	if !ok {
		return time.Time{}
	}
	return time.Unix(next, 0).In(loc)
}

// next is Next in Unix seconds.
//
// It walks through stretches of time in which the offset is constant. Within one,
// real time and wall time differ by a constant, so the calendar's next wall time
// gives the next instant, provided that the offset does not change before it.
func (e *Expression) next(after int64, loc *time.Location) (int64, bool) {
	limit := after + searchSeconds
	at := after // everything up to at has been searched
	offset := offsetAt(at, loc)
	from := at + 1  // the first instant that may be the result
	silent := after // a fixed job does not fire before this instant: second pass
	if e.fixed {
		silent = repeatedUntil(at, offset, loc)
	}
	for {
		wall, ok := e.calendar.next(max(from, silent) + offset)
		if !ok {
			return 0, false
		}
		candidate := wall - offset
		if candidate > limit {
			return 0, false
		}
		// Changes in the middle of a long wait cannot matter, because no wall time
		// between here and there matches: neither skipped nor repeated ones.
		end := candidate
		far := candidate-at > 2*horizon
		if far {
			end = at + horizon
		}
		if c, found := firstChange(at, end, offset, loc); found {
			if e.fixed && c.gap() && wall < c.at+c.new {
				return c.at, true // skipped: made up at the first instant after
			}
			if e.fixed && c.repeat() {
				silent = c.at + c.old - c.new
			}
			at, from, offset = c.at, c.at, c.new
			continue
		}
		if !far {
			return candidate, true
		}
		at = candidate - horizon
		from, offset = at, offsetAt(at, loc)
	}
}
