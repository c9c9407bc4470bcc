package duration

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/bide-go/bide/internal/spelling"
)

const examples = `write for example "90s", "1h30m" or "2d"`

// spellings maps units that people write to the one they mean. Months and years
// are not here: they have no fixed length. Nor is M, which could be a month.
var spellings = map[string]string{
	"sec": "s", "secs": "s", "second": "s", "seconds": "s",
	"min": "m", "mins": "m", "minute": "m", "minutes": "m",
	"hr": "h", "hrs": "h", "hour": "h", "hours": "h",
	"day": "d", "days": "d",
	"wk": "w", "wks": "w", "week": "w", "weeks": "w",
	"msec": "ms", "millis": "ms", "millisecond": "ms", "milliseconds": "ms",
	"micros": "us", "microsecond": "us", "microseconds": "us",
	"nanos": "ns", "nanosecond": "ns", "nanoseconds": "ns",
	"s": "s", "h": "h", "d": "d", "w": "w", "ms": "ms", "us": "us", "ns": "ns",
}

// calendarUnits maps units without a fixed length to the days that come nearest.
var calendarUnits = map[string]int{
	"mo": 30, "mon": 30, "mos": 30, "mth": 30, "month": 30, "months": 30,
	"y": 365, "yr": 365, "yrs": 365, "year": 365, "years": 365,
}

// precheck refuses what is wrong with the text as a whole.
func precheck(text string) error {
	refuse := func(hint, format string, args ...any) error {
		return &Error{Text: text, Message: fmt.Sprintf(format, args...), Hint: hint}
	}
	if strings.TrimSpace(text) == "" {
		return refuse(examples, "the duration is empty")
	}
	if joined := strings.Join(strings.Fields(text), ""); joined != text {
		return refuse(suggest(joined), "duration %s has a blank", quote(text))
	}
	if i := strings.IndexAny(text, "+-"); i >= 0 {
		unsigned := strings.NewReplacer("+", "", "-", "").Replace(text)
		return refuse(suggest(unsigned), "duration %s has a sign", quote(text))
	}
	return nil
}

// explain builds the error for the part at which read stopped.
func explain(text string, bad *part) error {
	e := &Error{Text: text, Hint: examples}
	lower := strings.ToLower(bad.unit)
	days, calendar := calendarUnits[lower]
	if bad.unit == "M" {
		days, calendar = 30, true
	}
	switch {
	case !bad.plainNumber():
		e.Message = fmt.Sprintf("duration %s is not a number with a unit", quote(text))
	case bad.knownUnit():
		e.Message = fmt.Sprintf("duration %s is too long", quote(text))
		e.Hint = fmt.Sprintf(`write at most "%dd" (292 years)`, math.MaxInt64/Day)
	case bad.unit == "":
		e.Message = fmt.Sprintf("duration %s has no unit", quote(text))
		e.Hint = fmt.Sprintf("did you mean %s?", quote(text+smaller(text)))
		if strings.Trim(text, "0.") == "" {
			e.Hint = `write "0s"`
		}
	case calendar:
		e.Message = fmt.Sprintf("duration %s: months and years have no fixed length", quote(text))
		e.Hint = "write days"
		if n, err := strconv.Atoi(bad.number); err == nil && n > 0 && n < 292 {
			e.Hint = fmt.Sprintf(`write days, "%dd"`, n*days)
		}
		if bad.unit == "M" {
			e.Hint += `; "m" is minutes`
		}
	default:
		e.Message = fmt.Sprintf("duration %s has the unknown unit %s", quote(text), quote(bad.unit))
		e.Hint = "units are ms, s, m, h, d and w"
		if _, known := spellings[lower]; known {
			e.Hint = suggest(text)
		}
	}
	return e
}

// respell writes every unit of text as this package knows it.
func respell(text string) string {
	var b strings.Builder
	for rest := text; rest != ""; {
		var p part
		p, rest = nextPart(rest)
		b.WriteString(p.number)
		if s, ok := spellings[strings.ToLower(p.unit)]; ok {
			p.unit = s
		}
		b.WriteString(p.unit)
	}
	return b.String()
}

// suggest offers the repaired text, respelled or with a unit where it takes that,
// if it is a duration then; and examples otherwise.
func suggest(repaired string) string {
	for _, candidate := range []string{repaired, respell(repaired), repaired + "s"} {
		if _, bad := read(candidate); candidate != "" && bad == nil {
			return fmt.Sprintf("write %s", quote(candidate))
		}
	}
	return examples
}

// smaller names the unit that follows the last one written, for "1h30".
func smaller(text string) string {
	units := []string{"w", "d", "h", "m", "s"}
	trimmed := strings.TrimRight(text, "0123456789.")
	for i, unit := range units[:len(units)-1] {
		if strings.HasSuffix(trimmed, unit) {
			return units[i+1]
		}
	}
	return "s"
}

// quote shows foreign text on one line and shortened.
func quote(text string) string { return strconv.Quote(spelling.Cut(text, 40)) }
