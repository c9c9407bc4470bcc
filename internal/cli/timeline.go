package cli

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/bide-go/bide/internal/cronexpr"
	"github.com/bide-go/bide/scheduler"
)

// timeline is the coming runs of one schedule, with what is to be said of each.
type timeline struct {
	previewed
	loc         *time.Location
	expressions []*cronexpr.Expression
	ticks       []scheduler.Tick
	notes       [][]string // of each tick; never nil
	held        []bool     // whether each tick will not run
	more        bool       // count left some of the window out
}

// timeline asks the engine for the ticks: there is one implementation of them.
func (s previewed) timeline(w window) (timeline, error) {
	t := timeline{previewed: s}
	from := w.from
	if from.IsZero() {
		from = w.now
	}
	var until time.Time
	if !w.until.IsZero() {
		until = w.until.Add(1) // with it
	}
	ticks, err := s.definition.Upcoming(from.Add(1), until, w.count+1)
	if err != nil {
		return t, err
	}
	t.more = len(ticks) > w.count && !w.until.IsZero()
	t.ticks = ticks[:min(len(ticks), w.count)]
	if t.loc, err = time.LoadLocation(cmp.Or(s.definition.TimeZone, "UTC")); err != nil {
		return t, err
	}
	for _, text := range s.definition.Schedule {
		e, err := cronexpr.Parse(text)
		if err != nil {
			return t, err
		}
		t.expressions = append(t.expressions, e)
	}
	from, _ = s.definition.Within(from, from)
	t.annotate(from)
	return t, nil
}

func (t *timeline) name() string {
	if t.anonymous {
		return "it"
	}
	return t.definition.Name
}

// words is the expressions in words.
func (t *timeline) words() string {
	var list []string
	for i, e := range t.expressions {
		words := e.Words()
		if i > 0 {
			words = strings.ToLower(words[:1]) + words[1:]
		}
		list = append(list, words)
	}
	return strings.Join(list, "; ")
}

// annotate notes at each tick what a clock change has to do with it, and what keeps
// it from running.
func (t *timeline) annotate(from time.Time) {
	t.notes, t.held = make([][]string, len(t.ticks)), make([]bool, len(t.ticks))
	for i := range t.notes {
		t.notes[i] = []string{}
	}
	if len(t.ticks) == 0 {
		return
	}
	const apart = 24 * time.Hour // wall times in question lie that near to a change, at most
	for _, e := range t.expressions {
		for _, c := range e.ClockChanges(t.loc, from.Add(-apart), t.ticks[len(t.ticks)-1].Tick.Add(apart)) {
			for _, i := range t.concerned(c, from) {
				if note := changeNote(c); !slices.Contains(t.notes[i], note) && (c.Touched || !t.touched(c)) {
					t.notes[i] = append(t.notes[i], note)
				}
			}
		}
	}
	for i, tick := range t.ticks {
		for _, why := range t.heldBack(tick.Tick) {
			t.notes[i] = append(t.notes[i], "does not run: "+why)
			t.held[i] = true
		}
	}
}

// changeNote is a clock change at a tick, which shows the date and the zone.
func changeNote(c cronexpr.ClockChange) string {
	return fmt.Sprintf("the clocks go from %s to %s; %s", c.From, c.To, c.Effect)
}

// touched reports whether a clock change skips, moves or repeats a run of any of
// the expressions.
func (t *timeline) touched(c cronexpr.ClockChange) bool {
	return slices.ContainsFunc(t.expressions, func(e *cronexpr.Expression) bool {
		return slices.ContainsFunc(e.ClockChanges(t.loc, c.At.Add(-1), c.At), func(c cronexpr.ClockChange) bool { return c.Touched })
	})
}

// concerned are the ticks at which a clock change is to be told: those at repeated
// wall times that matter, else the first one after the change.
func (t *timeline) concerned(c cronexpr.ClockChange, from time.Time) []int {
	_, before := c.At.Add(-time.Second).Zone()
	_, after := c.At.Zone()
	if back := time.Duration(before-after) * time.Second; c.Touched && back > 0 {
		var list []int
		for i, tick := range t.ticks {
			if d := tick.Tick.Sub(c.At); d >= -back && d < back {
				list = append(list, i)
			}
		}
		return list
	}
	i := slices.IndexFunc(t.ticks, func(tick scheduler.Tick) bool { return !tick.Tick.Before(c.At) })
	if i < 0 || !c.At.After(from) {
		return nil
	}
	return []int{i}
}

// pausedWords say who paused and why.
func pausedWords(h *scheduler.Hold) string {
	words := "paused"
	if h.By != "" {
		words += " by " + h.By
	}
	if !h.Until.IsZero() {
		words += " until " + h.Until.UTC().Format(time.RFC3339)
	}
	if h.Reason != "" {
		words += ": " + h.Reason
	}
	return words
}

// showTimeline writes a heading, a table of the runs and the clock changes ahead.
func (p *program) showTimeline(t timeline, w window) error {
	heading := painted(p.set.color, bold, clean(t.words())) + ", " + t.loc.String()
	if !t.anonymous {
		heading = painted(p.set.color, bold, clean(t.definition.Name)) + "  " + clean(t.words()) + ", " + t.loc.String()
	}
	fmt.Fprintln(p.stdout, heading)
	for _, why := range t.heldBack(w.now) {
		if why == suspendedWords && t.definition.Description != "" {
			why += ": " + t.definition.Description
		}
		fmt.Fprintln(p.stdout, painted(p.set.color, yellow, "NOT RUNNING")+"  "+clean(why))
	}
	if len(t.ticks) == 0 {
		fmt.Fprintln(p.stdout, "no run "+t.within(w))
	} else if err := p.showTicks(t, w); err != nil {
		return err
	}
	from := w.from
	if from.IsZero() {
		from = w.now
	}
	to := cronexpr.Ahead(from)
	if !w.until.IsZero() && w.until.Before(to) {
		to = w.until
	}
	from, to = t.definition.Within(from, to)
	return p.showClockChanges(t.expressions, t.loc, from, to, false)
}

// within says when there is no run.
func (t *timeline) within(w window) string {
	switch {
	case !w.until.IsZero():
		return "until " + w.until.In(t.loc).Format(time.RFC3339)
	case !t.definition.EndAt.IsZero():
		return "any more: it ended at " + t.definition.EndAt.In(t.loc).Format(time.RFC3339)
	}
	return "any more"
}

const suspendedWords = "suspended by its file"

// heldBack says what keeps a tick at that instant from running.
func (t *timeline) heldBack(at time.Time) []string {
	var list []string
	if h := t.pause; h != nil && (h.Until.IsZero() || at.Before(h.Until)) {
		list = append(list, pausedWords(h))
	}
	if t.definition.Suspend {
		list = append(list, suspendedWords)
	}
	return list
}

func (p *program) showTicks(t timeline, w window) error {
	list := make([]time.Time, len(t.ticks))
	for i, tick := range t.ticks {
		list[i] = tick.Tick
	}
	form := instantsOf(t.loc, list)
	var rows [][]cell
	for i, tick := range t.ticks {
		jitter := ""
		if tick.Jitter > 0 {
			jitter = "+" + tick.Jitter.String()
		}
		when, notes := plain(relative(tick.Due.Sub(w.now))), t.notes[i]
		if t.held[i] { // why stands above the table
			when = cell{"does not run", yellow}
			notes = slices.DeleteFunc(slices.Clone(notes), func(note string) bool { return strings.HasPrefix(note, "does not run: ") })
		}
		rows = append(rows, append(form.cells(tick.Tick), plain(jitter), when, cell{strings.Join(notes, "; "), yellow}))
	}
	return p.table(append(form.columns(),
		column{head: "jitter", right: true, optional: true}, column{head: "when"},
		column{head: "note", wrap: true, yield: 2, optional: true}), rows)
}
