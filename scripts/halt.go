package scripts

import (
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/bide-go/bide/job"
)

// ErrPast says that a pause would have ended before it began.
var ErrPast = errors.New("is not in the future")

// Pause is a pause of a schedule. The zero value is none.
type Pause struct {
	At, Until  time.Time // a zero Until is no end
	By, Reason string
}

// HoldSchedule pauses a schedule; for d if that is positive, until an instant if that
// is given. It returns Redis' time and the pause that was in force before.
func (s *Set) HoldSchedule(ctx context.Context, name, by, reason string, d time.Duration, until time.Time) (now time.Time, before Pause, err error) {
	till := ""
	switch {
	case d > 0:
		till = "+" + strconv.FormatInt(ceilMilli(d), 10)
	case !until.IsZero():
		till = strconv.FormatInt(max(ceilUnixMilli(until), 0), 10)
	}
	return s.halt(ctx, []any{name, "pause", by, reason, till})
}

// ResumeSchedule ends a pause, if there is one. It returns Redis' time.
func (s *Set) ResumeSchedule(ctx context.Context, name, by string) (now time.Time, err error) {
	now, _, err = s.halt(ctx, []any{name, "resume", by, "", ""})
	return now, err
}

func (s *Set) halt(ctx context.Context, args []any) (now time.Time, before Pause, err error) {
	reply, err := s.run(ctx, "halt", args)
	if err != nil {
		return time.Time{}, Pause{}, err
	}
	list := toList(reply)
	switch toText(item(list, 0)) {
	case "missing":
		return time.Time{}, Pause{}, job.ErrNotFound
	case "past":
		return time.Time{}, Pause{}, ErrPast
	}
	before = Pause{At: toTime(item(list, 3)), By: toText(item(list, 4)), Reason: toText(item(list, 5)), Until: toTime(item(list, 6))}
	return toTime(item(list, 1)), before, nil
}
