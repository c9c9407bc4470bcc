package promoter_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/bide-go/bide/dispatcher"
	"github.com/bide-go/bide/internal/redistest"
	"github.com/bide-go/bide/promoter"
	"github.com/bide-go/bide/scheduler"
	"github.com/bide-go/bide/scripts"
	"github.com/bide-go/bide/worker"
)

// patience is how long a test waits for what must happen. It is no promise of the
// service: where one is tested, the test measures it.
const patience = 30 * time.Second

// rig is a Redis with a client, on which tests run promoters.
type rig struct {
	t testing.TB
	*redistest.Server
	*scheduler.Client
	set *scripts.Set
	rdb *redis.Client
}

func newRig(t testing.TB, s *redistest.Server) *rig {
	rdb := s.Client()
	set, err := scripts.New(rdb, "")
	if err != nil {
		t.Fatal(err)
	}
	return &rig{t: t, Server: s, Client: scheduler.NewClient(rdb), set: set, rdb: rdb}
}

// each runs test on the embedded and on a real Redis.
func each(t *testing.T, test func(t *testing.T, r *rig)) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) { test(t, newRig(t, s)) })
}

func (r *rig) ctx() context.Context { return context.Background() }

// run runs a role until the returned function is called, at the latest at the end
// of the test. The function reports how long the role took to end.
func (r *rig) run(f func(context.Context) error) (end func() time.Duration) {
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- f(ctx) }()
	ended := false
	end = func() time.Duration {
		if ended {
			return 0
		}
		ended = true
		from := time.Now()
		stop()
		select {
		case err := <-done:
			if err != nil {
				r.t.Errorf("Run = %v, want nil", err)
			}
		case <-time.After(patience):
			r.t.Fatal("the role does not end")
		}
		return time.Since(from)
	}
	r.t.Cleanup(func() { end() })
	return end
}

// promote runs n promoters until the end of the test.
func (r *rig) promote(n int) {
	for range n {
		r.run(promoter.New(r.Server.Client(), promoter.Config{}).Run)
	}
}

// work runs a dispatcher until the end of the test.
func (r *rig) work(cfg dispatcher.Config, h worker.Handler) {
	reg := worker.NewRegistry()
	reg.Handle("any", h)
	r.run(dispatcher.New(r.Server.Client(), reg, cfg).Run)
}

func (r *rig) now() time.Time {
	r.t.Helper()
	now, err := r.rdb.Time(r.ctx()).Result()
	if err != nil {
		r.t.Fatal(err)
	}
	return now
}

func (r *rig) eventually(what string, ok func() bool) {
	r.t.Helper()
	for deadline := time.Now().Add(patience); !ok(); {
		if time.Now().After(deadline) {
			sum, _ := r.set.Audit(r.ctx())
			r.t.Fatalf("%s: not within %v; %+v", what, patience, sum)
		}
		time.Sleep(5 * time.Millisecond) // Redis tells nobody
	}
}

func (r *rig) sum() scripts.Sum {
	r.t.Helper()
	s, err := r.set.Audit(r.ctx())
	if err != nil {
		r.t.Fatal(err)
	}
	return s
}

// many creates n jobs with ids <prefix>0… and returns the ids.
func (r *rig) many(n int, prefix string, request func(i int) scheduler.Request) []string {
	r.t.Helper()
	ids := make([]string, n)
	requests := make([]scheduler.Request, n)
	for i := range requests {
		requests[i] = request(i)
		ids[i] = fmt.Sprint(prefix, i)
		requests[i].Name = "any"
		requests[i].Options = append(requests[i].Options, scheduler.WithID(ids[i]))
	}
	results, err := r.ExecuteMany(r.ctx(), requests)
	if err != nil {
		r.t.Fatal(err)
	}
	for _, res := range results {
		if res.Err != nil {
			r.t.Fatal(res.Err)
		}
	}
	return ids
}

// lane takes everything out of a queue, in order, and ends it.
func (r *rig) lane(queue string) []string {
	r.t.Helper()
	var ids []string
	for n := 1; ; n++ {
		got, err := r.set.Reserve(r.ctx(), scripts.ReserveArgs{
			Token: fmt.Sprintf("w-test:%d", n), Lease: time.Minute, Limit: 500,
			Offers: []scripts.Offer{{Queue: queue, Slots: 500}}, Names: []string{"any"},
		})
		if err != nil {
			r.t.Fatal(err)
		}
		if len(got.Jobs) == 0 {
			return ids
		}
		var leases []scripts.Lease
		for _, l := range got.Jobs {
			ids = append(ids, l.Job.ID)
			leases = append(leases, l.Lease)
		}
		if stale, err := r.set.Complete(r.ctx(), leases); err != nil || len(stale) > 0 {
			r.t.Fatalf("complete: %v stale, %v", stale, err)
		}
	}
}

func (r *rig) sameOrder(what string, got, want []string) {
	r.t.Helper()
	if slices.Equal(got, want) {
		return
	}
	if len(got) != len(want) {
		r.t.Errorf("%s: %d jobs, want %d", what, len(got), len(want))
	}
	for i := range min(len(got), len(want)) {
		if got[i] != want[i] {
			r.t.Fatalf("%s: job %d is %s, want %s", what, i, got[i], want[i])
		}
	}
}
