package dispatcher_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/bide-go/bide/dispatcher"
	"github.com/bide-go/bide/internal/redistest"
	"github.com/bide-go/bide/job"
	"github.com/bide-go/bide/promoter"
	"github.com/bide-go/bide/scheduler"
	"github.com/bide-go/bide/worker"
)

// rig is a Redis with a client, on which tests run promoters and dispatchers.
type rig struct {
	t testing.TB
	*redistest.Server
	*scheduler.Client
}

func newRig(t testing.TB, s *redistest.Server) *rig {
	return &rig{t: t, Server: s, Client: scheduler.NewClient(s.Client())}
}

// running is a role that a test can stop and wait for.
type running struct {
	stop context.CancelFunc
	done chan error
}

func (r *running) wait(t testing.TB) {
	t.Helper()
	select {
	case err := <-r.done:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(20 * time.Second):
		t.Fatal("the role does not end")
	}
}

func (r *running) end(t testing.TB) { t.Helper(); r.stop(); r.wait(t) }

func run(t testing.TB, f func(context.Context) error) *running {
	ctx, stop := context.WithCancel(context.Background())
	r := &running{stop: stop, done: make(chan error, 1)}
	go func() { r.done <- f(ctx) }()
	return r
}

// promote runs a promoter until the end of the test.
func (r *rig) promote() {
	p := run(r.t, promoter.New(r.Server.Client(), promoter.Config{}).Run)
	r.t.Cleanup(func() { p.end(r.t) })
}

var _ = fmt.Sprint
var _ sync.Mutex

func TestDrainSpeed(t *testing.T) {
	s := redistest.NewReal(t)
	c := scheduler.NewClient(s.Client())
	ctx := context.Background()
	const n = 100000
	reqs := make([]scheduler.Request, n)
	for i := range reqs {
		reqs[i] = scheduler.Request{Queue: "medium", Name: "noop", Args: map[string]any{"user": i, "text": "some payload that is about one hundred bytes of json text, as most jobs have, more or less"}}
	}
	t0 := time.Now()
	if _, err := c.ExecuteMany(ctx, reqs); err != nil {
		t.Fatal(err)
	}
	t.Logf("bulk enqueue %.0f/s", n/time.Since(t0).Seconds())
	for _, conc := range []int{100} {
		reg := worker.NewRegistry()
		var count atomic.Int64
		done := make(chan struct{})
		reg.Handle("noop", func(ctx context.Context, j *job.Job) error {
			if count.Add(1) == n {
				close(done)
			}
			return nil
		})
		d := dispatcher.New(s.Client(), reg, dispatcher.Config{Concurrency: conc})
		t0 = time.Now()
		r := run(t, d.Run)
		<-done
		t.Logf("conc %d: %.0f/s", conc, n/time.Since(t0).Seconds())
		r.end(t)
	}
}
