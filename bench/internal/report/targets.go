package report

import (
	"fmt"

	"github.com/bide-go/bide/bench/internal/result"
)

// target is a bar that bide sets itself.
type target struct {
	workload, variant, value string
	// factor is how many times better than peer it must be; with no peer, limit is
	// the most that the value may be.
	peer          string
	factor, limit float64
}

var targets = []target{
	{workload: "enqueue", variant: "1 producer", value: result.JobsPerSec, peer: "asynq", factor: 0.9},
	{workload: "enqueue", variant: "32 producers", value: result.JobsPerSec, peer: "asynq", factor: 1.1},
	{workload: "enqueue", variant: "bulk", value: result.JobsPerSec, peer: "bullmq", factor: 8},
	{workload: "process", variant: "concurrency 1", value: result.JobsPerSec, peer: "asynq", factor: 1.5},
	{workload: "process", variant: "concurrency 1", value: result.JobsPerSec, peer: "bullmq", factor: 1.5},
	{workload: "process", variant: "concurrency 10", value: result.JobsPerSec, peer: "asynq", factor: 5},
	{workload: "process", variant: "concurrency 10", value: result.JobsPerSec, peer: "bullmq", factor: 2.5},
	{workload: "process", variant: "concurrency 100", value: result.JobsPerSec, peer: "asynq", factor: 8},
	{workload: "process", variant: "concurrency 100", value: result.JobsPerSec, peer: "bullmq", factor: 4.5},
	{workload: "precision", variant: "250 a second", value: result.P50, limit: 1},
	{workload: "precision", variant: "250 a second", value: result.P99, limit: 2},
	{workload: "precision", variant: "250 a second", value: result.P99, peer: "bullmq", factor: 30},
	{workload: "precision", variant: "250 a second", value: result.Early},
	{workload: "precision", variant: "250 a second", value: result.Never},
	{workload: "precision", variant: "2,000 a second", value: result.P50, limit: 1},
	{workload: "precision", variant: "2,000 a second", value: result.P99, limit: 2},
	{workload: "precision", variant: "2,000 a second", value: result.Early},
	{workload: "precision", variant: "2,000 a second", value: result.Never},
	{workload: "precision", variant: "1 a second", value: result.P50, limit: 1},
	{workload: "precision", variant: "1 a second", value: result.P99, limit: 2},
	{workload: "precision", variant: "1 a second", value: result.Early},
	{workload: "precision", variant: "1 a second", value: result.Never},
	{workload: "burst", variant: "all at once", value: result.Settled, peer: "bullmq", factor: 4},
	{workload: "roundtrip", variant: "one at a time", value: result.P50, limit: 0.4},
	{workload: "roundtrip", variant: "one at a time", value: result.P99, limit: 2},
	{workload: "idle", variant: "one job an hour ahead", value: result.ClientPerSec, limit: 20},
	{workload: "idle", variant: "one job an hour ahead", value: result.ProgramShare, limit: 0.5},
	{workload: "memory", variant: "delayed", value: result.BytesPerJob, limit: 480},
	{workload: "memory", variant: "waiting", value: result.BytesPerJob, limit: 420},
}

// verdict is a target beside what was measured.
type verdict struct {
	variant, target, measured string
	holds                     bool
}

// judge returns the verdicts of a workload, without those that nothing was measured for.
func judge(f result.File, s section) []verdict {
	var list []verdict
	for _, t := range targets {
		if t.workload != s.workload {
			continue
		}
		own, ok := result.Summarize(f.Of(t.workload, t.variant, "bide"), t.value)
		if !ok {
			continue
		}
		c := s.column(t.value)
		if t.peer == "" {
			// For what must not happen at all, one bad round is enough.
			got := own.Median
			if t.limit == 0 {
				got = own.Max
			}
			list = append(list, verdict{t.variant, fmt.Sprintf("%s at most %s", c.title, number(t.limit)), number(got), got <= t.limit})
			continue
		}
		peer, ok := result.Summarize(f.Of(t.workload, t.variant, t.peer), t.value)
		if !ok {
			continue
		}
		r := ratio(c.better, own.Median, peer.Median)
		list = append(list, verdict{t.variant, fmt.Sprintf("%s at least %sx as good as %s", c.title, number(t.factor), t.peer), number(r) + "x", r >= t.factor})
	}
	if s.workload == "growth" {
		list = append(list, bend(f)...)
	}
	return list
}

// How much the values of the largest delayed set may differ from the smallest one's.
const (
	bendRate = 0.15
	bendMs   = 1
)

// bend compares the last variant of growth with the first.
func bend(f result.File) []verdict {
	variants := f.Variants("growth")
	if len(variants) < 2 {
		return nil
	}
	from, to := variants[0], variants[len(variants)-1]
	between := from + " to " + to
	var list []verdict
	for _, c := range sections[len(sections)-1].columns {
		a, ok := result.Summarize(f.Of("growth", from, "bide"), c.value)
		b, has := result.Summarize(f.Of("growth", to, "bide"), c.value)
		if !ok || !has {
			continue
		}
		if c.better == more {
			change := b.Median/a.Median - 1
			list = append(list, verdict{between, c.title + " fall by at most 15 %", fmt.Sprintf("%+.1f %%", 100*change), change >= -bendRate})
			continue
		}
		change := b.Median - a.Median
		list = append(list, verdict{between, c.title + " rises by at most 1", fmt.Sprintf("%+.2f", change), change <= bendMs})
	}
	return list
}

// ratio is how many times better own is than peer.
func ratio(b better, own, peer float64) float64 {
	if b == less {
		own, peer = peer, own
	}
	switch {
	case own == peer:
		return 1
	case peer == 0:
		return 0 // no ratio can be told
	}
	return own / peer
}

func (s section) column(value string) column {
	for _, c := range s.columns {
		if c.value == value {
			return c
		}
	}
	return column{value: value, title: value}
}
