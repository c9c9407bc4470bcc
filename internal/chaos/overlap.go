package chaos

import (
	"cmp"
	"slices"
	"strings"
)

// overlaps: of a schedule that does not allow it no two runs are open at a time: a
// handler begins only when that of the run before has returned. If that one had lost its
// lease, only its context must have ended.
func (c *checker) overlaps() {
	for _, e := range c.rest {
		if e.Kind != Ticks || e.State == "" || e.State == "Allow" {
			continue
		}
		var list []*run
		for _, j := range c.order {
			if strings.HasPrefix(j.id, e.What+"@") {
				list = append(list, j.runs...)
			}
		}
		slices.SortFunc(list, func(a, b *run) int { return cmp.Compare(a.At, b.At) })
		for i, b := range list {
			for _, a := range list[:i] {
				if a.ID == b.ID || c.lossBetween(a.leased(), b.At) {
					continue
				}
				until, lost := c.until(a), c.lostLease(a)
				if over := a.over(); lost && over != 0 {
					until = over
				}
				beside, may := c.beside(a, b, until)
				if !lost {
					may = 0
				}
				if beside > may {
					c.breaks(RuleOverlap, append(slices.Clone(c.jobs[a.ID].events), c.jobs[b.ID].events...),
						"%s was started %v before the end of %s", b.ID, beside, a.ID)
				}
			}
		}
	}
}

// until is when the handler of an attempt had returned, or its process was gone.
func (c *checker) until(r *run) int64 {
	if r.ended != nil {
		return r.ended.At
	}
	if p := c.procs[r.Proc]; p != nil && p.dead != 0 {
		return p.dead
	}
	return c.end
}

// lostLease reports whether an attempt had lost its lease, or may have: its process was
// gone or stood still.
func (c *checker) lostLease(r *run) bool {
	if r.ended == nil || r.context != nil && r.context.Why == "lost" || slices.ContainsFunc(r.settled, func(s Event) bool { return s.State == "" }) {
		return true
	}
	return slices.ContainsFunc(c.jobs[r.ID].runs, func(next *run) bool { return next.Lost > r.Lost })
}
