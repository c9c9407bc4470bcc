package cronexpr

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/robfig/cron/v3"
)

// robfig parses what this package has already checked and rewritten in plain
// numbers. It panics on some texts and takes others for something else, so it
// never sees the text that a user wrote.
var robfig = cron.NewParser(cron.Second | cron.Minute | cron.Hour | cron.Dom | cron.Month | cron.Dow)

// valueBits masks the bit by which robfig/cron marks a star: its idea of a star
// (not */2, but 5,*) is not ours.
const valueBits = 1<<63 - 1

// compile turns the fields into bit sets and refuses dates that do not exist. The
// caller places the error.
func (e *Expression) compile() *Error {
	plain := make([]string, fieldCount)
	for i := range e.fields {
		plain[i] = e.fields[i].plain(&specs[i])
	}
	spec, err := parsePlain(strings.Join(plain, " "))
	if err != nil {
		return &Error{Code: CodeSyntax, Message: fmt.Sprintf("%s cannot be read: %v", quote(e.text), err)}
	}
	e.calendar = calendar{
		second: bitset(spec.Second & valueBits),
		minute: bitset(spec.Minute & valueBits),
		hour:   bitset(spec.Hour & valueBits),
		dom:    bitset(spec.Dom & valueBits),
		month:  bitset(spec.Month & valueBits),
		dow:    bitset(spec.Dow & valueBits),
		anyDay: !e.fields[domField].star && !e.fields[dowField].star,
	}
	e.fixed = !e.fields[minuteField].wild() && !e.fields[hourField].wild()
	if months := e.calendar.missing(); months != 0 {
		return &Error{Code: CodeNever, Message: fmt.Sprintf("%s never fires (%s)", quote(e.text), noSuchDay(months, e.calendar.dom))}
	}
	return nil
}

func parsePlain(text string) (spec *cron.SpecSchedule, err error) {
	defer func() {
		if r := recover(); r != nil {
			spec, err = nil, fmt.Errorf("panic: %v", r)
		}
	}()
	schedule, err := robfig.Parse(text)
	if err != nil {
		return nil, err
	}
	spec, ok := schedule.(*cron.SpecSchedule)
	if !ok {
		return nil, fmt.Errorf("unexpected %T", schedule)
	}
	return spec, nil
}

// plain writes the field in numbers, Sunday as 0.
func (f *field) plain(spec *fieldSpec) string {
	parts := make([]string, 0, len(f.items))
	for _, it := range f.items {
		switch {
		case spec == &specs[dowField] && it.hi == 7:
			// A range into the next Sunday, value by value.
			for v := it.lo; v <= it.hi; v += it.step {
				parts = append(parts, strconv.Itoa(v%7))
			}
		case it.single:
			parts = append(parts, strconv.Itoa(it.lo))
		default:
			parts = append(parts, fmt.Sprintf("%d-%d/%d", it.lo, it.hi, it.step))
		}
	}
	return strings.Join(parts, ",")
}

// missing returns the selected months if none of them ever has a selected day, and
// nothing if the expression fires. Week days need no look: in the 400 years after
// which the calendar repeats, every date, 29 February too, falls on each of them.
func (c *calendar) missing() bitset {
	if c.anyDay {
		return 0
	}
	for _, month := range c.month.list() {
		if c.dom&span(1, longest(time.Month(month))) != 0 {
			return 0
		}
	}
	return c.month
}

// longest returns the number of days of a month in a leap year.
func longest(month time.Month) int { return daysIn(2024, month) }

// noSuchDay says that none of the months has one of the days.
func noSuchDay(months, days bitset) string {
	verb := "has"
	if len(months.list()) > 1 {
		verb = "have"
	}
	var numbers []string
	for _, d := range days.list() {
		numbers = append(numbers, strconv.Itoa(d))
	}
	return fmt.Sprintf("%s %s no day %s", monthList(months), verb, join(numbers, "or"))
}

func monthList(months bitset) string {
	var names []string
	for _, m := range months.list() {
		names = append(names, time.Month(m).String())
	}
	return join(names, "and")
}

// join writes a list as in a sentence: "a, b and c".
func join(words []string, last string) string {
	n := len(words)
	if n < 2 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:n-1], ", ") + " " + last + " " + words[n-1]
}
