package dispatcher_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/bide-go/bide/dispatcher"
	"github.com/bide-go/bide/internal/redistest"
	"github.com/bide-go/bide/internal/timely"
	"github.com/bide-go/bide/job"
	"github.com/bide-go/bide/scheduler"
	"github.com/bide-go/bide/worker"
)

// afterGrace is how long Run may go on after the grace period: a second, and as
// much again for a machine that has other things to do.
const afterGrace = 2 * time.Second

func TestDrain(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		s := newStage(t)
		const lease = 2 * time.Second
		first := r.work(dispatcher.Config{Concurrency: 2, Lease: lease}, handlers{"hold": s.handler})
		good, bad := r.add("medium", "hold", scheduler.WithID("good")), r.add("medium", "hold", scheduler.WithID("bad"))
		plays := map[string]*play{}
		for range 2 {
			p := s.next()
			plays[p.job.ID] = p
		}
		first.stop()
		late := r.add("medium", "hold")
		other := newStage(t)
		r.work(dispatcher.Config{Lease: lease}, handlers{"hold": other.handler})
		p := other.next()
		equal(t, "job of the other", p.job.ID, late)
		p.end(nil)
		other.nobody(5 * lease / 2) // the leases are kept alive
		equal(t, "still draining", first.running(), true)
		for _, p := range plays {
			if p.ctx.Err() != nil {
				t.Errorf("the context of job %s ended while draining: %v", p.job.ID, context.Cause(p.ctx))
			}
		}
		ended := time.Now()
		plays[good].end(nil)
		plays[bad].end(job.RetryAfter(errBoom, time.Hour))
		first.wait()
		timely.Check(t, "end after the last handler", first.at.Sub(ended), afterGrace)
		equal(t, "state", r.get(good).State, job.Completed)
		j := r.get(bad)
		if j.State != job.Delayed || j.Attempts != 1 || j.Lost != 0 {
			t.Errorf("failed job = %+v, want it delayed after one attempt", j)
		}
	})
}

func TestIdleShutdownIsPrompt(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		d := newDiary()
		w := r.work(dispatcher.Config{}, handlers{"any": d.handler})
		r.add("medium", "any")
		d.wait(t, 1)
		from := time.Now()
		w.end()
		timely.Check(t, "end", w.at.Sub(from), time.Second)
		st, err := r.set.Stats(r.ctx())
		if err != nil || st.Workers != 0 {
			t.Errorf("workers = %d, %v, want 0: it signs off", st.Workers, err)
		}
	})
}

// A handler that ignores the end of its context keeps nobody: its job goes back,
// with no attempt counted, and runs elsewhere.
func TestStubbornHandlerIsLeftBehind(t *testing.T) {
	for name, how := range map[string]struct {
		grace time.Duration
		end   func(*workerRole)
	}{
		"after the grace period": {300 * time.Millisecond, func(w *workerRole) { w.stop() }},
		"without one":            {-1, func(w *workerRole) { w.stop() }},
		"on Abort":               {time.Hour, func(w *workerRole) { w.stop(); w.Abort() }},
		"on an early Abort":      {time.Hour, func(w *workerRole) { w.Abort(); w.stop() }},
	} {
		t.Run(name, func(t *testing.T) {
			each(t, func(t *testing.T, r *rig) {
				s := newStage(t)
				w := r.work(dispatcher.Config{Concurrency: 1, Grace: how.grace}, handlers{"hold": s.handler})
				id := r.add("medium", "hold")
				p := s.next()
				from := time.Now()
				how.end(w)
				p.wantCause(t, job.ErrShutdown)
				w.wait()
				limit := afterGrace
				if how.grace > 0 && how.grace < time.Minute {
					limit += how.grace
				}
				timely.Check(t, "end", w.at.Sub(from), limit)
				j := r.get(id)
				if j.State != job.Waiting || j.Attempts != 0 || j.Lost != 0 || len(j.Errors) != 0 {
					t.Errorf("job given back = %+v, want it waiting and nothing counted", j)
				}
				other := newStage(t)
				r.work(dispatcher.Config{}, handlers{"hold": other.handler})
				q := other.next()
				timely.Check(t, "start elsewhere", q.at.Sub(w.at), 2*time.Second)
				equal(t, "attempt", q.job.Attempt(), 1)
				p.end(nil) // too late
				q.end(nil)
				r.becomes(id, job.Completed)
				r.completed(1)
			})
		})
	}
}

// Handlers that give up in time end as they say, and only those that were
// interrupted go back.
func TestHandlersAtTheEndOfTheGracePeriod(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		var all sync.WaitGroup
		all.Add(2)
		wait := func(ctx context.Context, err error) error { all.Done(); <-ctx.Done(); return err }
		w := r.work(dispatcher.Config{Grace: -1}, handlers{
			"saved":       func(ctx context.Context, _ *job.Job) error { return wait(ctx, nil) },
			"interrupted": func(ctx context.Context, _ *job.Job) error { return wait(ctx, context.Canceled) },
		})
		saved, interrupted := r.add("medium", "saved"), r.add("medium", "interrupted")
		all.Wait()
		w.end()
		equal(t, "state of the one that returned nil", r.get(saved).State, job.Completed)
		j := r.get(interrupted)
		if j.State != job.Waiting || j.Attempts != 0 {
			t.Errorf("interrupted job = %+v, want it waiting and no attempt counted", j)
		}
	})
}

// More jobs than one call takes go back in the order in which they came, before
// all that waits.
func TestGivenBackJobsKeepTheirOrder(t *testing.T) {
	r := onRedis(t)
	const n, more = 1200, 5
	var started sync.WaitGroup
	started.Add(n)
	ids := r.addMany(n, "medium", "hold", "job-")
	w := r.work(dispatcher.Config{Concurrency: n, Grace: -1}, handlers{"hold": func(ctx context.Context, _ *job.Job) error {
		started.Done()
		<-ctx.Done()
		return ctx.Err()
	}})
	started.Wait()
	ids = append(ids, r.addMany(more, "medium", "hold", "next-")...)
	w.end()
	equal(t, "waiting", r.sum().Waiting, int64(n+more))

	d := newDiary()
	r.work(dispatcher.Config{Concurrency: 1}, handlers{"hold": d.handler})
	got := d.wait(t, n+more)
	if !slices.Equal(got, ids) {
		for i := range got {
			if got[i] != ids[i] {
				t.Fatalf("job %d to be started again is %s, want %s", i, got[i], ids[i])
			}
		}
	}
	r.completed(n + more)
}

// With Redis away a dispatcher still ends, in bounded time.
func TestDrainWithoutRedis(t *testing.T) {
	for name, away := range map[string]struct{ begin, end func(*redistest.Server) }{
		"killed": {(*redistest.Server).Kill, (*redistest.Server).Restart},
		"frozen": {(*redistest.Server).Freeze, (*redistest.Server).Thaw},
	} {
		for _, heeds := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s, handler heeds its context: %v", name, heeds), func(t *testing.T) {
				r := onRedis(t, "--save", "", "--appendonly", "yes", "--appendfsync", "always")
				s := newStage(t)
				h := worker.Handler(s.handler)
				if heeds {
					h = s.heeding
				}
				const grace = 500 * time.Millisecond
				w := r.work(dispatcher.Config{Lease: 3 * time.Second, Grace: grace}, handlers{"hold": h, "quick": func(context.Context, *job.Job) error { return nil }})
				r.add("medium", "hold")
				p := s.next()
				away.begin(r.Server)
				from := time.Now()
				w.end()
				timely.Check(t, "end", w.at.Sub(from), grace+5*time.Second)
				p.end(nil)
				away.end(r.Server)
				// The job is not lost: its lease ends.
				other := newStage(t)
				r.work(dispatcher.Config{Lease: time.Second}, handlers{"hold": other.handler})
				other.next().end(nil)
				r.completed(1)
			})
		}
	}
}
