package runner

import (
	"context"
	"fmt"
	"time"

	"github.com/bide-go/bide/bench/internal/protocol"
	"github.com/bide-go/bide/bench/internal/result"
	"github.com/bide-go/bide/internal/clock"
)

// memory measures by how much the memory that Redis has in use grows for each job.
// Connections and scripts are there before.
func memory(jobs int, delayed bool) func(context.Context, *measurement) error {
	return func(ctx context.Context, m *measurement) error {
		spec := protocol.Spec{Mode: protocol.Enqueue, Jobs: jobs, Warm: 100, Producers: 8}
		if m.sys.bulk {
			spec.Batch = 1000
		}
		if delayed {
			spec.DueMs, spec.OverMs = clock.Now().Add(24*time.Hour).UnixMilli(), time.Hour.Milliseconds()
		}
		r, u, err := m.timed(ctx, spec)
		if err != nil {
			return err
		}
		if want := jobs + spec.Warm; r.Counts.Open() != want {
			return fmt.Errorf("%s counts %+v after %d jobs were made", m.sys.Name, r.Counts, want)
		}
		m.run.Values[result.BytesPerJob] = u.memory / float64(jobs)
		return nil
	}
}
