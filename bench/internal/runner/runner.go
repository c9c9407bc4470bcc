// Package runner measures: it starts a Redis and a process of a system's adapter for
// each measurement, lets the systems take turns, and repeats what was disturbed.
package runner

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/bide-go/bide/bench/internal/machine"
	"github.com/bide-go/bide/bench/internal/result"
	"github.com/bide-go/bide/internal/clock"
)

// Bench is one run of the program.
type Bench struct {
	Dir       string   // of the sources, where bullmq/ is
	Workloads []string // all if empty
	Systems   []string // all if empty
	Rounds    int
	Smoke     bool    // small numbers, and any fault of anyone is an error
	Threshold float64 // cores that others may use before a run is repeated
	Repeats   int     // of a disturbed run, at most
	NeedNode  bool    // an error, instead of a note, if BullMQ cannot run
	Command   string  // that the results say they were made by
	Progress  Progress

	epoch time.Time
}

// now is seconds since the start, by the monotonic clock.
func (b *Bench) now() float64 { return clock.Since(b.epoch).Seconds() }

// turn is one measurement to make.
type turn struct {
	v     variant
	s     System
	round int
}

// Run measures everything. The error, if the file is not empty, says that some of it
// has no result; the file then lists what.
func (b *Bench) Run(ctx context.Context) (result.File, error) {
	b.epoch = clock.Now()
	systems, notes, err := b.systems(ctx)
	if err != nil {
		return result.File{}, err
	}
	turns, err := b.turns(systems)
	if err != nil {
		return result.File{}, err
	}
	f := b.describe(ctx, systems)
	f.Notes = append(f.Notes, notes...)
	b.Progress.Start(len(turns))
	defer b.Progress.Stop()
	runs := make([]*result.Run, len(turns))
	faults := make([]error, len(turns))
	var next atomic.Int64
	var wg sync.WaitGroup
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	for range b.atOnce() {
		wg.Go(func() {
			for {
				i := int(next.Add(1)) - 1
				if i >= len(turns) || ctx.Err() != nil {
					return
				}
				run, err := b.take(ctx, turns[i])
				if err == nil {
					runs[i] = &run
				} else if faults[i] = err; b.Smoke {
					stop(err)
				}
			}
		})
	}
	wg.Wait()
	if ctx.Err() != nil {
		return f, context.Cause(ctx)
	}
	for i, run := range runs {
		if run != nil {
			f.Runs = append(f.Runs, *run)
		} else {
			f.Failures = append(f.Failures, faults[i].Error())
		}
	}
	if len(f.Failures) > 0 {
		return f, fmt.Errorf("%d measurements have no result; the first: %s", len(f.Failures), f.Failures[0])
	}
	return f, nil
}

// atOnce is how many measurements run side by side: one, unless nothing is measured.
func (b *Bench) atOnce() int {
	if b.Smoke {
		return 4
	}
	return 1
}

func (b *Bench) sizes() sizes {
	if b.Smoke {
		return smoke
	}
	return full
}

// take makes one measurement and tells how it goes.
func (b *Bench) take(ctx context.Context, t turn) (result.Run, error) {
	b.Progress.Turn(fmt.Sprintf("%s, %s: %s, round %d", t.v.workload, t.v.name, t.s.Name, t.round))
	defer b.Progress.Done()
	run, err := b.clean(ctx, t)
	if err != nil {
		err = fmt.Errorf("%s, %s: round %d: %w", t.v.workload, t.v.name, t.round, err)
		if ctx.Err() == nil {
			b.Progress.Note(err.Error())
		}
	}
	return run, err
}

// turns puts the measurements in order: within a variant the systems take turns, A B C
// A B C, so that a change of the machine's mood hits all.
func (b *Bench) turns(systems []System) ([]turn, error) {
	for _, w := range b.Workloads {
		if !slices.Contains(Workloads, w) {
			return nil, fmt.Errorf("no workload is called %q; there are %v", w, Workloads)
		}
	}
	var list []turn
	for _, v := range plan(b.sizes()) {
		if len(b.Workloads) > 0 && !slices.Contains(b.Workloads, v.workload) {
			continue
		}
		rounds := max(1, b.Rounds)
		if v.rounds > 0 {
			rounds = min(rounds, v.rounds)
		}
		for round := range rounds {
			for _, s := range systems {
				if s.takes(v) {
					list = append(list, turn{v, s, round + 1})
				}
			}
		}
	}
	if len(list) == 0 {
		return nil, errors.New("nothing to measure")
	}
	return list, nil
}

// clean measures until a run was not disturbed, or keeps the least disturbed one.
func (b *Bench) clean(ctx context.Context, t turn) (result.Run, error) {
	var best result.Run
	for attempt := 0; ; attempt++ {
		run, err := b.withLead(ctx, t.v, t.s)
		if err != nil {
			return run, err
		}
		run.Round = t.round
		run.Disturbed = run.OtherCPU+run.Steal > b.Threshold
		if attempt == 0 || run.OtherCPU+run.Steal < best.OtherCPU+best.Steal {
			best = run
		}
		best.Dropped = attempt
		if !run.Disturbed || attempt >= b.Repeats || !machine.CanMeasure {
			return best, nil
		}
		b.Progress.Note(fmt.Sprintf("%s, %s: %s: others used %.2f of a core, %.2f stolen: again",
			t.v.workload, t.v.name, t.s.Name, run.OtherCPU, run.Steal))
	}
}
