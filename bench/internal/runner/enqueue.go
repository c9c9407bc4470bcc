package runner

import (
	"context"
	"fmt"

	"github.com/bide-go/bide/bench/internal/protocol"
	"github.com/bide-go/bide/bench/internal/result"
)

// enqueue measures how fast jobs are made.
func enqueue(jobs, producers, batch int) func(context.Context, *measurement) error {
	return func(ctx context.Context, m *measurement) error {
		spec := protocol.Spec{Mode: protocol.Enqueue, Jobs: jobs, Warm: 100, Producers: producers, Batch: batch}
		r, u, err := m.timed(ctx, spec)
		if err != nil {
			return err
		}
		if want := jobs + spec.Warm; r.Counts.Waiting != want || r.Counts.Open() != want {
			return fmt.Errorf("%s counts %+v after %d jobs were made", m.sys.Name, r.Counts, want)
		}
		m.rate(jobs, r.Seconds, u)
		return nil
	}
}

// rate notes the values of a workload that is about throughput.
func (m *measurement) rate(jobs int, seconds float64, u usage) {
	m.run.Values[result.JobsPerSec] = float64(jobs) / seconds
	m.run.Values[result.Commands] = u.commands / float64(jobs)
	m.run.Values[result.RedisCPU] = u.redisCPU
	m.run.Values[result.ProgramCPU] = u.programCPU
}
