package runner

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"time"

	"github.com/bide-go/bide/bench/internal/machine"
	"github.com/bide-go/bide/bench/internal/protocol"
	"github.com/bide-go/bide/bench/internal/redisserver"
	"github.com/bide-go/bide/bench/internal/result"
	"github.com/bide-go/bide/internal/clock"
	"github.com/bide-go/bide/scripts"
)

// measurement is one run of one system in one variant, on a server of its own.
type measurement struct {
	bench *Bench
	sys   System
	v     variant
	srv   *redisserver.Server
	host  string

	programCore int // -1 if not pinned
	lead        time.Duration
	used        usage // over all measured phases
	run         result.Run

	watch   bool // whether the next phase counts the commands that clients send
	watched int
}

// measure makes one attempt.
func (b *Bench) measure(ctx context.Context, v variant, s System, lead time.Duration) (_ result.Run, err error) {
	m := &measurement{bench: b, sys: s, v: v, host: redisserver.Host, programCore: -1, lead: lead}
	m.run = result.Run{Workload: v.workload, Variant: v.name, System: s.Name, Values: map[string]float64{}}
	redisCore := -1
	if v.pin && machine.CanMeasure && runtime.NumCPU() > 1 {
		redisCore, m.programCore, m.run.Pinned = 0, 1, true
	}
	if m.srv, err = redisserver.Start(ctx, redisCore); err != nil {
		return m.run, err
	}
	defer m.srv.Kill()
	if err := v.measure(ctx, m); err != nil {
		return m.run, err
	}
	if s.adapter == "bide" {
		if err := m.audit(ctx); err != nil {
			return m.run, err
		}
	}
	if m.used.seconds > 0 {
		m.run.OtherCPU, m.run.Steal = m.used.otherCPU/m.used.seconds, m.used.steal/m.used.seconds
	}
	return m.run, nil
}

// audit fails a run of bide that lost or doubled a job.
func (m *measurement) audit(ctx context.Context) error {
	set, err := scripts.New(m.srv.Client, "")
	if err != nil {
		return err
	}
	sum, err := set.Audit(ctx)
	if err == nil && sum.Gap() != 0 {
		err = fmt.Errorf("gap %d, want 0: %+v", sum.Gap(), sum)
	}
	if err != nil {
		return fmt.Errorf("audit: %w", err)
	}
	return nil
}

// timed runs a phase that counts.
func (m *measurement) timed(ctx context.Context, spec protocol.Spec) (protocol.Result, usage, error) {
	r, u, err := m.child(ctx, spec)
	m.used.add(u)
	return r, u, err
}

// fill makes jobs before anything is measured, in the quickest way the system has,
// and checks that they are all there, beside already others.
func (m *measurement) fill(ctx context.Context, spec protocol.Spec, already int) error {
	spec.Mode, spec.Producers = protocol.Enqueue, 32
	if m.sys.bulk {
		spec.Producers, spec.Batch = 2, 1000
	}
	r, _, err := m.child(ctx, spec)
	if err != nil {
		return err
	}
	if got := r.Counts.Open(); got != spec.Jobs+already {
		return fmt.Errorf("%s has %d jobs after %d were made, want %d", m.sys.Name, got, spec.Jobs, spec.Jobs+already)
	}
	return nil
}

// settled checks that each job ran once and nothing is left but what should be.
func settled(s System, spec protocol.Spec, r protocol.Result) error {
	if r.Started != spec.Jobs || r.Doubled != 0 || r.Counts.Open() != spec.Leave || r.Counts.Failed != 0 {
		return fmt.Errorf("%s: of %d jobs %d started, %d twice; left behind are %+v, want %d",
			s.Name, spec.Jobs, r.Started, r.Doubled, r.Counts, spec.Leave)
	}
	return nil
}

// workDue makes jobs that are due from a coming instant on, over a time, and runs a
// worker that is there before.
func (m *measurement) workDue(ctx context.Context, jobs int, over time.Duration, concurrency, beside int) (protocol.Spec, protocol.Result, error) {
	at := clock.Now().Add(m.lead + time.Duration(jobs)*time.Second/time.Duration(m.sys.fillRate))
	if over == 0 {
		// A whole second, since that is as exact as asynq can be told.
		at = at.Truncate(time.Second).Add(time.Second)
	}
	spec := protocol.Spec{
		Mode: protocol.Work, Jobs: jobs, DueMs: at.UnixMilli(), OverMs: over.Milliseconds(),
		Concurrency: concurrency, Lateness: true, Leave: beside,
	}
	spec.LimitMs = (clock.Until(at) + over + workLimit).Milliseconds()
	if err := m.fill(ctx, spec, beside); err != nil {
		return spec, protocol.Result{}, err
	}
	r, _, err := m.timed(ctx, spec)
	if err != nil {
		return spec, r, err
	}
	err = settled(m.sys, spec, r)
	if err != nil && (m.bench.Smoke || m.sys.adapter == "bide") {
		return spec, r, err
	}
	m.run.Values[result.Never] = float64(spec.Jobs - len(r.Micros))
	return spec, r, nil
}

// workLimit is how long a worker may take beyond what was planned.
const workLimit = 60 * time.Second

// withLead repeats an attempt with more time ahead if jobs were due too early.
func (b *Bench) withLead(ctx context.Context, v variant, s System) (result.Run, error) {
	for lead := b.sizes().lead; ; lead *= 3 {
		run, err := b.measure(ctx, v, s, lead)
		if !errors.Is(err, errLate) || lead > 20*time.Second {
			return run, err
		}
	}
}
