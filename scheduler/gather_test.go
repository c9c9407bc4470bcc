package scheduler

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/bide-go/bide/internal/redistest"
	"github.com/bide-go/bide/job"
)

// gate is a hook that counts calls of scripts and lets each through only when told to.
// The greeting of a new connection is none: without it no call would come through.
type gate struct {
	calls atomic.Int64
	hold  func(call int64) (release <-chan struct{}, err error)
}

func (g *gate) DialHook(next redis.DialHook) redis.DialHook { return next }
func (g *gate) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

func (g *gate) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if name := cmd.Name(); name != "evalsha" && name != "eval" {
			return next(ctx, cmd)
		}
		release, after := g.hold(g.calls.Add(1))
		if release != nil {
			<-release
		}
		if err := next(ctx, cmd); err != nil {
			return err
		}
		if after != nil {
			cmd.SetErr(after)
		}
		return after
	}
}

func gated(r *rig, hold func(call int64) (<-chan struct{}, error)) (*Client, *gate) {
	rdb := r.Client()
	g := &gate{hold: hold}
	rdb.AddHook(g)
	return NewClient(rdb), g
}

// together runs n enqueues at a time and returns what each was told.
func together(n int, f func(i int) error) []error {
	errs := make([]error, n)
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() { errs[i] = f(i) })
	}
	all.Wait()
	return errs
}

// Those who come while a call is on its way go together in the next, and each is
// told what became of its own job.
func TestEnqueuesGoTogether(t *testing.T) {
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		r := newRig(t, s)
		c, g := gated(r, func(int64) (<-chan struct{}, error) { return nil, nil })
		const n, each = 64, 50
		ctx := context.Background()
		if _, err := c.Execute(ctx, "low", "tick", nil, WithID("taken")); err != nil {
			t.Fatal(err)
		}
		for i, err := range together(n, func(i int) error {
			for k := range each {
				want := fmt.Sprintf("job-%d-%d", i, k)
				id, err := c.Execute(ctx, "low", "tick", nil, WithID(want))
				if err != nil || id != want {
					return fmt.Errorf("%s: %s, %w", want, id, err)
				}
			}
			res, err := c.Enqueue(ctx, Request{Name: "tick", Options: []Option{WithID("taken")}})
			if err != nil || !res.Deduplicated || res.ID != "taken" {
				return fmt.Errorf("taken: %+v, %w", res, err)
			}
			if _, err := c.Execute(ctx, "NO", "tick", nil); err == nil {
				return errors.New("a bad queue was taken")
			}
			return nil
		}) {
			if err != nil {
				t.Errorf("producer %d: %v", i, err)
			}
		}
		if sum := r.sum(); sum.Created != n*each+1 || sum.Waiting != n*each+1 {
			t.Errorf("sum = %+v", sum)
		}
		if calls := g.calls.Load(); calls > n*each/2 {
			t.Errorf("%d calls for %d jobs, want them together", calls, n*each)
		}
	})
}

// A call that does not come back holds up nobody but its own caller, and whoever
// leaves before its job was sent knows that nothing was.
func TestEnqueuesPastACallThatHangs(t *testing.T) {
	r := mini(t)
	release := make(chan struct{})
	c, g := gated(r, func(call int64) (<-chan struct{}, error) {
		if call == 1 {
			return release, nil
		}
		return nil, nil
	})
	ctx := context.Background()
	first := make(chan error, 1)
	go func() {
		_, err := c.Execute(ctx, "low", "tick", nil, WithID("first"))
		first <- err
	}()
	eventually(t, 10*time.Second, "the first call is on its way", func() bool { return g.calls.Load() == 1 })
	gone, cancel := context.WithCancel(ctx)
	cancel()
	if _, err := c.Execute(gone, "low", "tick", nil, WithID("gone")); !errors.Is(err, job.ErrUnavailable) || !errors.Is(err, context.Canceled) {
		t.Errorf("after the end of its context: %v", err)
	}
	for i, err := range together(20, func(i int) error {
		_, err := c.Execute(ctx, "low", "tick", nil, WithID(fmt.Sprint("past-", i)))
		return err
	}) {
		if err != nil {
			t.Errorf("past %d: %v", i, err)
		}
	}
	if sum := r.sum(); sum.Created != 20 {
		t.Errorf("sum = %+v, want the 20 that went past", sum)
	}
	close(release)
	if err := <-first; err != nil {
		t.Errorf("first: %v", err)
	}
	if sum := r.sum(); sum.Created != 21 {
		t.Errorf("sum = %+v, want 21", sum)
	}
}

// When the answer to a call is lost, each of those who went with it is told its own
// id, and repeating with that makes no second job.
func TestALostAnswerToMany(t *testing.T) {
	r := mini(t)
	lost := errors.New("connection reset")
	c, _ := gated(r, func(call int64) (<-chan struct{}, error) {
		if call%2 == 0 {
			return nil, lost
		}
		return nil, nil
	})
	ctx := context.Background()
	// Redis knows the script by then: its being sent as text would count, too.
	if _, err := NewClient(r.Client()).Execute(ctx, "low", "tick", nil, WithID("job-0")); err != nil {
		t.Fatal(err)
	}
	var unknown atomic.Int64
	for i, err := range together(32, func(i int) error {
		want := fmt.Sprint("job-", i)
		id, err := c.Execute(ctx, "low", "tick", nil, WithID(want))
		for ; errors.Is(err, job.ErrOutcomeUnknown); id, err = c.Execute(ctx, "low", "tick", nil, WithID(want)) {
			unknown.Add(1)
			var about *job.OutcomeUnknownError
			if !errors.As(err, &about) || len(about.IDs) != 1 || about.IDs[0] != want || id != want {
				return fmt.Errorf("id %q of %w", id, err)
			}
		}
		return err
	}) {
		if err != nil {
			t.Errorf("producer %d: %v", i, err)
		}
	}
	if sum := r.sum(); sum.Created != 32 || unknown.Load() == 0 {
		t.Errorf("sum = %+v after %d lost answers, want 32 created", sum, unknown.Load())
	}
}
