package cronexpr

import "time"

// Expression is one parsed schedule expression. It holds no time zone: the zone is
// given to [Expression.Next].
type Expression struct {
	text    string
	every   time.Duration // of @every; zero for all others
	seconds bool          // six fields were written

	// fields are the six fields as written, the second first (made up for five
	// fields). They serve the warnings; Next uses calendar alone.
	fields   [fieldCount]field
	calendar calendar
	// fixed tells jobs at fixed wall times from interval jobs, which have a * or
	// a / in the minute or hour field.
	fixed bool
}

// Text returns the expression as it was written, without the blanks around it.
func (e *Expression) Text() string { return e.text }

// String returns [Expression.Text].
func (e *Expression) String() string { return e.text }

// Every returns the interval of an @every expression, and zero for any other.
func (e *Expression) Every() time.Duration { return e.every }

// HasSeconds reports whether six fields were written, the first being the second.
func (e *Expression) HasSeconds() bool { return e.seconds }

// Fields lists the values of each field in ascending order. Sunday is 0.
type Fields struct {
	Second     []int
	Minute     []int
	Hour       []int
	DayOfMonth []int
	Month      []int
	DayOfWeek  []int
}

// Fields returns the values that each field matches, or nil for @every, which has
// none. How the two day fields combine is told in the package comment.
func (e *Expression) Fields() *Fields {
	if e.every > 0 {
		return nil
	}
	c := &e.calendar
	return &Fields{
		Second:     c.second.list(),
		Minute:     c.minute.list(),
		Hour:       c.hour.list(),
		DayOfMonth: c.dom.list(),
		Month:      c.month.list(),
		DayOfWeek:  c.dow.list(),
	}
}
