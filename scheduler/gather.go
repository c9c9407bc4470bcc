package scheduler

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/bide-go/bide/internal/clock"
	"github.com/bide-go/bide/job"
	"github.com/bide-go/bide/scripts"
)

const (
	// impatience is how long a job waits for the call before its own to come back.
	impatience = 10 * time.Millisecond
	// mostImpatient bounds the calls made past others that do not come back.
	mostImpatient = 4
)

// gather sends the jobs of many goroutines. While one call is on its way, those who
// come next wait and go together in another: batches form by themselves, and a
// goroutine that is alone waits for nobody.
type gather struct {
	set *scripts.Set

	mu        sync.Mutex
	busy      bool // a call is on its way, or the loop that sends the next one runs
	waiting   []*parcel
	timer     *time.Timer // set while somebody waits
	impatient int
}

// parcel is one job that waits to be sent, and what became of it.
type parcel struct {
	ctx    context.Context
	job    *scripts.NewJob
	done   chan struct{}
	result Result
	err    error
}

// send creates one job.
func (g *gather) send(ctx context.Context, n *scripts.NewJob) (Result, error) {
	if ctx.Err() != nil {
		return unsent(ctx, n.ID)
	}
	g.mu.Lock()
	if !g.busy {
		g.busy = true
		g.mu.Unlock()
		if _, limited := ctx.Deadline(); !limited && ctx.Done() != nil {
			ctx = context.WithoutCancel(ctx)
		}
		var b scripts.Batch
		b.Add(n)
		err := g.set.Enqueue(ctx, &b)
		g.mu.Lock()
		if g.busy = len(g.waiting) > 0; g.busy {
			go g.sendOn()
		}
		g.mu.Unlock()
		if err != nil {
			return unmade(err, n.ID)
		}
		result := resultOf(b.Created()[0])
		return result, result.Err
	}
	p := &parcel{ctx: ctx, job: n, done: make(chan struct{})}
	g.waiting = append(g.waiting, p)
	if g.timer == nil {
		g.timer = clock.AfterFunc(impatience, g.sendPast)
	}
	g.mu.Unlock()
	select {
	case <-p.done:
		return p.result, p.err
	case <-ctx.Done():
	}
	g.mu.Lock()
	i := slices.Index(g.waiting, p)
	if i >= 0 {
		g.waiting = slices.Delete(g.waiting, i, i+1)
	}
	g.mu.Unlock()
	if i >= 0 {
		return unsent(ctx, n.ID)
	}
	select {
	case <-p.done: // after all
		return p.result, p.err
	default:
		err := &job.OutcomeUnknownError{IDs: []string{n.ID}, Err: ctx.Err()}
		return Result{ID: n.ID, Err: err}, err
	}
}

// unsent is what becomes of a job whose context ended before it was on its way.
func unsent(ctx context.Context, id string) (Result, error) {
	err := fmt.Errorf("enqueue: %w: %w", job.ErrUnavailable, ctx.Err())
	return Result{ID: id, Err: err}, err
}

// sendOn sends what waits until nothing does.
func (g *gather) sendOn() {
	for {
		g.mu.Lock()
		list := g.take()
		g.busy = len(list) > 0
		g.mu.Unlock()
		if len(list) == 0 {
			return
		}
		g.sendAll(list)
	}
}

// sendPast sends what waits past a call that does not come back: its connection may
// be dead, and others may not be.
func (g *gather) sendPast() {
	g.mu.Lock()
	g.timer = nil
	if len(g.waiting) == 0 {
		g.mu.Unlock()
		return
	}
	if g.impatient == mostImpatient {
		g.timer = clock.AfterFunc(impatience, g.sendPast)
		g.mu.Unlock()
		return
	}
	g.impatient++
	list := g.take()
	if len(g.waiting) > 0 {
		g.timer = clock.AfterFunc(impatience, g.sendPast)
	}
	g.mu.Unlock()
	g.sendAll(list)
	g.mu.Lock()
	g.impatient--
	g.mu.Unlock()
}

// take removes as much of what waits as one call may carry. mu is held.
func (g *gather) take() []*parcel {
	n, size := 0, 0
	for n < len(g.waiting) && n < scripts.EnqueueJobs {
		size += g.waiting[n].job.Size()
		if n > 0 && size > scripts.EnqueueBytes {
			break
		}
		n++
	}
	list := g.waiting[:n:n]
	g.waiting = g.waiting[n:]
	if len(g.waiting) == 0 {
		g.waiting = nil
		if g.timer != nil {
			g.timer.Stop()
			g.timer = nil
		}
	}
	return list
}

// sendAll makes one call for many. It may last as long as the most patient of them
// waits; the others leave before.
func (g *gather) sendAll(list []*parcel) {
	ctx := context.WithoutCancel(list[0].ctx)
	var last time.Time
	for _, p := range list {
		deadline, limited := p.ctx.Deadline()
		if !limited {
			last = time.Time{}
			break
		}
		if deadline.After(last) {
			last = deadline
		}
	}
	if !last.IsZero() {
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadline(ctx, last)
		defer cancel()
	}
	g.call(ctx, list)
	for _, p := range list {
		close(p.done)
	}
}

// call sends parcels and fills in what became of them.
func (g *gather) call(ctx context.Context, list []*parcel) {
	var b scripts.Batch
	for _, p := range list {
		b.Add(p.job)
	}
	if err := g.set.Enqueue(ctx, &b); err != nil {
		for _, p := range list {
			p.result, p.err = unmade(err, p.job.ID)
		}
		return
	}
	for i, created := range b.Created() {
		list[i].result = resultOf(created)
		list[i].err = created.Err
	}
}

// unmade is what becomes of a job whose call failed.
func unmade(err error, id string) (Result, error) {
	err = aboutJobs(err, id)
	return Result{ID: id, Err: err}, err
}

// aboutJobs is the error of a call as one about some of its jobs: whoever repeats a call
// of unknown outcome needs their ids.
func aboutJobs(err error, ids ...string) error {
	var unknown *job.OutcomeUnknownError
	if errors.As(err, &unknown) {
		return fmt.Errorf("enqueue: %w", &job.OutcomeUnknownError{IDs: ids, Err: unknown.Err})
	}
	return err
}

func resultOf(r scripts.Created) Result {
	return Result{ID: r.ID, State: r.State, Due: r.Due, Deduplicated: r.Deduplicated, Err: r.Err}
}
