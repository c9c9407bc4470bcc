package cronexpr

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/bide-go/bide/internal/duration"
)

// Words says in English when the expression fires, such as "At 01:30 every day" or
// "Every 5 minutes between 08:00 and 18:55, Monday to Friday". Times are those of
// the wall clock. The words are exact: where there is no short form they go field
// by field. What clock changes do to it is told by [Expression.ClockChanges].
func (e *Expression) Words() string {
	if e.every > 0 {
		return everyWords(e.every)
	}
	times, always := e.calendar.timeWords()
	days := e.calendar.dayWords()
	if always && days == everyDay {
		return times
	}
	return times + days
}

// everyWords is about @every, which counts from the epoch.
func everyWords(d time.Duration) string {
	words := "Every " + spanWords(d)
	switch {
	case time.Hour%d == 0:
		return words
	case d == 24*time.Hour:
		return "Every day at 00:00 UTC"
	case 24*time.Hour%d == 0:
		return words + ", counted from 00:00 UTC"
	}
	return words + ", counted from 1970-01-01 00:00 UTC"
}

// spanWords writes a duration as it follows "every": "minute", "5 minutes", "1 hour
// and 30 minutes".
func spanWords(d time.Duration) string {
	var parts []string
	for _, u := range []struct {
		unit   string
		length time.Duration
	}{{"week", duration.Week}, {"day", duration.Day}, {"hour", time.Hour}, {"minute", time.Minute}, {"second", time.Second}} {
		if u.unit == "week" && d%u.length != 0 {
			continue // 9 days, not 1 week and 2 days
		}
		if n := d / u.length; n > 0 {
			parts = append(parts, count(int(n), u.unit))
			d %= u.length
		}
	}
	if len(parts) == 1 {
		return strings.TrimPrefix(parts[0], "1 ")
	}
	return join(parts, "and")
}

const (
	// fewTimes are listed whatever their pattern, someTimes if they have none.
	fewTimes  = 4
	someTimes = 8
)

// timeWords says at which times of a day. always reports that the words are those
// for a whole day, so that "every day" adds nothing.
func (c *calendar) timeWords() (words string, always bool) {
	var times []string
	first, _ := c.timeOfDay(0)
	last, n, step, even := first, 1, 0, true
	for {
		if n <= someTimes {
			times = append(times, clock(last))
		}
		next, ok := c.timeOfDay(last + 1)
		if last == secondsPerDay-1 || !ok {
			break
		}
		if step == 0 {
			step = next - last
		}
		even = even && next-last == step
		last = next
		n++
	}
	switch round := even && last+step == first+secondsPerDay; {
	case n <= fewTimes:
		return "At " + join(times, "and"), false
	case round && step == 3600 && first > 0 && first%60 == 0:
		return fmt.Sprintf("At %s past every hour", count(first/60, "minute")), true
	case round && step == 60 && first > 0:
		return fmt.Sprintf("At second %d of every minute", first), true
	case round && step <= 3600 && first == 0:
		return "Every " + spanWords(time.Duration(step)*time.Second), true
	case even:
		return fmt.Sprintf("Every %s between %s and %s", spanWords(time.Duration(step)*time.Second), clock(first), clock(last)), false
	case n <= someTimes:
		return "At " + join(times, "and"), false
	}
	return c.timeFields()
}

// timeFields says it field by field.
func (c *calendar) timeFields() (words string, always bool) {
	var parts []string
	if c.second != 1 {
		parts = append(parts, fieldWords("second", c.second, 59))
	}
	parts = append(parts, fieldWords("minute", c.minute, 59))
	always = c.hour == span(0, 23)
	if !always || c.minute != span(0, 59) {
		parts = append(parts, fieldWords("hour", c.hour, 23))
	}
	words = strings.Join(parts, " of ")
	if rest, ok := strings.CutPrefix(words, "every "); ok {
		return "Every " + rest, always
	}
	return "At " + words, always
}

// fieldWords names the values of a field: "every hour", "hour 5", "hours 0 to 5,
// 10 and 12".
func fieldWords(unit string, values bitset, highest int) string {
	if values == span(0, highest) {
		return "every " + unit
	}
	list := runs(values.list(), strconv.Itoa)
	if len(values.list()) > 1 {
		unit += "s"
	}
	return unit + " " + join(list, "and")
}

// runs names values in ascending order, three and more in a row as "a to c".
func runs(values []int, name func(int) string) []string {
	var list []string
	for i := 0; i < len(values); {
		end := i
		for end+1 < len(values) && values[end+1] == values[end]+1 {
			end++
		}
		switch {
		case end-i >= 2:
			list = append(list, name(values[i])+" to "+name(values[end]))
			i = end + 1
		default:
			list = append(list, name(values[i]))
			i++
		}
	}
	return list
}
