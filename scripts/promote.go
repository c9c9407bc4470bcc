package scripts

import (
	"context"
	"math"
	"time"
)

// PromoteJobs bounds one call of promote.
const PromoteJobs = 1000

// Promoted is what one call of promote did.
type Promoted struct {
	// Taken counts the due entries that left the delayed set.
	Taken int
	// Next is how long until the next one is due, 0 if it is now; negative if the
	// delayed set is empty.
	Next time.Duration
	// Inbox counts the entries that wait to be adopted.
	Inbox int
}

// Promote moves up to limit due jobs to the lanes. With beat it also notes that a
// promoter is alive.
func (s *Set) Promote(ctx context.Context, limit int, beat bool) (Promoted, error) {
	flag := ""
	if beat {
		flag = "1"
	}
	reply, err := s.run(ctx, "promote", []any{limit, flag})
	if err != nil {
		return Promoted{}, err
	}
	list := toList(reply)
	return Promoted{
		Taken: int(toInt(item(list, 0))),
		Next:  time.Duration(min(toInt(item(list, 1)), math.MaxInt64/1000)) * time.Microsecond,
		Inbox: int(toInt(item(list, 2))),
	}, nil
}
