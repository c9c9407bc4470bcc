package cronexpr

import (
	"fmt"
	"strconv"
	"strings"
)

// The fields in the order of six.
const (
	secondField = iota
	minuteField
	hourField
	domField
	monthField
	dowField
	fieldCount
)

// fieldSpec tells what a field may hold.
type fieldSpec struct {
	name     string
	min, max int
	names    []string // three letters each, the first standing for min
	dayField bool     // allows ?
}

var (
	monthNames = []string{"JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"}
	dayNames   = []string{"SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"}
)

var specs = [fieldCount]fieldSpec{
	secondField: {name: "second", max: 59},
	minuteField: {name: "minute", max: 59},
	hourField:   {name: "hour", max: 23},
	domField:    {name: "day of month", min: 1, max: 31, dayField: true},
	monthField:  {name: "month", min: 1, max: 12, names: monthNames},
	dowField:    {name: "day of week", max: 7, names: dayNames, dayField: true},
}

// allowed describes the values of the field.
func (s *fieldSpec) allowed() string {
	text := fmt.Sprintf("%d-%d", s.min, s.max)
	if s.names != nil {
		text += fmt.Sprintf(" or %s-%s", s.names[0], s.names[len(s.names)-1])
	}
	return text
}

// field is one field as written.
type field struct {
	text  string
	star  bool // begins with *, or is ?
	items []item
}

// wild reports whether the field makes an interval job of its expression when it
// is the minute or the hour.
func (f *field) wild() bool { return strings.ContainsAny(f.text, "*/") }

// item is one member of a field's list: every step-th value of lo to hi.
type item struct {
	text         string
	lo, hi, step int
	single       bool // one value without a step
}

func parseField(spec *fieldSpec, w word) (field, *Error) {
	f := field{text: w.text, star: w.text[0] == '*'}
	if w.text == "?" && spec.dayField {
		f.star = true
		f.items = []item{{text: "*", lo: spec.min, hi: spec.max, step: 1}}
		return f, nil
	}
	offset := w.offset
	for text := range strings.SplitSeq(w.text, ",") {
		it, err := parseItem(spec, w, text)
		if err != nil {
			err.Code, err.Offset, err.Length = CodeSyntax, offset, len(text)
			if text == "" { // mark the field: an empty part cannot be pointed at
				err.Offset, err.Length = w.offset, len(w.text)
			}
			return field{}, err
		}
		f.items = append(f.items, it)
		offset += len(text) + 1
	}
	return f, nil
}

// parseItem reads one item; the caller places the error.
func parseItem(spec *fieldSpec, w word, text string) (item, *Error) {
	it := item{text: text, step: 1}
	if text == "" {
		return it, &Error{
			Message: fmt.Sprintf("%s %s has an empty list item", spec.name, quote(w.text)),
			Hint:    "a list has one comma between two values and no blank",
		}
	}
	base, stepText, stepped := strings.Cut(text, "/")
	if stepped {
		step, err := parseStep(spec, text, base, stepText)
		if err != nil {
			return it, err
		}
		it.step = step
	}
	if base == "*" {
		it.lo, it.hi = spec.min, spec.max
		return it, nil
	}
	first, last, ranged := strings.Cut(base, "-")
	if !ranged {
		value, err := parseValue(spec, text, base)
		if err != nil {
			return it, err
		}
		it.lo, it.hi, it.single = value, value, !stepped
		if stepped {
			it.hi = spec.max
		}
		return it, nil
	}
	if err := checkRange(spec, text, first, last); err != nil {
		return it, err
	}
	lo, err := parseValue(spec, text, first)
	if err != nil {
		return it, err
	}
	hi, err := parseValue(spec, text, last)
	if err != nil {
		return it, err
	}
	if spec.max == 7 && hi == 0 && lo > 0 && last != "" && !isDigit(last[0]) {
		hi = 7 // FRI-SUN ends on the Sunday after
	}
	if lo > hi {
		return it, &Error{
			Message: fmt.Sprintf("%s range %s runs backwards", spec.name, quote(base)),
			Hint:    unwrap(spec, first, last, lo, hi, it.step),
		}
	}
	it.lo, it.hi = lo, hi
	return it, nil
}

// maxStep keeps sums of a value and a step within any int.
const maxStep = 1 << 30

func parseStep(spec *fieldSpec, text, base, step string) (int, *Error) {
	e := &Error{Message: fmt.Sprintf("%s %s", spec.name, quote(text))}
	n, err := strconv.ParseInt(step, 10, 64)
	switch {
	case step == "":
		e.Message += " has no number after the slash"
		e.Hint = "a step is written as in */5"
	case strings.Contains(step, "/"):
		e.Message += " has two slashes"
		e.Hint = "one step is allowed, as in */5"
	case step[0] == '+' || step[0] == '-':
		e.Message += " has a step with a sign"
		e.Hint = "a step is a plain number from 1"
	case !allDigits(step):
		if _, hint, ok := foreignSyntax(spec, text); ok {
			e.Hint = hint
		} else {
			e.Hint = "a step is a plain number from 1"
		}
		e.Message += " has a step that is not a number"
	case err != nil:
		e.Message += " has a step that is too large"
		e.Hint = fmt.Sprintf("the values are %d-%d", spec.min, spec.max)
	case n == 0:
		e.Message += " has the step 0"
		e.Hint = "a step is at least 1"
	case base == "":
		e.Message += " has nothing before the slash"
		e.Hint = fmt.Sprintf("did you mean %s?", quote("*"+text))
	default:
		// Steps wider than the field all pick its first value only.
		return int(min(n, maxStep)), nil
	}
	return 0, e
}

// parseValue reads a number or a name of the field; text is the item, for hints.
func parseValue(spec *fieldSpec, text, value string) (int, *Error) {
	for i, name := range spec.names {
		if strings.EqualFold(name, value) {
			return spec.min + i, nil
		}
	}
	if !allDigits(value) {
		return 0, notAValue(spec, text, value)
	}
	n, err := strconv.ParseInt(value, 10, 64)
	if err != nil || n < int64(spec.min) || n > int64(spec.max) {
		return 0, &Error{
			Message: fmt.Sprintf("%s %s is out of range %d-%d", spec.name, quote(value), spec.min, spec.max),
			Hint:    nearestValue(spec, n),
		}
	}
	return int(n), nil
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

func allDigits(s string) bool {
	for i := range len(s) {
		if !isDigit(s[i]) {
			return false
		}
	}
	return s != ""
}
