package cronexpr

import (
	"fmt"
	"math/bits"
	"strings"
	"time"
)

// The codes that a [Warning] carries.
const (
	WarnEitherDay     = "W101" // both day fields are restricted: either matches
	WarnEveryMinute   = "W102" // a star before a fixed hour or minute
	WarnUnevenStep    = "W103" // a step that does not divide its field
	WarnClockChange   = "W104" // skipped or repeated by a clock change soon
	WarnMissingMonths = "W105" // a day that some months do not have
	WarnSeconds       = "W113" // six fields: the first is the second
)

// Warning is about an expression that is valid and may mean something else than
// its author believes.
type Warning struct {
	Code    string
	Message string
	Hint    string // what to write instead; may be empty
}

// String returns the message and, after a semicolon, the hint.
func (w Warning) String() string {
	if w.Hint == "" {
		return w.Message
	}
	return w.Message + "; " + w.Hint
}

// Warnings returns what is worth a second look, in the order of the codes. The
// zone (nil means UTC) and the time are for clock changes: those of the two years
// from now on are named.
func (e *Expression) Warnings(loc *time.Location, now time.Time) []Warning {
	return e.WarningsWithin(loc, now, Ahead(now))
}

// WarningsWithin is Warnings with the clock changes in (from, to].
func (e *Expression) WarningsWithin(loc *time.Location, from, to time.Time) []Warning {
	if e.every > 0 {
		return nil
	}
	if loc == nil {
		loc = time.UTC
	}
	var all []Warning
	all = append(all, e.eitherDay()...)
	all = append(all, e.everyMinute()...)
	for i := range e.fields {
		all = append(all, e.unevenSteps(i)...)
	}
	all = append(all, e.clockChanges(loc, from, to)...)
	all = append(all, e.missingMonths()...)
	all = append(all, e.secondsFirst()...)
	return all
}

func (e *Expression) eitherDay() []Warning {
	c := &e.calendar
	if !c.anyDay {
		return nil
	}
	dom, dow := e.fields[domField].text, e.fields[dowField].text
	w := Warning{
		Code:    WarnEitherDay,
		Message: fmt.Sprintf("both day fields are restricted, so either is enough: day of month %s or day of week %s", quote(dom), quote(dow)),
		Hint:    `put "*" in one of them if only the other is meant`,
	}
	if c.dom == span(1, 31) || c.dow == span(0, 6) {
		w.Message += "; together they are every day"
	}
	return []Warning{w}
}

// everyMinute looks for a star where one value was meant: "* 5 * * *" for 05:00.
// Ranges of hours ("* 9-17 * * *") are taken at their word.
func (e *Expression) everyMinute() []Warning {
	c := &e.calendar
	hours, minutes := e.fields[hourField].singles(), e.fields[minuteField].singles()
	everyMinute, everySecond := c.minute == span(0, 59), e.seconds && c.second == span(0, 59)

	var message string
	suggested := make([]string, fieldCount)
	for i := range e.fields {
		suggested[i] = e.fields[i].text
	}
	first, _ := c.hour.from(0)
	minute, _ := c.minute.from(0)
	second, _ := c.second.from(0)
	switch {
	case hours && everyMinute:
		suggested[minuteField] = "0"
		times, from, to := 60*bits.OnesCount64(uint64(c.second)), clock(first*3600+second), clock(first*3600+59*60+second)
		if everySecond {
			suggested[secondField] = "0"
			to = clock(first*3600 + 3599)
		}
		message = fmt.Sprintf("fires %d times between %s and %s", times, from, to)
		if n := bits.OnesCount64(uint64(c.hour)); n > 1 {
			message += fmt.Sprintf(", and as often in %s more", count(n-1, "hour"))
		}
	case minutes && everySecond:
		suggested[secondField] = "0"
		message = fmt.Sprintf("fires 60 times in one minute, such as %s to %s", clock(first*3600+minute*60), clock(first*3600+minute*60+59))
	default:
		return nil
	}
	if !e.seconds {
		suggested = suggested[1:]
	}
	return []Warning{{
		Code:    WarnEveryMinute,
		Message: quote(e.text) + " " + message,
		Hint:    fmt.Sprintf("did you mean %s?", quote(strings.Join(suggested, " "))),
	}}
}

// singles reports whether the field lists single values only.
func (f *field) singles() bool {
	for _, it := range f.items {
		if !it.single {
			return false
		}
	}
	return true
}

// missingMonths looks for days that some of the months do not have: days named
// one by one, or a selection of nothing but such days. "28-31" always has one.
func (e *Expression) missingMonths() []Warning {
	c := &e.calendar
	if c.anyDay {
		return nil
	}
	var days bitset
	if lowest, _ := c.dom.from(0); lowest > 28 {
		days = 1 << lowest
	} else {
		for _, it := range e.fields[domField].items {
			if it.single && it.lo > 28 {
				days |= 1 << it.lo
			}
		}
	}
	var all []Warning
	for _, day := range days.list() {
		w := Warning{Code: WarnMissingMonths, Hint: "days 1 to 28 are in every month"}
		short := c.month
		for _, m := range c.month.list() {
			if day <= longest(time.Month(m)) {
				short &^= 1 << m
			}
		}
		leap := day == 29 && c.month.has(int(time.February))
		switch {
		case leap && c.month == 1<<time.February:
			w.Message, w.Hint = "29 February is in leap years only", "" // plainly meant
		case leap:
			w.Message = "day 29 leaves out February, except in leap years"
		case short != 0:
			w.Message = fmt.Sprintf("day %d leaves out %s", day, monthList(short))
		default:
			continue
		}
		all = append(all, w)
	}
	return all
}

func (e *Expression) secondsFirst() []Warning {
	if !e.seconds {
		return nil
	}
	return []Warning{{
		Code:    WarnSeconds,
		Message: fmt.Sprintf("six fields: the first, %s, counts seconds; then come minute, hour, day of month, month, day of week", quote(e.fields[secondField].text)),
	}}
}

// clock writes a time of day without seconds that are zero.
func clock(second int) string {
	if second%60 == 0 {
		return fmt.Sprintf("%02d:%02d", second/3600, second/60%60)
	}
	return fmt.Sprintf("%02d:%02d:%02d", second/3600, second/60%60, second%60)
}
