package cli

import (
	"fmt"
	"time"
)

// moment is a time as people give it: an instant, or what a clock shows, to be read
// in a zone that is known later. The zero value is none.
type moment struct {
	at   time.Time // of a clock's: as if it were UTC
	wall bool
}

// clockForms are the forms of times without an offset.
var clockForms = []string{"2006-01-02", "2006-01-02 15:04", "2006-01-02 15:04:05", "2006-01-02T15:04", "2006-01-02T15:04:05"}

func parseMoment(text string) (moment, bool) {
	if t, err := time.Parse(time.RFC3339, text); err == nil {
		return moment{at: t}, true
	}
	for _, form := range clockForms {
		if t, err := time.Parse(form, text); err == nil {
			return moment{t, true}, true
		}
	}
	return moment{}, false
}

// instant reads a time with its offset: there is no zone to read another one in.
func (v *values) instant(found value) time.Time {
	m, ok := parseMoment(found.text)
	if !ok || m.wall {
		v.refuse(found.from, fmt.Sprintf("%q is not a time with its offset, such as 2026-12-01T09:00:00+01:00 or 2026-12-01T08:00:00Z", found.text))
		return time.Time{}
	}
	return m.at
}

// moment reads a time with its offset, or a date or time of day without.
func (v *values) moment(found value) moment {
	m, ok := parseMoment(found.text)
	if ok {
		return m
	}
	v.refuse(found.from, fmt.Sprintf("%q is not a time, such as 2026-12-01, 2026-12-01 09:00 or, with its offset, 2026-12-01T09:00:00+01:00", found.text))
	return moment{}
}

func (m moment) isZero() bool { return m.at.IsZero() }

// in is the instant at which the clock of loc shows the moment. Of one that it shows
// twice that is the first; one that it skips is read as if it had not gone forward.
func (m moment) in(loc *time.Location) time.Time {
	if !m.wall {
		return m.at
	}
	by := func(at time.Time) (time.Time, bool) {
		_, offset := at.In(loc).Zone()
		t := m.at.Add(-time.Duration(offset) * time.Second).In(loc)
		_, found := t.Zone()
		return t, found == offset
	}
	before, ok := by(m.at.Add(-36 * time.Hour)) // zones are at most 14 h from UTC
	if ok {
		return before
	}
	if after, ok := by(before); ok {
		return after
	}
	return before
}

// clockWords say on whose clock flags without an offset were read.
func clockWords(flags string, loc *time.Location) string {
	return fmt.Sprintf("%s without an offset: on the clock of %s", flags, loc)
}
