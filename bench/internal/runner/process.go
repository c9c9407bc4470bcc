package runner

import (
	"context"

	"github.com/bide-go/bide/bench/internal/protocol"
)

// process measures how fast waiting jobs are drained: from the start of a worker
// until the system says that none is left. The jobs were made by another process.
func process(jobs, concurrency int) func(context.Context, *measurement) error {
	return func(ctx context.Context, m *measurement) error {
		if err := m.fill(ctx, protocol.Spec{Jobs: jobs}, 0); err != nil {
			return err
		}
		r, u, err := m.drain(ctx, jobs, concurrency, 0)
		if err != nil {
			return err
		}
		m.rate(jobs, r.Seconds, u)
		return nil
	}
}

// drain runs a worker until all waiting jobs are settled, beside delayed ones.
func (m *measurement) drain(ctx context.Context, jobs, concurrency, beside int) (protocol.Result, usage, error) {
	spec := protocol.Spec{
		Mode: protocol.Work, Jobs: jobs, Concurrency: concurrency, Leave: beside,
		LimitMs: 2 * workLimit.Milliseconds(),
	}
	r, u, err := m.timed(ctx, spec)
	if err == nil {
		err = settled(m.sys, spec, r)
	}
	return r, u, err
}
