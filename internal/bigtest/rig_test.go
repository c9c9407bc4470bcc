// Package bigtest tests what takes a large or a long-lived Redis to see: many jobs,
// and one server taking over from another.
package bigtest

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/logging"
	"go.uber.org/goleak"

	"github.com/bide-go/bide/scripts"
)

func TestMain(m *testing.M) {
	logging.Disable() // the driver tells at length of servers that were killed on purpose
	goleak.VerifyTestMain(m)
}

// patience is how long a test waits for what must happen. It is no promise of the
// service.
const patience = 60 * time.Second

// role is a running role that a test can stop and wait for.
type role struct {
	t     testing.TB
	name  string
	stop  context.CancelFunc
	ended chan struct{}
	err   error // set before ended
}

func run(t testing.TB, name string, f func(context.Context) error) *role {
	ctx, stop := context.WithCancel(context.Background())
	r := &role{t: t, name: name, stop: stop, ended: make(chan struct{})}
	go func() { r.err = f(ctx); close(r.ended) }()
	t.Cleanup(r.end)
	return r
}

// running fails the test if the role has ended.
func (r *role) running() {
	r.t.Helper()
	select {
	case <-r.ended:
		r.t.Errorf("the %s has ended: %v", r.name, r.err)
	default:
	}
}

func (r *role) end() {
	r.t.Helper()
	r.stop()
	select {
	case <-r.ended:
		if r.err != nil {
			r.t.Errorf("the %s: Run = %v, want nil", r.name, r.err)
		}
	case <-time.After(patience):
		r.t.Fatalf("the %s does not end", r.name)
	}
}

// eventually fails the test if ok does not come true.
func eventually(t testing.TB, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !ok(); {
		if time.Now().After(deadline) {
			t.Fatalf("not within %v: %s", patience, what)
		}
		time.Sleep(10 * time.Millisecond) // Redis tells nobody
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func newSet(t testing.TB, rdb redis.UniversalClient) *scripts.Set {
	t.Helper()
	set, err := scripts.New(rdb, "")
	must(t, err)
	return set
}

// id is the id of the i-th job of seed.
func id(i int) string { return fmt.Sprintf("j%07d", i) }

// seed creates jobs from to to-1, as quickly as it goes.
func seed(t testing.TB, set *scripts.Set, from, to int, describe func(i int) scripts.NewJob) {
	t.Helper()
	starts := make(chan int)
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			for start := range starts {
				var batch scripts.Batch
				for i := start; i < min(start+scripts.EnqueueJobs, to); i++ {
					n := describe(i)
					n.ID, n.Name = id(i), "test"
					batch.Add(&n)
				}
				if err := set.Enqueue(context.Background(), &batch); err != nil {
					t.Errorf("enqueue: %v", err)
				}
				for _, c := range batch.Created() {
					if c.Err != nil || c.Deduplicated {
						t.Errorf("enqueue: %+v", c)
					}
				}
			}
		})
	}
	for start := from; start < to; start += scripts.EnqueueJobs {
		starts <- start
	}
	close(starts)
	group.Wait()
	if t.Failed() {
		t.FailNow()
	}
}
