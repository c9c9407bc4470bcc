package cli

import (
	"context"
	"fmt"
	"slices"

	"github.com/bide-go/bide/scripts"
)

// schedulesPaused looks for schedules that no operator has paused.
func (e *examination) schedulesPaused(ctx context.Context) (finding, error) {
	applied, err := e.definitions(ctx)
	if err != nil {
		return finding{}, err
	}
	var themselves []string
	operators := 0
	for some := range slices.Chunk(applied, scripts.ProgressSchedules) {
		names := make([]string, len(some))
		for i, a := range some {
			names[i] = a.Name
		}
		got, err := e.progress(ctx, names)
		if err != nil {
			return finding{}, err
		}
		for _, s := range got.Schedules {
			switch {
			case !s.Paused(got.Now):
			case s.PausedBy == scripts.PausedItself:
				themselves = append(themselves, fmt.Sprintf("%s (%s)", s.Name, s.PausedReason))
			default:
				operators++
			}
		}
	}
	if len(themselves) > 0 {
		return finding{Status: warns, Detail: many(int64(len(themselves)), "schedule has paused itself: ", "schedules have paused themselves: ") + firstFew(themselves),
			Hint: "bide schedules history NAME shows what failed; bide schedules resume NAME lets it run again"}, nil
	}
	if operators > 0 {
		return finding{Status: fine, Detail: many(int64(operators), "schedule is", "schedules are") + " paused by operators, none by failures"}, nil
	}
	return finding{Status: fine, Detail: "no schedule is paused"}, nil
}
