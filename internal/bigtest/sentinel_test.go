package bigtest

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/bide-go/bide/dispatcher"
	"github.com/bide-go/bide/internal/redistest"
	"github.com/bide-go/bide/internal/timely"
	"github.com/bide-go/bide/job"
	"github.com/bide-go/bide/promoter"
	"github.com/bide-go/bide/scheduler"
	"github.com/bide-go/bide/scripts"
	"github.com/bide-go/bide/worker"
)

// A master is killed and its replica promoted: no role ends, work goes on, and what
// had reached the replica is done.
func TestAFailover(t *testing.T) {
	t.Parallel()
	s := redistest.NewSentinel(t)
	ctx := context.Background()

	var ran sync.Map      // id -> true
	var last atomic.Int64 // when a handler ran last, unix ns
	reg := worker.NewRegistry()
	reg.Handle("test", func(_ context.Context, j *job.Job) error {
		ran.Store(j.ID, true)
		last.Store(time.Now().UnixNano())
		return nil
	})
	roles := []*role{
		run(t, "promoter", promoter.New(s.Client(), promoter.Config{}).Run),
		run(t, "dispatcher", dispatcher.New(s.Client(), reg, dispatcher.Config{Concurrency: 10, Lease: 2 * time.Second}).Run),
	}

	// The producer has one connection, so that WAIT speaks of what it sent itself.
	// Some of its jobs are far from due when the master dies. It never gives up.
	var taken sync.Map // acknowledged, and known to the replica
	var promoted atomic.Bool
	produced, delays := 0, []time.Duration{0, 20 * time.Millisecond, 0, 500 * time.Millisecond, 3 * time.Second}
	producer := run(t, "producer", func(ctx context.Context) error {
		rdb := s.ClientWith(redis.FailoverOptions{PoolSize: 1})
		c := scheduler.NewClient(rdb)
		for ; ctx.Err() == nil; produced++ {
			onlyMaster := promoted.Load() // the old one is dead, so nobody else can answer
			call, cancel := context.WithTimeout(ctx, time.Second)
			id, err := c.ExecuteLater(call, "medium", "test", nil, delays[produced%len(delays)], scheduler.WithID(fmt.Sprint("p", produced)))
			switch {
			case err == nil && onlyMaster:
				taken.Store(id, true)
			case err == nil:
				// A WAIT on a new connection, behind a kill, finds no replica.
				if n, err := rdb.Wait(call, 1, 100*time.Millisecond).Result(); err == nil && n == 1 {
					taken.Store(id, true)
				}
			case ctx.Err() == nil && !scripts.Away(err):
				t.Errorf("enqueue: %v", err)
			}
			cancel()
			select {
			case <-time.After(time.Millisecond): // not all of the machine
			case <-ctx.Done():
			}
		}
		return nil
	})
	roles = append(roles, producer)
	count := func(m *sync.Map) (n int) {
		m.Range(func(any, any) bool { n++; return true })
		return n
	}
	eventually(t, "jobs are done", func() bool { return count(&ran) >= 200 && count(&taken) >= 200 })

	s.Master.Kill()
	s.Promoted()
	since := time.Now()
	promoted.Store(true)
	eventually(t, "consuming resumes", func() bool { return last.Load() > since.UnixNano() })
	took := time.Since(since)
	t.Logf("consuming resumed %v after the promotion; %d jobs were taken before", took.Round(time.Millisecond), count(&taken))
	if took > timely.Limit(5*time.Second) {
		t.Errorf("consuming resumed %v after the promotion, want within 5 s", took)
	}
	before := count(&taken)
	eventually(t, "producing goes on", func() bool { return count(&taken) >= before+200 })
	for _, r := range roles {
		r.running()
	}
	producer.end()

	rdb := s.Client()
	set := newSet(t, rdb)
	eventually(t, "everything ends", func() bool {
		sum, err := set.Audit(ctx)
		must(t, err)
		return sum.Delayed+sum.Waiting+sum.Active == 0
	})
	sum, err := set.Audit(ctx)
	must(t, err)
	if sum.Gap() != 0 || sum.Created != sum.Completed || sum.Completed < int64(count(&taken)) {
		t.Errorf("on the new master, of %d jobs taken: %+v", count(&taken), sum)
	}
	taken.Range(func(id, _ any) bool {
		if _, ok := ran.Load(id); !ok {
			t.Errorf("%s was taken and never ran", id)
		}
		return true
	})
	t.Logf("%d produced, %d taken, %d ran", produced, count(&taken), count(&ran))
}
