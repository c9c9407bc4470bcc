package cronexpr

import "time"

// Intervals returns the shortest and the longest time between two runs on the wall
// clock of loc (nil means UTC): over the whole calendar, and around the clock
// changes of the two years from now on as they really are.
func (e *Expression) Intervals(loc *time.Location, now time.Time) (shortest, longest time.Duration) {
	if e.every > 0 {
		return e.every, e.every
	}
	if loc == nil {
		loc = time.UTC
	}
	b := bounds{}
	width := e.calendar.withinDay(&b)
	for days := range e.calendar.daysApart {
		b.see(days*secondsPerDay - width)
	}
	for _, c := range changes(now, loc) {
		if at, ok := e.before(c.at, b.most, loc); ok {
			b.around(c, at, func(at int64) (int64, bool) { return e.next(at, loc) })
		}
	}
	return time.Duration(b.least) * time.Second, time.Duration(b.most) * time.Second
}

// bounds are the shortest and longest of what it was shown, in seconds; zero before.
type bounds struct{ least, most int64 }

func (b *bounds) see(seconds int64) {
	if b.most == 0 || seconds < b.least {
		b.least = seconds
	}
	b.most = max(b.most, seconds)
}

// around shows b the pauses between real instants from at, which is one, to the first
// beyond the wall times that a clock change concerns.
func (b *bounds) around(c change, at int64, next func(at int64) (int64, bool)) {
	for until := c.at + max(c.new-c.old, c.old-c.new); at < until; {
		later, ok := next(at)
		if !ok {
			return
		}
		b.see(later - at)
		at = later
	}
}

// withinDay shows b the pauses within a day, and returns how long it is from its first
// match to its last.
func (c *calendar) withinDay(b *bounds) (width int64) {
	// From the fine to the coarse: two values next to each other in one field, the
	// finer fields going from their last value to their first.
	for _, f := range []struct {
		set  bitset
		unit int64
	}{{c.second, 1}, {c.minute, 60}, {c.hour, 3600}} {
		values := f.set.list()
		for i, v := range values[1:] {
			b.see(int64(v-values[i])*f.unit - width)
		}
		width += int64(values[len(values)-1]-values[0]) * f.unit
	}
	return width
}

// daysApart yields the distance between every two matching days that follow each
// other, over one cycle of the calendar, after which it repeats.
func (c *calendar) daysApart(yield func(days int64) bool) {
	const begin, years = 2000, 400
	var first, last int64 = -1, -1
	for month := range years * 12 {
		year, m := begin+month/12, time.Month(month%12+1)
		if !c.month.has(int(m)) {
			continue
		}
		before := dayNumber(year, m) - 1
		days := c.days(before+1, year, m)
		for d, ok := days.from(1); ok; d, ok = days.from(d + 1) {
			day := before + int64(d)
			if last < 0 {
				first = day
			} else if !yield(day - last) {
				return
			}
			last = day
		}
	}
	if first >= 0 {
		yield(first + dayNumber(begin+years, time.January) - dayNumber(begin, time.January) - last)
	}
}

// before finds the last instant before at at which the expression fires. longest is
// about how far away it can be.
func (e *Expression) before(at, longest int64, loc *time.Location) (int64, bool) {
	lo := at - longest - 2*secondsPerDay
	next, ok := e.next(lo, loc)
	if !ok || next >= at {
		return 0, false
	}
	hi := at - 1
	for next < hi { // it lies in [next, hi]
		middle := next + (hi-next)/2
		later, ok := e.next(middle, loc)
		if ok && later < at {
			next = later
		} else {
			hi = middle
		}
	}
	return next, true
}

// changes are the clock changes of the two years from now on.
func changes(now time.Time, loc *time.Location) []change {
	return changesIn(now, Ahead(now), loc)
}

// Ahead is how far ahead of now clock changes are named: two years.
func Ahead(now time.Time) time.Time { return now.AddDate(2, 0, 0) }

// changesIn are the clock changes in (from, to].
func changesIn(from, to time.Time, loc *time.Location) []change {
	at, end := from.Unix(), to.Unix()
	if at < -farAway || end > farAway {
		return nil
	}
	var all []change
	for {
		c, ok := firstChange(at, end, offsetAt(at, loc), loc)
		if !ok {
			return all
		}
		all = append(all, c)
		at = c.at
	}
}
