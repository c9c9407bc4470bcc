package cronexpr

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

var (
	longMonths = []string{
		"JANUARY", "FEBRUARY", "MARCH", "APRIL", "MAY", "JUNE", "JULY", "AUGUST", "SEPTEMBER", "OCTOBER", "NOVEMBER", "DECEMBER",
	}
	longDays = []string{"SUNDAY", "MONDAY", "TUESDAY", "WEDNESDAY", "THURSDAY", "FRIDAY", "SATURDAY"}
)

// wrongCount says what is wrong with the number of fields.
func wrongCount(text string, start int, words []word) *Error {
	e := &Error{
		Code: CodeFieldCount, Offset: start, Length: len(text),
		Message: fmt.Sprintf("%d fields instead of five or six", len(words)),
		Hint:    "five fields are: minute, hour, day of month, month, day of week; six begin with the second",
	}
	if len(words) == 1 {
		e.Message = "1 field instead of five or six"
	}
	if len(words) == fieldCount+1 {
		last := words[fieldCount]
		if isYear(last.text) || strings.ContainsAny(last.text, "*?") {
			e.Offset, e.Length = last.offset, len(last.text)
			e.Message = fmt.Sprintf("7 fields: a year field (%s) is not read", quote(last.text))
			e.Hint = "leave it out, and limit the time with startAt and endAt"
		}
	}
	return e
}

// misreadLine looks at a bad field once more: it may be good where another program
// would read it, in a line with a year or a command at its end.
func misreadLine(err *Error, six bool, index int, words []word) *Error {
	last := words[fieldCount-1]
	if !six {
		return err
	}
	for i, w := range words[:fieldCount-1] {
		if _, bad := parseField(&specs[i+1], w); bad != nil {
			return err // not a good line of five fields either
		}
	}
	if isYear(last.text) {
		return &Error{
			Code: CodeFieldCount, Offset: last.offset, Length: len(last.text),
			Message: fmt.Sprintf("six fields begin with the second; a year field (%s) is not read", quote(last.text)),
			Hint:    "leave it out, and limit the time with startAt and endAt",
		}
	}
	if index == dowField {
		err.Hint = "six fields begin with the second; what to run is not part of the expression"
	}
	return err
}

func isYear(text string) bool {
	return len(text) >= 4 && allDigits(text[:4]) && (text[:2] == "19" || text[:2] == "20" || text[:2] == "21") &&
		(len(text) == 4 || strings.ContainsAny(text[4:5], "-,/"))
}

// checkRange refuses ranges that are not of the form a-b, before their ends are
// read.
func checkRange(spec *fieldSpec, text, first, last string) *Error {
	e := &Error{Message: fmt.Sprintf("%s %s", spec.name, quote(text))}
	switch {
	case first == "" && allDigits(last):
		e.Message += " begins with a sign or lacks the start of a range"
		e.Hint = fmt.Sprintf("write %s, or the range %s", quote(last), quote(fmt.Sprintf("%d-%s", spec.min, last)))
	case last == "" && first != "" && !isForeign(spec, text):
		e.Message += " is a range without an end"
		e.Hint = fmt.Sprintf("did you mean %s?", quote(fmt.Sprintf("%s-%d", first, spec.max)))
	case first == "*":
		e.Message += " is a range that begins with *"
		e.Hint = fmt.Sprintf("a range is written as in %d-%d", spec.min, spec.max)
	case strings.Contains(last, "-") && !isForeign(spec, text):
		e.Message += " has two hyphens"
		e.Hint = "a range is written as in 1-5, with a step as in 1-5/2"
	default:
		return nil
	}
	return e
}

// notAValue says why a text is neither a number nor a name of the field.
func notAValue(spec *fieldSpec, text, value string) *Error {
	e := &Error{Message: fmt.Sprintf("%s %s is not %s", spec.name, quote(value), spec.allowed())}
	if hint, ok := nameHint(spec, strings.ToUpper(value)); ok {
		e.Hint = hint
		return e
	}
	if message, hint, ok := foreignSyntax(spec, text); ok {
		e.Message, e.Hint = message, hint
		return e
	}
	switch {
	case len(value) > 1 && (value[0] == '+' || value[0] == '-') && allDigits(value[1:]):
		e.Message = fmt.Sprintf("%s %s has a sign", spec.name, quote(value))
		e.Hint = fmt.Sprintf("write %s", quote(value[1:]))
	case len(value) > 1 && value[0] == '*' && allDigits(value[1:]):
		e.Hint = fmt.Sprintf("did you mean %s?", quote("*/"+value[1:]))
	case strings.Contains(value, "?"):
		e.Hint = `write "*"; "?" stands alone in a day field`
		if spec.dayField {
			e.Hint = `"?" stands alone in its field and means "*"`
		}
	case strings.Trim(value, "*") == "" && value != "":
		e.Hint = `write one "*"`
	}
	return e
}

// nameHint knows full names, and names in the wrong field.
func nameHint(spec *fieldSpec, upper string) (string, bool) {
	if len(upper) < 3 {
		return "", false
	}
	for _, known := range []struct {
		spec  *fieldSpec
		names []string
	}{{&specs[monthField], longMonths}, {&specs[dowField], longDays}} {
		for i, name := range known.names {
			short := known.spec.names[i]
			if !strings.HasPrefix(name, upper) {
				continue
			}
			if known.spec == spec {
				return fmt.Sprintf("did you mean %s? Names have three letters", short), true
			}
			return fmt.Sprintf("%s belongs in the field %s", short, known.spec.name), true
		}
	}
	return "", false
}

// isForeign reports whether an item is written in another program's syntax.
func isForeign(spec *fieldSpec, text string) bool {
	_, _, ok := foreignSyntax(spec, text)
	return ok
}

// foreignSyntax recognises the letters and signs by which other programs extend
// crontab(5), where they are used in that way.
func foreignSyntax(spec *fieldSpec, text string) (message, hint string, ok bool) {
	upper := strings.ToUpper(text)
	message = fmt.Sprintf("%s %s: ", spec.name, quote(text))
	letters := strings.Trim(upper, "0123456789-/()")
	switch {
	case strings.Contains(text, "~"):
		return message + "random ranges (~) are not read", "choose a fixed value", true
	case letters == "H" || strings.HasPrefix(upper, "H(") || strings.HasPrefix(upper, "H/"):
		return message + "H, a value that the program picks, is not read", "choose a fixed value", true
	case spec.dayField && strings.Contains(text, "#"):
		return message + "the n-th week day of a month (#) is not read",
			"run on every such week day and let the job look at the date", true
	case spec.dayField && (letters == "W" || letters == "LW" || letters == "WL"):
		return message + "the nearest working day (W) is not read",
			`run on "MON-FRI" in the field day of week and let the job look at the date`, true
	case spec.dayField && letters == "L" && spec == &specs[domField]:
		return message + "the last day of a month (L) is not read",
			`write "28-31" and let the job look whether tomorrow is the first`, true
	case spec.dayField && isLastWeekday(letters):
		return message + "the last week day of a month (L) is not read",
			"run on every such week day and let the job look at the date", true
	}
	return "", "", false
}

func isLastWeekday(letters string) bool {
	name, found := strings.CutSuffix(letters, "L")
	return found && (name == "" || slices.Contains(dayNames, name))
}

// nearestValue has a hint for the numbers that are most often one too high.
func nearestValue(spec *fieldSpec, n int64) string {
	switch {
	case spec == &specs[hourField] && n == 24:
		return `midnight is hour "0"`
	case (spec == &specs[minuteField] || spec == &specs[secondField]) && n == 60:
		return fmt.Sprintf("the last %s is 59", spec.name)
	case spec == &specs[monthField] && n == 0, spec == &specs[domField] && n == 0:
		return fmt.Sprintf("the first %s is 1", strings.TrimSuffix(spec.name, " of month"))
	}
	return ""
}

// unwrap writes a backward range as a list that means what it seems to mean.
func unwrap(spec *fieldSpec, first, last string, lo, hi, step int) string {
	highest := spec.max
	if spec == &specs[dowField] {
		highest = 6 // 7 is 0 again
		if lo == 7 {
			return fmt.Sprintf("write %s", quote(fmt.Sprintf("0-%d", hi)))
		}
	}
	if step > 1 {
		width := highest - spec.min + 1
		var values []string
		for v := lo; v <= hi+width; v += step {
			values = append(values, strconv.Itoa((v-spec.min)%width+spec.min))
		}
		return fmt.Sprintf("write the values: %s", quote(strings.Join(values, ",")))
	}
	name := func(end string, value int) string {
		if !isDigit(end[0]) {
			return spec.names[value-spec.min]
		}
		return strconv.Itoa(value)
	}
	upper := fmt.Sprintf("%s-%s", first, name(first, highest))
	if lo == highest {
		upper = first
	}
	lower := fmt.Sprintf("%s-%s", name(last, spec.min), last)
	if hi == spec.min {
		lower = last
	}
	return fmt.Sprintf("write %s", quote(upper+","+lower))
}
