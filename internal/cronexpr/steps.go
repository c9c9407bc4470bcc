package cronexpr

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/bide-go/bide/internal/duration"
)

// coarser names, for each field, what its values begin anew with.
var coarser = [fieldCount]string{
	secondField: "minute", minuteField: "hour", hourField: "day", domField: "month", monthField: "year", dowField: "week",
}

// unevenSteps looks for steps over a whole field that leave another pause at its
// end: crontab's steps restart, they do not count on.
func (e *Expression) unevenSteps(index int) []Warning {
	spec := &specs[index]
	width := spec.max - spec.min + 1
	if index == dowField {
		width = 7 // 0 and 7 are one day
	}
	var all []Warning
	for _, it := range e.fields[index].items {
		closed := strings.Contains(it.text, "-") && (it.lo != spec.min || it.hi != spec.max)
		if it.step == 1 || closed {
			continue // a closed range ends where its author wanted
		}
		last := it.lo + (it.hi-it.lo)/it.step*it.step
		if index == dowField && last-it.lo == width {
			last -= it.step // the same Sunday
		}
		pause := it.lo + width - last
		if pause == it.step && index != domField { // no step divides all months
			continue
		}
		message := fmt.Sprintf("%s %s restarts in every %s: after %d comes %d", spec.name, quote(it.text), coarser[index], last, it.lo)
		if index != domField {
			message += fmt.Sprintf(", %s later instead of %d", count(pause, unitNames[index]), it.step)
		}
		all = append(all, Warning{Code: WarnUnevenStep, Message: message, Hint: e.evenly(index, it.step)})
	}
	return all
}

// unitNames are the units of the steps.
var unitNames = [fieldCount]string{"second", "minute", "hour", "day", "month", "day"}

func count(n int, unit string) string {
	if n == 1 {
		return "1 " + unit
	}
	return fmt.Sprintf("%d %ss", n, unit)
}

// evenly suggests @every for a step, if the step is all that the expression says:
// the finer fields have one value, the coarser ones all.
func (e *Expression) evenly(index, step int) string {
	unit := [fieldCount]string{"s", "m", "h", "d", "", "d"}[index]
	d, err := duration.Parse(strconv.Itoa(step) + unit)
	if unit == "" || err != nil {
		return ""
	}
	for i := range e.fields {
		f := &e.fields[i]
		finer := i < index && i < domField
		switch {
		case i == index && len(f.items) > 1,
			i != index && finer && (len(f.items) > 1 || !f.singles()),
			i != index && !finer && f.text != "*" && f.text != "?":
			return ""
		}
	}
	return fmt.Sprintf("for an even pace write %s", quote("@every "+duration.Format(d)))
}
