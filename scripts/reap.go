package scripts

import (
	"context"
	"time"

	"github.com/bide-go/bide/job"
)

// Reaped is one job taken back after its lease ran out.
type Reaped struct {
	ID    string
	State job.State
	// Paused is its schedule if its end has paused that, else zero.
	Paused Paused
}

// Reap takes back up to limit jobs whose lease had run out by before. now is
// Redis' time; more says that others are left.
func (s *Set) Reap(ctx context.Context, before time.Time, limit, maxLost int) (reaped []Reaped, now time.Time, more bool, err error) {
	reply, err := s.run(ctx, "reap", []any{before.UnixMilli(), limit, maxLost})
	if err != nil {
		return nil, time.Time{}, false, err
	}
	list := toList(reply)
	for i := 2; i+3 < len(list); i += 4 {
		state := job.State(toText(list[i+1]))
		if state == "spoilt" {
			state = job.Dead
		}
		reaped = append(reaped, Reaped{ID: toText(list[i]), State: state, Paused: Paused{toText(list[i+2]), toText(list[i+3])}})
	}
	return reaped, toTime(item(list, 0)), toInt(item(list, 1)) > 0, nil
}
