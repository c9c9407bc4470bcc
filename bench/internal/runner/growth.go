package runner

import (
	"context"
	"fmt"
	"time"

	"github.com/bide-go/bide/bench/internal/protocol"
	"github.com/bide-go/bide/bench/internal/result"
	"github.com/bide-go/bide/internal/clock"
)

// growth measures whether jobs that lie far ahead in the delayed set slow down those
// of today: draining, promoting and punctuality beside them.
func growth(ahead, drain, late int) func(context.Context, *measurement) error {
	return func(ctx context.Context, m *measurement) error {
		tomorrow := clock.Now().Add(24 * time.Hour).UnixMilli()
		if err := m.fill(ctx, protocol.Spec{Jobs: ahead, DueMs: tomorrow, OverMs: (24 * time.Hour).Milliseconds()}, 0); err != nil {
			return err
		}
		if err := m.fill(ctx, protocol.Spec{Jobs: drain}, ahead); err != nil {
			return err
		}
		r, _, err := m.drain(ctx, drain, 100, ahead)
		if err != nil {
			return err
		}
		m.run.Values[result.DrainRate] = float64(drain) / r.Seconds

		if err := m.promotion(ctx, drain, ahead); err != nil {
			return err
		}
		_, r, err = m.workDue(ctx, late, time.Duration(late)*time.Millisecond, 50, ahead)
		if err != nil {
			return err
		}
		values, _ := result.Lateness(r.Micros)
		m.run.Values[result.P99] = values[result.P99]
		return nil
	}
}

// promotion measures how fast a promoter brings jobs to their lanes that have become
// due while it was away.
func (m *measurement) promotion(ctx context.Context, jobs, ahead int) error {
	due := clock.Now().Add(m.lead + time.Duration(jobs)*time.Second/time.Duration(m.sys.fillRate))
	if err := m.fill(ctx, protocol.Spec{Jobs: jobs, DueMs: due.UnixMilli()}, ahead); err != nil {
		return err
	}
	if !clock.Sleep(ctx, clock.Until(due)+100*time.Millisecond) {
		return ctx.Err()
	}
	r, _, err := m.timed(ctx, protocol.Spec{Mode: protocol.Promote, Jobs: jobs, Leave: ahead, LimitMs: workLimit.Milliseconds()})
	if err != nil {
		return err
	}
	if r.Counts.Delayed != ahead || r.Counts.Waiting != jobs {
		return fmt.Errorf("%d jobs were due beside %d, promoted are %+v", jobs, ahead, r.Counts)
	}
	m.run.Values[result.PromoteRate] = float64(jobs) / r.Seconds
	_, _, err = m.drain(ctx, jobs, 100, ahead)
	return err
}
