package cronexpr

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/bide-go/bide/internal/duration"
)

// Normalized writes the expression anew in one form for all that mean the same:
// numbers for names, ranges and steps where there are some, five fields if the
// second is 0, the shortest duration of @every. It fires at exactly the same
// instants in every zone: the stars and slashes that decide about days and about
// clock changes are kept.
func (e *Expression) Normalized() string {
	if e.every > 0 {
		return "@every " + duration.Format(e.every)
	}
	c := &e.calendar
	values := [fieldCount]bitset{c.second, c.minute, c.hour, c.dom, c.month, c.dow}
	var fields []string
	for i := range e.fields {
		if i == secondField && c.second == 1 {
			continue
		}
		fields = append(fields, e.normalField(i, values[i]))
	}
	return strings.Join(fields, " ")
}

// normalField writes one field. In minute and hour a star or slash makes an interval
// job, in the day fields a star at the beginning joins them: both are kept, and
// none is made up.
func (e *Expression) normalField(index int, values bitset) string {
	f := &e.fields[index]
	allowed, needed := true, false // a star at the beginning, and in minute and hour a slash
	switch index {
	case minuteField, hourField:
		allowed, needed = !e.fixed, f.wild()
	case domField, dowField:
		allowed, needed = f.star, f.star
	}
	day := index == domField || index == dowField
	if allowed {
		if text := starred(index, values); text != "" && (needed || text == "*" || len(values.list()) > 2) {
			return text
		}
	}
	if needed && day {
		return f.keepFirst(index, values)
	}
	if text := stepped(values, highest(index), needed); text != "" && (allowed || day) {
		return text
	}
	if needed {
		return f.keepFirst(index, values)
	}
	return ranges(values)
}

// highest is the largest number of a field in a bit set, where Sunday is 0.
func highest(index int) int {
	if index == dowField {
		return 6
	}
	return specs[index].max
}

// starred writes values as * or */n, if they are that.
func starred(index int, values bitset) string {
	spec := &specs[index]
	if values == stepSet(index, 1) {
		return "*"
	}
	for step := 2; step <= spec.max-spec.min+1; step++ {
		if values == stepSet(index, step) {
			return fmt.Sprintf("*/%d", step)
		}
	}
	return ""
}

// stepSet is the values of */step.
func stepSet(index, step int) bitset {
	spec := &specs[index]
	var set bitset
	for v := spec.min; v <= spec.max; v += step {
		if index == dowField {
			set |= 1 << (v % 7)
			continue
		}
		set |= 1 << v
	}
	return set
}

// stepped writes values as a-b/n, if they are that. A single one is written so only
// if it must have a slash.
func stepped(values bitset, hi int, must bool) string {
	list := values.list()
	first, last := list[0], list[len(list)-1]
	if len(list) == 1 {
		if must {
			return fmt.Sprintf("%d/%d", first, hi-first+1)
		}
		return ""
	}
	step := list[1] - list[0]
	for i := 2; i < len(list); i++ {
		if list[i]-list[i-1] != step {
			return ""
		}
	}
	switch {
	case must && last+step > hi:
		return fmt.Sprintf("%d/%d", first, step)
	case must || step > 1 && len(list) > 2:
		return fmt.Sprintf("%d-%d/%d", first, last, step)
	}
	return ""
}

// keepFirst keeps the item that makes the field what it is, and lists the rest.
func (f *field) keepFirst(index int, values bitset) string {
	spec := &specs[index]
	for _, it := range f.items {
		if !strings.ContainsAny(it.text, "*/") {
			continue
		}
		var own bitset
		for v := it.lo; v <= it.hi; v += it.step {
			n := v
			if index == dowField {
				n %= 7
			}
			own |= 1 << n
		}
		text := fmt.Sprintf("%d-%d/%d", it.lo, it.hi, it.step)
		if strings.HasPrefix(it.text, "*") {
			text = fmt.Sprintf("*/%d", min(it.step, spec.max-spec.min+1))
		}
		if rest := values &^ own; rest != 0 {
			text += "," + ranges(rest)
		}
		return text
	}
	return f.text // not reached: whoever calls has seen such an item
}

// ranges lists values, three and more in a row as a-c.
func ranges(values bitset) string {
	list := runs(values.list(), strconv.Itoa)
	for i := range list {
		list[i] = strings.Replace(list[i], " to ", "-", 1)
	}
	return strings.Join(list, ",")
}
