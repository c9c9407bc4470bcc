package cronexpr

import "time"

// Intervals returns the shortest and the longest time between two runs on the wall
// clock of loc (nil means UTC): over the whole calendar, and around the clock
// changes of the two years from now on as they really are. Both are zero if the
// expression fires at most once in 400 years.
func (e *Expression) Intervals(loc *time.Location, now time.Time) (shortest, longest time.Duration) {
	if e.every > 0 {
		return e.every, e.every
	}
	if loc == nil {
		loc = time.UTC
	}
	b := bounds{}
	e.calendar.intervals(&b)
	for _, c := range changes(now, loc) {
		e.intervalsAround(&b, c, loc)
	}
	return time.Duration(b.least) * time.Second, time.Duration(b.most) * time.Second
}

// bounds are the shortest and longest of what it was shown, in seconds.
type bounds struct{ least, most int64 }

func (b *bounds) see(seconds int64) {
	if b.most == 0 || seconds < b.least {
		b.least = seconds
	}
	b.most = max(b.most, seconds)
}

// intervals looks at one cycle of the calendar, after which it repeats.
func (c *calendar) intervals(b *bounds) {
	first, _ := c.timeOfDay(0)
	last := first
	for last < secondsPerDay-1 {
		next, ok := c.timeOfDay(last + 1)
		if !ok {
			break
		}
		b.see(int64(next - last))
		last = next
	}
	const begin, years = 2000, 400
	var firstDay, lastDay int64 = -1, -1
	overnight := int64(secondsPerDay - last + first)
	for month := range years * 12 {
		year, m := begin+month/12, time.Month(month%12+1)
		start := dayNumber(year, m)
		days := c.days(start, year, m)
		for d, ok := days.from(1); ok; d, ok = days.from(d + 1) {
			day := start + int64(d) - 1
			if lastDay >= 0 {
				b.see((day-lastDay-1)*secondsPerDay + overnight)
			} else {
				firstDay = day
			}
			lastDay = day
		}
	}
	if firstDay >= 0 {
		cycle := dayNumber(begin+years, time.January) - dayNumber(begin, time.January)
		b.see((firstDay+cycle-lastDay-1)*secondsPerDay + overnight)
	}
}

// intervalsAround looks at the real instants around a clock change: from the last
// one before it to the first one beyond the wall times concerned.
func (e *Expression) intervalsAround(b *bounds, c change, loc *time.Location) {
	at, ok := e.before(c.at, b.most, loc)
	if !ok {
		return
	}
	until := c.at + max(c.new-c.old, c.old-c.new)
	for at < until {
		next, ok := e.next(at, loc)
		if !ok {
			return
		}
		b.see(next - at)
		at = next
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
