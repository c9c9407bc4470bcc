package cronexpr

import (
	"math/bits"
	"time"
)

const (
	secondsPerDay = 24 * 60 * 60
	// searchYears is how far the search for a matching day goes: a whole cycle of
	// the Gregorian calendar, and the eight years that may lie between leap days.
	searchYears = 400 + 8
)

// bitset holds numbers from 0 to 63.
type bitset uint64

func (b bitset) has(n int) bool { return b>>n&1 != 0 }

// from returns the smallest member that is at least n.
func (b bitset) from(n int) (int, bool) {
	rest := b >> n
	if rest == 0 {
		return 0, false
	}
	return n + bits.TrailingZeros64(uint64(rest)), true
}

func (b bitset) list() []int {
	values := make([]int, 0, bits.OnesCount64(uint64(b)))
	for n, ok := b.from(0); ok; n, ok = b.from(n + 1) {
		values = append(values, n)
	}
	return values
}

// span returns the set of lo to hi.
func span(lo, hi int) bitset { return 1<<(hi+1) - 1<<lo }

// calendar matches wall clock times: dates and times of day without a zone. A wall
// time is counted in seconds as if the clock showed UTC, so that all arithmetic is
// plain and every day has 24 hours.
type calendar struct {
	second, minute, hour, dom, month, dow bitset
	// anyDay says that one matching day field is enough.
	anyDay bool
}

// next returns the first matching wall time that is not before wall. It reports
// false if there is none within searchYears.
func (c *calendar) next(wall int64) (int64, bool) {
	day := floorDiv(wall, secondsPerDay)
	year, month, dom := time.Unix(day*secondsPerDay, 0).UTC().Date()
	lastYear := year + searchYears

	days := c.days(day-int64(dom)+1, year, month) &^ span(0, dom-1)
	if days.has(dom) {
		if tod, ok := c.timeOfDay(int(wall - day*secondsPerDay)); ok {
			return day*secondsPerDay + int64(tod), true
		}
		days &^= 1 << dom
	}
	first := day - int64(dom) + 1
	for {
		if d, ok := days.from(1); ok {
			midnight, _ := c.timeOfDay(0) // no field is empty: every day has a match
			return (first+int64(d)-1)*secondsPerDay + int64(midnight), true
		}
		m, ok := c.month.from(int(month) + 1)
		if !ok {
			year++
			m, _ = c.month.from(1)
		}
		if year > lastYear {
			return 0, false
		}
		month = time.Month(m)
		first = dayNumber(year, month)
		days = c.days(first, year, month)
	}
}

// days returns the matching days of a month, whose first day has the number first.
func (c *calendar) days(first int64, year int, month time.Month) bitset {
	if !c.month.has(int(month)) {
		return 0
	}
	// The week days of the first seven days, repeated through the month. Day 0
	// falls on the week day before that of the first.
	weekday := int(floorMod(first+4, 7)) // 1 January 1970 was a Thursday
	shift := (weekday + 6) % 7
	week := (c.dow>>shift | c.dow<<(7-shift)) & span(0, 6)
	byWeekday := week | week<<7 | week<<14 | week<<21 | week<<28

	days := c.dom & byWeekday
	if c.anyDay {
		days = c.dom | byWeekday
	}
	return days & span(1, daysIn(year, month))
}

// timeOfDay returns the first matching time of day, in seconds, from the given one
// on.
func (c *calendar) timeOfDay(from int) (int, bool) {
	hour, minute, second := from/3600, from/60%60, from%60
	if c.hour.has(hour) {
		if c.minute.has(minute) {
			if s, ok := c.second.from(second); ok {
				return hour*3600 + minute*60 + s, true
			}
		}
		if m, ok := c.minute.from(minute + 1); ok {
			s, _ := c.second.from(0)
			return hour*3600 + m*60 + s, true
		}
	}
	h, ok := c.hour.from(hour + 1)
	if !ok {
		return 0, false
	}
	m, _ := c.minute.from(0)
	s, _ := c.second.from(0)
	return h*3600 + m*60 + s, true
}

// dayNumber counts the days from 1 January 1970 to the first of a month.
func dayNumber(year int, month time.Month) int64 {
	return time.Date(year, month, 1, 0, 0, 0, 0, time.UTC).Unix() / secondsPerDay
}

func daysIn(year int, month time.Month) int {
	switch month {
	case time.April, time.June, time.September, time.November:
		return 30
	case time.February:
		if year%4 == 0 && (year%100 != 0 || year%400 == 0) {
			return 29
		}
		return 28
	default:
		return 31
	}
}

func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}

func floorMod(a, b int64) int64 { return a - floorDiv(a, b)*b }
