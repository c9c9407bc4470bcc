package runner

import (
	"context"
	"fmt"
	"time"

	"github.com/bide-go/bide/bench/internal/protocol"
	"github.com/bide-go/bide/bench/internal/result"
	"github.com/bide-go/bide/internal/clock"
)

// idle measures what a worker costs that has nothing to do.
func idle(settle, limit time.Duration) func(context.Context, *measurement) error {
	return func(ctx context.Context, m *measurement) error {
		due := clock.Now().Add(time.Hour).UnixMilli()
		if err := m.fill(ctx, protocol.Spec{Jobs: 1, DueMs: due}, 0); err != nil {
			return err
		}
		spec := protocol.Spec{
			Mode: protocol.Idle, Concurrency: 50, SettleMs: settle.Milliseconds(), LimitMs: limit.Milliseconds(),
		}
		r, u, err := m.timed(ctx, spec)
		if err != nil {
			return err
		}
		if r.Counts.Delayed != 1 || r.Counts.Open() != 1 {
			return fmt.Errorf("%s: left are %+v, want the one delayed job", m.sys.Name, r.Counts)
		}
		m.run.Values[result.RedisShare] = 100 * u.redisCPU / u.seconds
		m.run.Values[result.ProgramShare] = 100 * u.programCPU / u.seconds
		return m.countCommands(ctx, spec)
	}
}

// countCommands runs the idle worker again, to count what it sends: the counting has a
// price, so it is kept out of the CPU times.
func (m *measurement) countCommands(ctx context.Context, spec protocol.Spec) error {
	spec.LimitMs /= 2
	m.watch = true
	defer func() { m.watch = false }()
	_, u, err := m.child(ctx, spec)
	if err != nil {
		return err
	}
	m.run.Values[result.ClientPerSec] = float64(m.watched) / u.seconds
	return nil
}
