package adapter

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/redis/go-redis/v9"

	"github.com/bide-go/bide/bench/internal/protocol"
	"github.com/bide-go/bide/dispatcher"
	"github.com/bide-go/bide/job"
	"github.com/bide-go/bide/promoter"
	"github.com/bide-go/bide/scheduler"
	"github.com/bide-go/bide/scripts"
	"github.com/bide-go/bide/worker"
)

const jobName = "bench"

// bide is promoter and dispatcher in one process, as `bide serve` has them, with
// the defaults of both.
type bide struct {
	rdb    *redis.Client
	client *scheduler.Client
	set    *scripts.Set // for its audit
}

func newBide(ctx context.Context, spec protocol.Spec) (*bide, error) {
	rdb := redis.NewClient(&redis.Options{Addr: fmt.Sprintf("%s:%d", spec.Host, spec.Port)})
	set, err := scripts.New(rdb, "")
	if err != nil {
		return nil, err
	}
	return &bide{rdb: rdb, client: scheduler.NewClient(rdb), set: set}, rdb.Ping(ctx).Err()
}

func (b *bide) enqueue(ctx context.Context, t task) error {
	var err error
	if t.due.IsZero() {
		_, err = b.client.Execute(ctx, job.DefaultQueue, jobName, t.payload)
	} else {
		_, err = b.client.ExecuteAt(ctx, job.DefaultQueue, jobName, t.payload, t.due)
	}
	return err
}

func (b *bide) enqueueMany(ctx context.Context, tasks []task) error {
	requests := make([]scheduler.Request, len(tasks))
	for i, t := range tasks {
		requests[i] = scheduler.Request{Queue: job.DefaultQueue, Name: jobName, Args: t.payload, At: t.due}
	}
	results, err := b.client.ExecuteMany(ctx, requests)
	if err != nil {
		return err
	}
	var refused []error
	for _, r := range results {
		refused = append(refused, r.Err)
	}
	return errors.Join(refused...)
}

func (b *bide) work(ctx context.Context, concurrency int, handle func([]byte)) error {
	registry := worker.NewRegistry()
	registry.Handle(jobName, func(_ context.Context, j *job.Job) error {
		handle(j.Args)
		return nil
	})
	if err := b.promote(ctx); err != nil {
		return err
	}
	d := dispatcher.New(b.rdb, registry, dispatcher.Config{Concurrency: concurrency})
	go report(ctx, d.Run)
	return nil
}

func (b *bide) promote(ctx context.Context) error {
	p := promoter.New(b.rdb, promoter.Config{})
	go report(ctx, p.Run)
	return nil
}

// report has the runner see, on standard error, why the measurement will fail.
func report(ctx context.Context, run func(context.Context) error) {
	if err := run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
}

func (b *bide) counts(ctx context.Context) (protocol.Counts, error) {
	s, err := b.set.Audit(ctx)
	if err == nil && s.Gap() != 0 {
		err = fmt.Errorf("audit: gap %d, want 0: %+v", s.Gap(), s)
	}
	return protocol.Counts{Delayed: int(s.Delayed), Waiting: int(s.Waiting), Active: int(s.Active), Failed: int(s.Dead)}, err
}
