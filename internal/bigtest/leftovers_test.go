package bigtest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/redis/go-redis/v9"

	"github.com/bide-go/bide/dispatcher"
	"github.com/bide-go/bide/internal/redistest"
	"github.com/bide-go/bide/job"
	"github.com/bide-go/bide/promoter"
	"github.com/bide-go/bide/scheduler"
	"github.com/bide-go/bide/scripts"
	"github.com/bide-go/bide/worker"
)

// fates is how many ways jobs go in mixed.
const fates = 10

// mixed puts n jobs, of all fates in turn, through a running service and returns
// when all of them have gone. full is how much memory they took.
func mixed(t *testing.T, rdb *redis.Client, round string, n int) (full int64) {
	t.Helper()
	ctx := context.Background()
	c, set := scheduler.NewClient(rdb), newSet(t, rdb)
	name := func(i int) string { return fmt.Sprintf("%s-%d", round, i) }
	var requests []scheduler.Request
	for i := range n {
		r := scheduler.Request{Queue: "medium", Name: "ok", Args: strings.Repeat("x", 100)}
		o := []scheduler.Option{scheduler.WithID(name(i)), scheduler.WithUnique("u" + name(i)), scheduler.WithBackoff(time.Millisecond, 5*time.Millisecond)}
		switch i % fates {
		case 0:
			r.Delay = time.Duration(i%50) * time.Millisecond
		case 1:
			r.Name = "second" // a retry
		case 2:
			r.Name, o = "never", append(o, scheduler.WithMaxAttempts(2)) // dead
		case 3:
			r.Name = "permanent" // dead at once
		case 4:
			r.Queue, r.Delay = "nobody", time.Hour // cancelled while delayed
		case 5:
			r.Queue = "nobody" // cancelled while waiting
		case 6:
			r.Name = "stubborn" // cancelled while active
		case 7:
			o = append(o, scheduler.WithRetention(300*time.Millisecond))
		case 8:
			r.Queue, o = "nobody", append(o, scheduler.WithExpiryIn(100*time.Millisecond), scheduler.WithRetention(100*time.Millisecond))
		case 9:
			r.Queue = "lost" // leased by one that never comes back
		}
		r.Options = o
		requests = append(requests, r)
	}
	results, err := c.ExecuteMany(ctx, requests)
	must(t, err)
	for _, r := range results {
		if r.Err != nil || r.Deduplicated {
			t.Fatalf("enqueue: %+v", r)
		}
	}
	for leased := 0; leased < n/fates; {
		r, err := set.Reserve(ctx, scripts.ReserveArgs{
			Token: fmt.Sprintf("gone%s:%d", round, leased), Lease: 50 * time.Millisecond, Limit: scripts.ReserveJobs, Names: []string{"ok"},
			Offers: []scripts.Offer{{Queue: "lost", Slots: scripts.ReserveJobs}},
		})
		must(t, err)
		if len(r.Jobs) == 0 {
			t.Fatalf("%d jobs were leased, want %d", leased, n/fates)
		}
		leased += len(r.Jobs)
	}
	full = used(t, rdb)

	reg := worker.NewRegistry()
	ok := func(context.Context, *job.Job) error { return nil }
	boom := errors.New(strings.Repeat("boom ", 20))
	reg.Handle("ok", ok)
	reg.Handle("second", func(_ context.Context, j *job.Job) error {
		if j.Attempt() < 2 {
			return boom
		}
		return nil
	})
	reg.Handle("never", func(context.Context, *job.Job) error { panic("boom") })
	reg.Handle("permanent", func(context.Context, *job.Job) error { return job.Permanent(boom) })
	reg.Handle("stubborn", func(ctx context.Context, j *job.Job) error {
		if _, err := c.Cancel(context.Background(), j.ID); err != nil {
			t.Errorf("cancel: %v", err)
		}
		<-ctx.Done()
		return ctx.Err()
	})
	stop, cancel := context.WithCancel(ctx)
	defer cancel()
	p := promoter.New(rdb, promoter.Config{DeadRetention: 300 * time.Millisecond})
	d := dispatcher.New(rdb, reg, dispatcher.Config{Queues: []string{"high", "medium", "lost"}, Concurrency: 50, Lease: time.Second})
	roles := []*role{run(t, "promoter", p.Run), run(t, "dispatcher", d.Run)}
	for i := range n {
		if i%fates == 4 || i%fates == 5 {
			j, err := c.Cancel(stop, name(i))
			must(t, err)
			if j.State != job.Cancelled {
				t.Errorf("%s is %s", j.ID, j.State)
			}
		}
	}
	var st scripts.Stats
	eventually(t, "all jobs have gone", func() bool {
		var err error
		st, err = set.Stats(ctx)
		must(t, err)
		return st.Sum.Delayed+st.Sum.Waiting+st.Sum.Active+st.StoredDead+st.StoredFinished == 0
	})
	for _, r := range roles {
		r.running()
		r.end()
	}
	return full
}

// used is the memory that Redis uses once it has caught up with freeing.
func used(t *testing.T, rdb *redis.Client) int64 {
	t.Helper()
	ctx := context.Background()
	field := func(name string) int64 {
		_, rest, _ := strings.Cut(rdb.Info(ctx, "memory").Val(), name+":")
		text, _, _ := strings.Cut(rest, "\r")
		n, err := strconv.ParseInt(text, 10, 64)
		must(t, err)
		return n
	}
	eventually(t, "what was unlinked is freed", func() bool { return field("lazyfree_pending_objects") == 0 })
	must(t, rdb.Do(ctx, "MEMORY", "PURGE").Err())
	return field("used_memory")
}

// kept are the keys of a system that has no jobs.
func kept(t *testing.T, rdb *redis.Client) []string {
	t.Helper()
	keys, err := rdb.Keys(context.Background(), "*").Result()
	must(t, err)
	// A wake-up call may stand or not: it is one element, and belongs to a queue.
	keys = slices.DeleteFunc(keys, func(key string) bool { return strings.HasPrefix(key, "{bide}:wake:") || key == "{bide}:wake@promoter" })
	slices.Sort(keys)
	return keys
}

// When jobs have gone, whatever way they went, so have their keys and their memory.
func TestNothingIsLeftOfJobs(t *testing.T) {
	n := 2000
	s := redistest.NewReal(t)
	rdb := s.Client()
	ctx := context.Background()

	// A first round brings what a system has that has ever worked.
	mixed(t, rdb, "first", 10*fates)
	must(t, rdb.Del(ctx, "{bide}:events").Err()) // capped, and as long as it will
	base := used(t, rdb)
	want := kept(t, rdb)

	full := mixed(t, rdb, "second", n)
	if diff := cmp.Diff(append(want, "{bide}:events"), kept(t, rdb), cmp.Transformer("sorted", func(keys []string) string {
		keys = slices.Clone(keys)
		slices.Sort(keys)
		return strings.Join(keys, "\n")
	})); diff != "" {
		t.Errorf("keys (-of an empty system +left of %d jobs):\n%s", n, diff)
	}
	for _, key := range want {
		switch strings.TrimPrefix(key, "{bide}:") {
		case "counts", "queues", "beats", "names", "workers", "rejected":
		default:
			t.Errorf("%s belongs to no empty system", key)
		}
	}
	if l := rdb.LLen(ctx, "{bide}:wake:nobody").Val(); l > 1 {
		t.Errorf("%d wake-up calls stand in one list", l)
	}
	must(t, rdb.Del(ctx, "{bide}:events").Err())

	// Redis makes its tables smaller bit by bit.
	margin := (full - base) / 20
	left := used(t, rdb) - base
	for deadline := time.Now().Add(patience); left > margin && time.Now().Before(deadline); left = used(t, rdb) - base {
		time.Sleep(100 * time.Millisecond) // Redis tells nobody
	}
	if left > margin {
		t.Errorf("%d bytes more than before, want at most %d", left, margin)
	}
	t.Logf("memory: %d bytes before, %d more with %d jobs, %d more when they had gone", base, full-base, n, left)

	sum, err := newSet(t, rdb).Audit(ctx)
	must(t, err)
	per := int64(n+10*fates) / fates
	if diff := cmp.Diff(scripts.Sum{
		Created: fates * per, Completed: 4 * per, Dead: 2 * per, Cancelled: 3 * per, Expired: per,
	}, sum); diff != "" {
		t.Errorf("ends (-want +got):\n%s", diff)
	}
}
