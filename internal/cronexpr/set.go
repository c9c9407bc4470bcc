package cronexpr

import "time"

// Set is the union of expressions in one time zone. An instant at which several
// of them fire is one instant of the set.
type Set struct {
	loc         *time.Location
	expressions []*Expression
}

// NewSet returns the union of the expressions on the wall clock of loc; nil means
// UTC. Without expressions it never fires.
func NewSet(loc *time.Location, expressions ...*Expression) *Set {
	if loc == nil {
		loc = time.UTC
	}
	return &Set{loc: loc, expressions: append([]*Expression(nil), expressions...)}
}

// Next returns the first instant strictly after the given one at which any of the
// expressions fires, in the zone of the set. It is the zero time if there is none
// (see [Expression.Next]).
func (s *Set) Next(after time.Time) time.Time {
	var first time.Time
	for _, e := range s.expressions {
		next := e.Next(after, s.loc)
		if first.IsZero() || !next.IsZero() && next.Before(first) {
			first = next
		}
	}
	return first
}
