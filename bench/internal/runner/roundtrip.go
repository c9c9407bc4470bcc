package runner

import (
	"context"
	"fmt"
	"time"

	"github.com/bide-go/bide/bench/internal/protocol"
	"github.com/bide-go/bide/bench/internal/result"
)

// roundtrip measures from the call that makes a job until its handler begins, one at
// a time, in one process. A system that takes seconds for each makes fewer.
func roundtrip(trips, least int, limit time.Duration) func(context.Context, *measurement) error {
	return func(ctx context.Context, m *measurement) error {
		spec := protocol.Spec{
			Mode: protocol.Roundtrip, Jobs: trips, Least: least, Warm: 1, Concurrency: 10, LimitMs: limit.Milliseconds(),
		}
		r, _, err := m.timed(ctx, spec)
		if err != nil {
			return err
		}
		if r.Started == 0 || r.Counts.Open() != 0 || r.Counts.Failed != 0 {
			return fmt.Errorf("%s: %d trips, left behind %+v", m.sys.Name, r.Started, r.Counts)
		}
		values, _ := result.Lateness(r.Micros)
		m.run.Values[result.P50], m.run.Values[result.P99] = values[result.P50], values[result.P99]
		m.run.Values[result.Trips] = float64(r.Started)
		return nil
	}
}
