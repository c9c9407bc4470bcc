package clock

import (
	"sync/atomic"
	"time"
)

// Stamp is when something was done last. It is safe for concurrent use; its zero value
// says never.
type Stamp struct{ ns atomic.Int64 }

// Set notes that it was done at an instant.
func (s *Stamp) Set(at time.Time) { s.ns.Store(at.UnixNano()) }

// Time is when it was done last, by this machine's wall clock; zero for never.
func (s *Stamp) Time() time.Time {
	if ns := s.ns.Load(); ns != 0 {
		return time.Unix(0, ns)
	}
	return time.Time{}
}
