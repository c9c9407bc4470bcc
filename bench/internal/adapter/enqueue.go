package adapter

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/bide-go/bide/bench/internal/protocol"
	"github.com/bide-go/bide/internal/clock"
)

func (s *session) task(i int) task {
	due := s.spec.Due(i)
	t := task{payload: protocol.NewPayload(i, due)}
	if due != 0 {
		t.due = time.UnixMilli(due)
	}
	return t
}

// enqueue makes the jobs, by Producers at a time.
func (s *session) enqueue(ctx context.Context) (protocol.Result, error) {
	var warm []task
	for i := range s.spec.Warm {
		warm = append(warm, s.task(i%max(1, s.spec.Jobs)))
	}
	if err := s.make(ctx, warm); err != nil {
		return protocol.Result{}, err
	}
	if err := s.start(); err != nil {
		return protocol.Result{}, err
	}
	var next atomic.Int64
	var once sync.Once
	var failed error
	var wg sync.WaitGroup
	size := max(1, s.spec.Batch)
	began := clock.Now()
	for range max(1, s.spec.Producers) {
		wg.Go(func() {
			batch := make([]task, 0, size)
			for {
				first := int(next.Add(int64(size))) - size
				if first >= s.spec.Jobs {
					return
				}
				batch = batch[:0]
				for i := first; i < min(first+size, s.spec.Jobs); i++ {
					batch = append(batch, s.task(i))
				}
				if err := s.make(ctx, batch); err != nil {
					once.Do(func() { failed = err })
					return
				}
			}
		})
	}
	wg.Wait()
	end := clock.Now()
	return protocol.Result{Seconds: end.Sub(began).Seconds(), EndUs: end.UnixMicro()}, failed
}

func (s *session) make(ctx context.Context, tasks []task) error {
	if s.spec.Batch > 0 && len(tasks) > 0 {
		return s.sys.enqueueMany(ctx, tasks)
	}
	for _, t := range tasks {
		if err := s.sys.enqueue(ctx, t); err != nil {
			return err
		}
	}
	return nil
}
