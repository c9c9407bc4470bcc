package cronexpr

import "time"

// What is known of a zone is found by asking for its offset at single instants.
// Time.ZoneBounds would answer with the next change at once, but for years after
// 2037 its end may lie before the instant asked for (golang/go#81583), and a search
// that trusts it never returns.

const (
	// probeStep is how far apart a zone is asked for its offset. Two changes that
	// cancel each other within one step would be overlooked. The closest such pair
	// in the time zone database is 95 hours apart (Freetown 1939), the closest one
	// since 1970 a week.
	probeStep = 48 * 60 * 60
	// horizon is more than any two offsets differ by (they lie within 16 hours of
	// UTC): a wall time lies within it of the instant that shows it, whatever
	// changes come between.
	horizon = 48 * 60 * 60
	// correction is the size from which a change is no daylight saving.
	correction = 3 * 60 * 60
)

// change is an instant from which on a zone has another offset.
type change struct {
	at       int64 // Unix seconds, the first with the new offset
	old, new int64 // offsets in seconds east of UTC
}

// gap reports whether the change skips wall times that fixed jobs make up for.
func (c change) gap() bool { return c.new > c.old && c.new-c.old < correction }

// repeat reports whether the change repeats wall times that fixed jobs have had.
func (c change) repeat() bool { return c.new < c.old && c.old-c.new < correction }

func offsetAt(unix int64, loc *time.Location) int64 {
	_, offset := time.Unix(unix, 0).In(loc).Zone()
	return int64(offset)
}

// firstChange returns the first change in (from, to]; offset is the one in force
// at from.
func firstChange(from, to, offset int64, loc *time.Location) (change, bool) {
	for lo := from; lo < to; {
		hi := min(lo+probeStep, to)
		if offsetAt(hi, loc) != offset {
			return pinpoint(lo, hi, offset, loc), true
		}
		lo = hi
	}
	return change{}, false
}

// pinpoint finds the change in (lo, hi] by halving; the offset at lo is the given
// one, that at hi is not.
func pinpoint(lo, hi, offset int64, loc *time.Location) change {
	for hi-lo > 1 {
		middle := lo + (hi-lo)/2
		if offsetAt(middle, loc) == offset {
			lo = middle
		} else {
			hi = middle
		}
	}
	return change{at: hi, old: offset, new: offsetAt(hi, loc)}
}

// repeatedUntil returns the end of the second pass of repeated wall times that
// unix lies in, or unix itself.
func repeatedUntil(unix, offset int64, loc *time.Location) int64 {
	before := unix - correction
	if old := offsetAt(before, loc); old > offset {
		c := pinpoint(before, unix, old, loc)
		if c.repeat() {
			return max(unix, c.at+c.old-c.new)
		}
	}
	return unix
}
