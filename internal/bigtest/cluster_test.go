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
	"github.com/bide-go/bide/job"
	"github.com/bide-go/bide/promoter"
	"github.com/bide-go/bide/scheduler"
	"github.com/bide-go/bide/scripts"
	"github.com/bide-go/bide/worker"
)

// The roles work on a cluster, and through the move of their slot from one node to
// another while jobs are made, become due, run and fail.
func TestAClusterIsReshardedUnderWork(t *testing.T) {
	t.Parallel()
	cluster := redistest.NewCluster(t)
	ctx := context.Background()
	rdb := cluster.Client(t)
	set := newSet(t, rdb)

	var ran atomic.Int64
	var ordered sync.Map // ids of jobs made in transactions that have run
	reg := worker.NewRegistry()
	reg.Handle("test", func(_ context.Context, j *job.Job) error {
		ran.Add(1)
		if j.Queue == "high" {
			ordered.Store(j.ID, true)
		}
		if j.Attempt() == 1 && len(j.ID)%2 == 0 {
			return fmt.Errorf("the first attempt at %s fails", j.ID)
		}
		return nil
	})
	roles := []*role{
		run(t, "promoter", promoter.New(cluster.Client(t), promoter.Config{}).Run),
		run(t, "scheduler", scheduler.New(cluster.Client(t), scheduler.Config{}).Run),
		run(t, "dispatcher", dispatcher.New(cluster.Client(t), reg, dispatcher.Config{Concurrency: 10, Lease: 2 * time.Second}).Run),
	}
	var acknowledged, orders atomic.Int64
	producer := run(t, "producer", func(ctx context.Context) error {
		c := scheduler.NewClient(rdb)
		for i := 0; ctx.Err() == nil; i++ {
			id, delay := scheduler.WithID(fmt.Sprint("p", i)), time.Duration(i%5)*20*time.Millisecond
			backoff := scheduler.WithBackoff(10*time.Millisecond, 50*time.Millisecond)
			var err error
			if i%4 > 0 {
				_, err = c.ExecuteLater(ctx, "medium", "test", nil, delay, id, backoff, scheduler.WithUnique(fmt.Sprint("u", i)))
			} else {
				_, err = rdb.TxPipelined(ctx, func(pipe redis.Pipeliner) error {
					pipe.Incr(ctx, "{bide}:orders")
					_, err := c.ExecuteLaterTx(ctx, pipe, "high", "test", nil, delay, id, backoff)
					return err
				})
				if err == nil {
					orders.Add(1)
				}
			}
			if err == nil {
				acknowledged.Add(1)
			} else if i%4 > 0 && ctx.Err() == nil && !scripts.Away(err) {
				t.Errorf("enqueue: %v", err)
			}
			select {
			case <-time.After(time.Millisecond): // not all of the machine
			case <-ctx.Done():
			}
		}
		return nil
	})
	roles = append(roles, producer)
	for round := range 3 {
		before := ran.Load()
		eventually(t, "jobs run", func() bool { return ran.Load() >= before+200 })
		cluster.Move(t, func() {
			if round > 0 {
				time.Sleep(300 * time.Millisecond) // long enough for every role to run into it
			}
		})
	}
	before := ran.Load()
	eventually(t, "jobs run after the moves", func() bool { return ran.Load() >= before+200 })
	for _, r := range roles {
		r.running()
	}
	producer.end()

	var sum scripts.Sum
	eventually(t, "everything ends", func() bool {
		var err error
		sum, err = set.Audit(ctx)
		must(t, err)
		return sum.Delayed+sum.Waiting+sum.Active == 0
	})
	if sum.Gap() != 0 || sum.Created != sum.Completed || sum.Created < acknowledged.Load() {
		t.Errorf("%d were acknowledged, and the sum is %+v", acknowledged.Load(), sum)
	}
	made, err := rdb.Get(ctx, "{bide}:orders").Int64()
	must(t, err)
	ids := int64(0)
	ordered.Range(func(any, any) bool { ids++; return true })
	if made < orders.Load() || made != ids {
		t.Errorf("%d transactions were acknowledged, %d committed, and the jobs of %d ran", orders.Load(), made, ids)
	}
	orphans, err := set.FindOrphans(ctx, 20_000)
	must(t, err)
	if len(orphans.Found) > 0 {
		t.Errorf("orphans: %+v", orphans.Found)
	}
	t.Logf("%d jobs acknowledged, %d attempts made", acknowledged.Load(), ran.Load())
}
