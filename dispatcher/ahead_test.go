package dispatcher_test

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/bide-go/bide/dispatcher"
	"github.com/bide-go/bide/job"
	"github.com/bide-go/bide/scheduler"
)

// warm makes enough short runs that a dispatcher takes jobs ahead of its slots.
const warm = 200

// The jobs of a lane start in their order in one slot, never two at a time, whether
// or not some of them have waited in the process for it.
func TestAheadKeepsOrderAndConcurrency(t *testing.T) {
	for _, concurrency := range []int{1, 3} {
		t.Run(fmt.Sprint("concurrency ", concurrency), func(t *testing.T) {
			each(t, func(t *testing.T, r *rig) {
				const n = 1000
				var running, most atomic.Int64
				d := newDiary()
				want := r.addMany(n, "medium", "short", "job-")
				r.work(dispatcher.Config{Concurrency: concurrency}, handlers{"short": func(ctx context.Context, j *job.Job) error {
					now := running.Add(1)
					for m := most.Load(); now > m && !most.CompareAndSwap(m, now); m = most.Load() {
					}
					err := d.handler(ctx, j)
					running.Add(-1)
					return err
				}})
				got := d.wait(t, n)
				if concurrency == 1 && !slices.Equal(got, want) {
					t.Errorf("not started in the order of the lane")
				}
				if most.Load() > int64(concurrency) {
					t.Errorf("%d handlers ran at a time, want %d at most", most.Load(), concurrency)
				}
				r.completed(n)
			})
		})
	}
}

// So they do when answers are lost on their way, and when some of those that are
// waiting go back meanwhile.
func TestAheadKeepsOrderWhenAnswersAreLost(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		const n = 500
		line := newProxy(t, r.Addr)
		matched, cut := 0, 0
		line.cutReplies(func(request []byte) bool {
			if !bytes.Contains(request, []byte("short")) {
				return false
			}
			matched++
			if matched <= warm/20 || matched%2 != 0 || cut == 10 {
				return false
			}
			cut++
			return true
		})
		d := newDiary()
		want := r.addMany(n, "medium", "short", "job-")
		w := r.workOn(line.client(), dispatcher.Config{Concurrency: 1, Lease: time.Minute}, handlers{"short": func(ctx context.Context, j *job.Job) error {
			err := d.handler(ctx, j)
			if strings.HasSuffix(j.ID, "0") && len(d.list()) > warm {
				time.Sleep(7 * time.Millisecond) // longer than the others may wait
			}
			return err
		}})
		got := d.wait(t, n)
		r.completed(n)
		w.end()
		for i := range want {
			if i >= len(got) || got[i] != want[i] {
				t.Errorf("start %d was of %s, want %s", i, got[i], want[i])
				break
			}
		}
		line.mu.Lock()
		defer line.mu.Unlock()
		if cut == 0 {
			t.Error("no reply was cut")
		}
	})
}

// After many short handlers one takes long: the jobs that wait for its slot go back
// to the front of the lane in their order, and another process has them. It costs
// them neither an attempt nor a lost lease.
func TestAheadGoesBackWhenItHasToWait(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		s := newStage(t)
		short := newDiary()
		r.addMany(warm, "medium", "short", "warm-")
		r.add("medium", "hold", scheduler.WithID("long"))
		want := r.addMany(40, "medium", "short", "after-", scheduler.WithRetention(time.Hour))
		r.work(dispatcher.Config{Concurrency: 1}, handlers{"short": short.handler, "hold": s.handler})
		p := s.next()
		equal(t, "job", p.job.ID, "long")
		r.lasting("all but the running one given back", func() bool { return r.sum().Active == 1 })

		other := newDiary()
		r.work(dispatcher.Config{Concurrency: 1}, handlers{"short": other.handler})
		if got := other.wait(t, len(want)); !slices.Equal(got, want) {
			t.Errorf("the other process started %v, want all in the order of the lane", got)
		}
		for _, id := range want {
			if j := r.get(id); j.Attempts != 0 || j.Lost != 0 {
				t.Errorf("job = %+v, want no attempt and no lost lease", j)
			}
		}
		p.end(nil)
		r.completed(warm + 41)
		equal(t, "short jobs started by the first process", len(short.list()), warm)
	})
}

// What waits for a slot when the process is told to stop goes back at once, not at
// the end of the grace period.
func TestAheadGoesBackAtShutdown(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		s := newStage(t)
		short := newDiary()
		r.addMany(warm, "medium", "short", "warm-")
		r.add("medium", "hold", scheduler.WithID("long"))
		r.addMany(30, "medium", "short", "after-")
		w := r.work(dispatcher.Config{Concurrency: 1, Grace: patience}, handlers{"short": short.handler, "hold": s.handler})
		p := s.next()
		w.stop()
		r.lasting("all but the running one given back", func() bool {
			sum := r.sum()
			return sum.Active == 1 && sum.Waiting == 30
		})
		p.end(nil)
		w.wait()
		for i := range 30 {
			if j := r.get(fmt.Sprintf("after-%d", i)); j.Attempts != 0 || j.Lost != 0 {
				t.Errorf("job = %+v, want no attempt and no lost lease", j)
			}
		}
	})
}

// A job that is cancelled while it waits for a slot ends cancelled, or completed if
// its handler heeds nothing.
func TestAheadIsCancelled(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		short := func(ctx context.Context, j *job.Job) error {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			if j.ID == "canceller" {
				for i := range 30 {
					if _, err := r.Cancel(r.ctx(), fmt.Sprintf("after-%d", i)); err != nil {
						t.Error(err)
					}
				}
			}
			return nil
		}
		r.addMany(warm, "medium", "short", "warm-")
		r.add("medium", "short", scheduler.WithID("canceller"))
		for i := range 30 {
			r.add("medium", "short", scheduler.WithID(fmt.Sprintf("after-%d", i)))
		}
		r.work(dispatcher.Config{Concurrency: 1}, handlers{"short": short})
		r.eventually("all ended", func() bool {
			sum := r.sum()
			return sum.Completed+sum.Cancelled == warm+31
		})
		if sum := r.sum(); sum.Cancelled == 0 {
			t.Errorf("sum = %+v, want jobs cancelled", sum)
		}
	})
}

// Short handlers are what jobs are taken ahead for: while they are long none is.
func TestNoneAheadOfLongHandlers(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		r.addMany(60, "medium", "long", "job-")
		var most atomic.Int64
		r.work(dispatcher.Config{Concurrency: 2}, handlers{"long": func(context.Context, *job.Job) error {
			time.Sleep(3 * time.Millisecond) // the length that the test is about
			if active := r.sum().Active; active > most.Load() {
				most.Store(active)
			}
			return nil
		}})
		r.completed(60)
		// Two run, and as many may be settled a moment later.
		if most.Load() > 4 {
			t.Errorf("%d jobs were leased at a time, want 4 at most", most.Load())
		}
	})
}
