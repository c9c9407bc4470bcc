package cronexpr

import (
	"fmt"
	"strconv"
	"time"
)

// everyDay is the ending of words that name no days.
const everyDay = " every day"

// dayWords says on which days, with the blank or comma that goes before.
func (c calendar) dayWords() string {
	c.dom &= c.existing()
	allDom, allDow := c.dom == c.existing(), c.dow == span(0, 6)
	months := c.monthWords()
	switch {
	case c.anyDay && (allDom || allDow), allDom && allDow:
		return everyDay + months
	case c.anyDay && c.dom == 0:
		return c.dowWords() + c.monthsAfterDays(months)
	case c.anyDay:
		return c.domWords() + ", and on every " + onEvery(c.dow) + months
	case allDom:
		return c.dowWords() + c.monthsAfterDays(months)
	case allDow:
		return c.domWords()
	}
	return c.domWords() + ", but only " + onWeekdays(c.dow)
}

// existing is the days that at least one of the months can have.
func (c calendar) existing() bitset {
	var days bitset
	for _, m := range c.month.list() {
		days |= span(1, longest(time.Month(m)))
	}
	return days
}

func (b bitset) single() bool { return b&(b-1) == 0 }

// monthWords restricts to months, empty for all of them.
func (c calendar) monthWords() string {
	if c.month == span(1, 12) {
		return ""
	}
	if list := c.month.list(); len(list) > 2 && list[len(list)-1]-list[0] == len(list)-1 {
		return " from " + c.monthNames()
	}
	return " in " + c.monthNames()
}

func (c calendar) monthNames() string {
	return join(runs(c.month.list(), func(m int) string { return time.Month(m).String() }), "and")
}

// monthsAfterDays sets the months off from a list of week days with a comma.
func (c calendar) monthsAfterDays(months string) string {
	if months == "" || c.dow.single() {
		return months
	}
	return "," + months
}

// domWords says on which days of which months.
func (c calendar) domWords() string {
	month, oneMonth := c.month.list()[0], c.month.single()
	days := c.dom.list()
	if oneMonth && len(days) <= 3 {
		return " on " + join(numbers(days), "and") + " " + time.Month(month).String()
	}
	where := " of every month"
	if oneMonth || c.month != span(1, 12) {
		where = " of " + c.monthNames()
	}
	words := c.daysOf(where)
	if c.someLack() {
		words += ", where there is one"
	}
	return words
}

// daysOf says on which days of what where names.
func (c calendar) daysOf(where string) string {
	days := c.dom.list()
	step, even := 0, len(days) > 4
	for i := 1; i < len(days); i++ {
		if step == 0 {
			step = days[i] - days[i-1]
		}
		even = even && days[i]-days[i-1] == step
	}
	switch {
	case even && step > 1:
		return fmt.Sprintf(" on every %s day from day %d to day %d%s", ordinal(step), days[0], days[len(days)-1], where)
	case len(days) == 1:
		return fmt.Sprintf(" on day %d%s", days[0], where)
	}
	return " on days " + join(runs(days, strconv.Itoa), "and") + where
}

// someLack reports whether one of the months has none of the days.
func (c calendar) someLack() bool {
	lowest, _ := c.dom.from(0)
	for _, m := range c.month.list() {
		if lowest > shortest(time.Month(m)) {
			return true
		}
	}
	return false
}

// shortest is the number of days of a month in a year that is no leap year.
func shortest(month time.Month) int { return daysIn(2023, month) }

func ordinal(n int) string {
	switch {
	case n == 2 || n == 22:
		return strconv.Itoa(n) + "nd"
	case n == 3 || n == 23:
		return strconv.Itoa(n) + "rd"
	case n == 21 || n == 31:
		return strconv.Itoa(n) + "st"
	}
	return strconv.Itoa(n) + "th"
}

func numbers(values []int) []string {
	list := make([]string, len(values))
	for i, v := range values {
		list[i] = strconv.Itoa(v)
	}
	return list
}

// dowWords says on which days of the week, with the blank or comma that goes
// before.
func (c calendar) dowWords() string {
	if first, last, ok := weekRun(c.dow); ok {
		return fmt.Sprintf(", %s to %s", first, last)
	}
	return " " + onWeekdays(c.dow)
}

func onWeekdays(dow bitset) string {
	if first, last, ok := weekRun(dow); ok {
		return fmt.Sprintf("from %s to %s", first, last)
	}
	names := weekdays(dow)
	for i := range names {
		names[i] += "s"
	}
	return "on " + join(names, "and")
}

func onEvery(dow bitset) string {
	if first, last, ok := weekRun(dow); ok {
		return fmt.Sprintf("day from %s to %s", first, last)
	}
	return join(weekdays(dow), "and")
}

// weekRun finds the ends of three to six days in a row, perhaps across a Sunday.
func weekRun(dow bitset) (first, last time.Weekday, ok bool) {
	n := len(dow.list())
	for start := range 7 {
		length := 0
		for length < 7 && dow.has((start+length)%7) {
			length++
		}
		if length == n && n >= 3 && n < 7 {
			return time.Weekday(start), time.Weekday((start + n - 1) % 7), true
		}
	}
	return 0, 0, false
}

// weekdays names days of the week, Monday first.
func weekdays(dow bitset) []string {
	var names []string
	for i := range 7 {
		if day := (i + 1) % 7; dow.has(day) {
			names = append(names, time.Weekday(day).String())
		}
	}
	return names
}
