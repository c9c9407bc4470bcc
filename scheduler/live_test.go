package scheduler

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/bide-go/bide/dispatcher"
	"github.com/bide-go/bide/internal/redistest"
	"github.com/bide-go/bide/job"
	"github.com/bide-go/bide/promoter"
	"github.com/bide-go/bide/worker"
)

// live runs all roles on a real server with a handler, until it is ended.
func live(t *testing.T, d Definition, handle worker.Handler) (r *rig, end func()) {
	t.Helper()
	r = newRig(t, redistest.NewReal(t))
	reg := worker.NewRegistry()
	reg.Handle("tick", handle)
	s := New(r.Server.Client(), Config{})
	if err := s.Replace([]Definition{d}, nil); err != nil {
		t.Fatal(err)
	}
	roles := []*role{
		start(s.Run),
		start(promoter.New(r.Server.Client(), promoter.Config{}).Run),
		start(dispatcher.New(r.Server.Client(), reg, dispatcher.Config{Concurrency: 4, Lease: 2 * time.Second, Grace: 10 * time.Millisecond}).Run),
	}
	return r, func() {
		for _, role := range roles {
			role.end(t)
		}
	}
}

// Runs of 3.5 s on a schedule of every second, with four slots on a real server.
func TestLiveOverlap(t *testing.T) {
	t.Parallel()
	for _, policy := range []ConcurrencyPolicy{Allow, Forbid, Replace, Queue} {
		t.Run(string(policy), func(t *testing.T) {
			t.Parallel()
			d := every("s", "@every 1s")
			d.ConcurrencyPolicy = policy
			rec := &recorder{runs: map[string][]time.Time{}}
			var now, most atomic.Int32
			r, end := live(t, d, func(ctx context.Context, j *job.Job) error {
				n := now.Add(1)
				defer now.Add(-1)
				for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
				}
				_ = rec.handle(ctx, j)
				timer := time.NewTimer(3500 * time.Millisecond)
				defer timer.Stop()
				select {
				case <-timer.C:
					return nil
				case <-ctx.Done():
					return context.Cause(ctx)
				}
			})
			want := map[ConcurrencyPolicy]int{Allow: 6, Replace: 6, Forbid: 3, Queue: 3}[policy]
			eventually(t, 30*time.Second, "runs began", func() bool { return len(rec.ran("s")) >= want })
			page, err := r.manager().History(context.Background(), "s", HistoryFilter{})
			end()
			if err != nil {
				t.Fatal(err)
			}
			if n := most.Load(); policy == Allow && n < 2 || policy != Allow && n > 1 {
				t.Errorf("%d ran at once", n)
			}
			seen := map[time.Time]int{}
			for _, run := range page.Runs {
				seen[run.Tick]++
			}
			ran := rec.ran("s")
			newest := slices.MaxFunc(ran, time.Time.Compare)
			for tick := ran[0]; !tick.After(newest); tick = tick.Add(time.Second) {
				if seen[tick] != 1 {
					t.Errorf("%v has %d records", tick, seen[tick])
				}
			}
		})
	}
}

// A handler learns how the run before it ended, and can pause its schedule.
func TestAHandlerPausesItsSchedule(t *testing.T) {
	t.Parallel()
	var before atomic.Pointer[[]job.State]
	before.Store(&[]job.State{})
	d := every("s", "@every 1s")
	d.ConcurrencyPolicy = Forbid
	r, end := live(t, d, func(_ context.Context, j *job.Job) error {
		list := append(slices.Clone(*before.Load()), j.PreviousStatus)
		before.Store(&list)
		switch len(list) {
		case 1:
			return nil
		case 2:
			return job.Permanent(errors.New("boom"))
		}
		return job.PauseSchedule(errors.New("410 Gone"))
	})
	eventually(t, 20*time.Second, "it is paused", func() bool {
		d, err := r.manager().Show(context.Background(), "s")
		return err == nil && d.State == SchedulePaused
	})
	got := r.status("s")
	if got.Pause.Reason != "410 Gone" || got.Pause.By != "bide" || got.ConsecutiveFailures != 2 {
		t.Errorf("%+v, %+v", got, got.Pause)
	}
	if want := []job.State{"", job.Completed, job.Dead}; !slices.Equal(*before.Load(), want) {
		t.Errorf("previous runs: want %v, got %v", want, *before.Load())
	}
	// Nothing more runs, though ticks go by; a run by hand does, and pauses nothing anew.
	eventually(t, 20*time.Second, "ticks went by", func() bool { return r.missed("s") >= 2 })
	end()
	if n := len(*before.Load()); n != 3 {
		t.Errorf("%d ran", n)
	}
}
