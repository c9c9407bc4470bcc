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
	var total time.Duration
	for rest := text; rest != ""; {
		var number, unit string
		number, unit, rest = nextPart(rest)
		d, err := parsePart(text, number, unit)
		if err != nil {
			return 0, err
		}
		if d > math.MaxInt64-total {
			return 0, tooLong(text)
		}
		total += d
	}
	return total, nil
}

// parsePart reads one number with its unit; text is the whole duration, for the
// error.
func parsePart(text, number, unit string) (time.Duration, error) {
	factor := time.Duration(1)
	goUnit := unit
	switch unit {
	case "d":
		factor, goUnit = Day/time.Hour, "h"
	case "w":
		factor, goUnit = Week/time.Hour, "h"
	case "ns", "us", "µs", "μs", "ms", "s", "m", "h":
	default:
		return 0, explain(text, number, unit)
	}
	d, err := time.ParseDuration(number + goUnit)
	switch {
	case err != nil && plainNumber(number):
		return 0, tooLong(text) // nothing else is wrong with a plain number
	case err != nil:
		return 0, explain(text, number, unit)
	case d > math.MaxInt64/factor:
		return 0, tooLong(text)
	}
	return d * factor, nil
}

// nextPart cuts the first number and its unit off text. Either may be empty, but
// not both, so that a loop over the parts ends.
func nextPart(text string) (number, unit, rest string) {
	i := 0
	for i < len(text) && isNumeral(text[i]) {
		i++
	}
	j := i
	for j < len(text) && !isNumeral(text[j]) {
		j++
	}
	return text[:i], text[i:j], text[j:]
}

func isNumeral(c byte) bool { return c == '.' || '0' <= c && c <= '9' }

// plainNumber reports whether number has digits and at most one point.
func plainNumber(number string) bool {
	return strings.Count(number, ".") <= 1 && strings.Trim(number, ".") != ""
}
