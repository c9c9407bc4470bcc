package duration

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"
)

const examples = `write for example "90s", "1h30m" or "2d"`

// spellings maps units that people write to the one they mean. Months and years
// are not here: they have no fixed length.
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
	"M": 30, "mo": 30, "mon": 30, "mos": 30, "mth": 30, "month": 30, "months": 30,
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

// explain builds the error for one part that is no number with a known unit.
func explain(text, number, unit string) error {
	e := &Error{Text: text, Hint: examples}
	lower := strings.ToLower(unit)
	days, calendar := calendarUnits[lower]
	if unit == "M" {
		days, calendar = calendarUnits["M"], true
	}
	switch {
	case !plainNumber(number):
		e.Message = fmt.Sprintf("duration %s is not a number with a unit", quote(text))
	case unit == "":
		e.Message = fmt.Sprintf("duration %s has no unit", quote(text))
		switch {
		case strings.Trim(text, "0.") == "":
			e.Hint = `write "0s"`
		case number == text:
			e.Hint = fmt.Sprintf("did you mean %s?", quote(text+"s"))
		default:
			e.Hint = fmt.Sprintf("did you mean %s?", quote(text+smaller(text)))
		}
	case calendar:
		e.Message = fmt.Sprintf("duration %s: months and years have no fixed length", quote(text))
		e.Hint = "write days"
		if n, err := strconv.Atoi(number); err == nil && n > 0 && n <= math.MaxInt32 {
			e.Hint = fmt.Sprintf(`write days, "%dd"`, n*days)
		}
		if unit == "M" {
			e.Hint += `; "m" is minutes`
		}
	default:
		e.Message = fmt.Sprintf("duration %s has the unknown unit %s", quote(text), quote(unit))
		if _, known := spellings[lower]; known {
			e.Hint = suggest(respell(text))
		} else {
			e.Hint = "units are ms, s, m, h, d and w"
		}
	}
	return e
}

// respell writes every unit of text as this package knows it.
func respell(text string) string {
	var b strings.Builder
	for rest := text; rest != ""; {
		var number, unit string
		number, unit, rest = nextPart(rest)
		b.WriteString(number)
		if s, ok := spellings[strings.ToLower(unit)]; ok {
			unit = s
		}
		b.WriteString(unit)
	}
	return b.String()
}

// suggest offers a repaired text if it is a duration, and examples otherwise.
func suggest(repaired string) string {
	for _, candidate := range []string{repaired, respell(repaired), repaired + "s"} {
		if precheck(candidate) != nil {
			continue
		}
		if _, err := Parse(candidate); err == nil {
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

func tooLong(text string) error {
	return &Error{
		Text:    text,
		Message: fmt.Sprintf("duration %s is too long", quote(text)),
		Hint:    fmt.Sprintf(`write at most "%dd" (292 years)`, math.MaxInt64/Day),
	}
}

// quote shows foreign text on one line, shortened: it may be of any length.
func quote(text string) string {
	const most = 40
	if len(text) > most {
		cut := most
		for cut > 0 && !utf8.RuneStart(text[cut]) {
			cut--
		}
		text = text[:cut] + "…"
	}
	return strconv.Quote(text)
}
