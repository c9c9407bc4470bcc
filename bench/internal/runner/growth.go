package runner

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

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
		if err := m.tablesGrown(ctx, ahead+2*drain); err != nil {
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

// tablesGrown lets Redis finish growing the hash tables of its keys and of the delayed
// set. It doubles a table that is full and then moves it over entry by entry, a step
// with each look into it: a million jobs are just below such a doubling, and what is
// asked here is what a delayed job costs, not what the next step of Redis does.
func (m *measurement) tablesGrown(ctx context.Context, steps int) error {
	const look = `for i = 1, ARGV[1] do redis.call('EXISTS', '{bide}:none') redis.call('ZSCORE', '{bide}:delayed', '') end`
	const atOnce = 20_000
	for ; steps > 0; steps -= atOnce {
		if err := m.srv.Client.Eval(ctx, look, []string{"{bide}:none"}, min(steps, atOnce)).Err(); err != nil && !errors.Is(err, redis.Nil) {
			return fmt.Errorf("look into the tables: %w", err)
		}
	}
	return nil
}

// promotion measures how fast a promoter brings jobs to their lanes that have become
// due while it was away.
func (m *measurement) promotion(ctx context.Context, jobs, ahead int) error {
	due := clock.Now().Add(m.lead + time.Duration(jobs)*time.Second/time.Duration(m.sys.fillRate))
	if err := m.fill(ctx, protocol.Spec{Jobs: jobs, DueMs: due.UnixMilli()}, ahead); err != nil {
		return err
	}
	if err := m.tablesGrown(ctx, ahead+2*jobs); err != nil {
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
