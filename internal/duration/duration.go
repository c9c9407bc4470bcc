// Package duration reads and writes durations as people give them: in
// schedules.yaml, on the command line, in the HTTP API and in "@every".
//
// A duration is a sequence of numbers with units, such as "90s", "1h30m", "2d"
// or "1w2d". The units are those of [time.ParseDuration] (ns, us, ms, s, m, h)
// and two more of fixed length: d is 24 hours and w is 7 days, whatever the
// clocks of a time zone do meanwhile. There is no unit above the week, because
// months and years have no fixed length; no sign, because nothing here can wait
// a negative time; and no bare number, because its unit would be a guess. All of
// these are refused with an error that says what to write instead.
package duration

import (
	"math"
	"strings"
	"time"
)

// Lengths of the two units that package time does not have.
const (
	Day  = 24 * time.Hour
	Week = 7 * Day
)

// Error says why a text is no duration and what to write instead.
type Error struct {
	Text    string // as it was given
	Message string // what is wrong, beginning with `duration "…"`
	Hint    string // what to write instead
}

func (e *Error) Error() string { return e.Message + "; " + e.Hint }

// Parse reads a duration. The result is never negative. The error is always an
// *Error. Fractions finer than a nanosecond are cut off, as package time does.
func Parse(text string) (time.Duration, error) {
	if err := precheck(text); err != nil {
		return 0, err
	}
	d, bad := read(text)
	if bad != nil {
		return 0, explain(text, bad)
	}
	return d, nil
}

// part is one number with its unit.
type part struct{ number, unit string }

// read adds up the parts of a text without blanks and signs. It returns the part
// at which it had to stop, if any. The errors are worded elsewhere, because their
// hints try other texts with this function.
func read(text string) (total time.Duration, bad *part) {
	for rest := text; rest != ""; {
		var p part
		p, rest = nextPart(rest)
		d, ok := p.value()
		if !ok || d > math.MaxInt64-total {
			return 0, &p
		}
		total += d
	}
	return total, nil
}

// value returns the length of the part, if it is one that fits a Duration.
func (p part) value() (time.Duration, bool) {
	factor, goUnit := time.Duration(1), p.unit
	switch p.unit {
	case "d":
		factor, goUnit = Day/time.Hour, "h"
	case "w":
		factor, goUnit = Week/time.Hour, "h"
	}
	if !p.plainNumber() || !p.knownUnit() {
		return 0, false
	}
	d, err := time.ParseDuration(p.number + goUnit)
	if err != nil || d > math.MaxInt64/factor {
		return 0, false
	}
	return d * factor, true
}

// plainNumber reports whether the number has digits and at most one point.
func (p part) plainNumber() bool {
	return strings.Count(p.number, ".") <= 1 && strings.Trim(p.number, ".") != ""
}

func (p part) knownUnit() bool {
	switch p.unit {
	case "ns", "us", "µs", "μs", "ms", "s", "m", "h", "d", "w":
		return true
	}
	return false
}

// nextPart cuts the first number and its unit off text. Either may be empty, but
// not both, so that a loop over the parts ends.
func nextPart(text string) (p part, rest string) {
	i := 0
	for i < len(text) && isNumeral(text[i]) {
		i++
	}
	j := i
	for j < len(text) && !isNumeral(text[j]) {
		j++
	}
	return part{number: text[:i], unit: text[i:j]}, text[j:]
}

func isNumeral(c byte) bool { return c == '.' || '0' <= c && c <= '9' }
