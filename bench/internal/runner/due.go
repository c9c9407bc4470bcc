package runner

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/bide-go/bide/bench/internal/result"
)

// precision measures how late jobs start that are due evenly over a time: the instant
// at which the handler begins, less the due time that the API was given, by one clock.
func precision(jobs int, over time.Duration) func(context.Context, *measurement) error {
	return func(ctx context.Context, m *measurement) error {
		_, r, err := m.workDue(ctx, jobs, over, 50, 0)
		if err != nil {
			return err
		}
		values, points := result.Lateness(r.Micros)
		maps.Copy(m.run.Values, values)
		m.run.Points = points
		return nil
	}
}

// burst measures how long many jobs take that are due at one instant.
func burst(jobs int) func(context.Context, *measurement) error {
	return func(ctx context.Context, m *measurement) error {
		spec, r, err := m.workDue(ctx, jobs, 0, 100, 0)
		if err != nil {
			return err
		}
		starts := slices.Sorted(slices.Values(r.Micros))
		if n := len(starts); n > 0 {
			m.run.Values[result.First] = float64(starts[0]) / 1000
			m.run.Values[result.Half] = float64(starts[n/2]) / 1000
		}
		m.run.Values[result.Settled] = float64(r.EndUs)/1000 - float64(spec.DueMs)
		m.run.Points = result.Drain(starts)
		return nil
	}
}
