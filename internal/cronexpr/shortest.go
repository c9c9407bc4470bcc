package cronexpr

import (
	"math"
	"time"
)

const (
	// intervalFrom is where ticks are looked at, 1 January 2024. A fixed instant, so
	// that everybody comes to the same answer at any time.
	intervalFrom = int64(19723) * secondsPerDay
	// The clock changes of these years are looked at.
	changesFrom, changesUntil = intervalFrom + 2*365*secondsPerDay, intervalFrom + 4*365*secondsPerDay
	// intervalDays is after how many days dates fall on the same week days again.
	intervalDays = 28*365 + 7
	// Of a set, that many expressions are compared with each other, and of each
	// pair that many ticks of the one that fires less often.
	comparedExpressions = 8
	comparedTicks       = 120
	// And so many instants around a clock change.
	changeTicks = 200
)

// Shortest returns the shortest time between two instants of the set: by the
// calendar, and around the clock changes of two years, in which fixed times move
// together and repeated ones come closer. It is zero without expressions.
// By the calendar it is exact for one expression; of several, it looks at the first
// ones, and at the instants of some hundred days.
func (s *Set) Shortest() time.Duration {
	if len(s.expressions) == 0 {
		return 0
	}
	b := bounds{}
	for _, e := range s.expressions {
		b.see(e.shortest())
	}
	few := Set{s.loc, s.expressions[:min(len(s.expressions), comparedExpressions)]}
	for i, x := range few.expressions {
		for _, y := range few.expressions[:i] {
			b.see(closest(x, y, b.least))
		}
	}
	for _, c := range changesIn(time.Unix(changesFrom, 0), time.Unix(changesUntil, 0), s.loc) {
		left := changeTicks
		next := func(at int64) (int64, bool) {
			left--
			next := few.Next(time.Unix(at, 0))
			return next.Unix(), left >= 0 && !next.IsZero()
		}
		if first, ok := next(c.at - max(c.new-c.old, c.old-c.new) - b.least - 1); ok {
			b.around(c, first, next)
		}
	}
	return time.Duration(b.least) * time.Second
}

// shortest is that of the calendar, in seconds.
func (e *Expression) shortest() int64 {
	if e.every > 0 {
		return int64(e.every / time.Second)
	}
	b := bounds{}
	width := e.calendar.withinDay(&b)
	if b.least > 0 && b.least <= secondsPerDay-width {
		return b.least // the days cannot be closer
	}
	var seen int64
	for days := range e.calendar.daysApart {
		b.see(days*secondsPerDay - width)
		if seen += days; days == 1 || seen > intervalDays {
			break
		}
	}
	return b.least
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
