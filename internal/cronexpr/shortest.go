package cronexpr

import (
	"math"
	"time"
)

const (
	// intervalYear is where intervals are looked at: it begins a cycle of leap
	// years. A fixed one, so that everybody comes to the same answer at any time.
	intervalYear = 2024
	intervalFrom = int64(19723) * secondsPerDay // 1 January of it
	// The clock changes of these years are looked at.
	changesFrom, changesUntil = intervalFrom + 2*365*secondsPerDay, intervalFrom + 4*365*secondsPerDay
	// intervalYears is after how many years dates fall on the same week days again.
	intervalYears = 28
	// Of a set, that many expressions are compared with each other, and of each
	// pair that many ticks of the one that fires less often.
	comparedExpressions = 8
	comparedTicks       = 120
	// And so many instants around a clock change.
	changeTicks = 200
)

// Shortest returns the shortest time between two instants of the set: by the
// calendar, and around the clock changes of two years, in which fixed times move
// together and repeated ones come closer. It is zero if there are less than two.
// By the calendar it is exact for one expression; of several, it looks at the first
// ones, and at the instants of some hundred days.
func (s *Set) Shortest() time.Duration {
	best := int64(math.MaxInt64)
	for _, e := range s.expressions {
		best = min(best, e.shortest())
	}
	if best == math.MaxInt64 {
		return 0
	}
	few := s.expressions[:min(len(s.expressions), comparedExpressions)]
	for i, a := range few {
		for _, b := range few[:i] {
			best = closest(a, b, best)
		}
	}
	first := Set{s.loc, few}
	for at := changesFrom; ; {
		c, ok := firstChange(at, changesUntil, offsetAt(at, s.loc), s.loc)
		if !ok {
			break
		}
		best, at = first.shortestAround(c, best), c.at
	}
	return time.Duration(best) * time.Second
}

// shortestAround looks at the instants around a clock change, which are in real time.
func (s *Set) shortestAround(c change, best int64) int64 {
	shift := max(c.new-c.old, c.old-c.new)
	at := s.Next(time.Unix(c.at-shift-best-1, 0))
	for range changeTicks {
		next := s.Next(at)
		if at.IsZero() || next.IsZero() || at.Unix() > c.at+shift {
			break
		}
		best, at = min(best, next.Unix()-at.Unix()), next
	}
	return best
}

// shortest is in seconds; huge if the expression fires once.
func (e *Expression) shortest() int64 {
	if e.every > 0 {
		return int64(e.every / time.Second)
	}
	// From the fine to the coarse: two values next to each other in one field, the
	// finer fields going from their last value to their first.
	c := &e.calendar
	best, width := int64(math.MaxInt64), int64(0)
	for _, f := range []struct {
		set  bitset
		unit int64
	}{{c.second, 1}, {c.minute, 60}, {c.hour, 3600}} {
		lo, hi, gap := f.set.bounds()
		if gap > 0 {
			best = min(best, gap*f.unit-width)
		}
		width += (hi - lo) * f.unit
	}
	if best <= secondsPerDay-width {
		return best // the days cannot be closer
	}
	if days := c.closestDays(); days > 0 {
		best = min(best, days*secondsPerDay-width)
	}
	return best
}

// bounds returns the smallest and the largest member and the shortest distance
// between two of them; zero if there is one only.
func (b bitset) bounds() (lo, hi, gap int64) {
	values := b.list()
	for i, v := range values[1:] {
		if d := int64(v - values[i]); gap == 0 || d < gap {
			gap = d
		}
	}
	return int64(values[0]), int64(values[len(values)-1]), gap
}

// closestDays is the shortest distance between two matching days; zero if there is
// one only.
func (c *calendar) closestDays() int64 {
	best, last := int64(0), int64(-1)
	for year := intervalYear; year <= intervalYear+searchYears; year++ {
		if best > 0 && year > intervalYear+intervalYears {
			break
		}
		for month := time.January; month <= time.December; month++ {
			if !c.month.has(int(month)) {
				continue
			}
			first := dayNumber(year, month) - 1
			days := c.days(first+1, year, month)
			for d, ok := days.from(1); ok; d, ok = days.from(d + 1) {
				at := first + int64(d)
				if apart := at - last; last >= 0 && (best == 0 || apart < best) {
					best = apart
				}
				if last = at; best == 1 {
					return best
				}
			}
		}
	}
	return best
}

// closest is the shortest time between an instant of a and another one of b, if it
// is below best, which is at most the shortest of each.
func closest(a, b *Expression, best int64) int64 {
	if a.after(intervalFrom, comparedExpressions) < b.after(intervalFrom, comparedExpressions) {
		a, b = b, a // a fires less often
	}
	at := intervalFrom
	for range comparedTicks {
		at = a.after(at, 1)
		if best <= 1 || at == math.MaxInt64 {
			break
		}
		for near := b.after(at-best, 1); near < at+best; near = b.after(near, 1) {
			if near != at {
				best = max(near-at, at-near)
			}
		}
	}
	return best
}

// after is the n-th wall time after the given one at which the expression fires.
func (e *Expression) after(wall int64, n int) int64 {
	for range n {
		if e.every > 0 {
			d := int64(e.every / time.Second)
			wall = (floorDiv(wall, d) + 1) * d
			continue
		}
		next, ok := e.calendar.next(wall + 1)
		if !ok {
			return math.MaxInt64
		}
		wall = next
	}
	return wall
}
