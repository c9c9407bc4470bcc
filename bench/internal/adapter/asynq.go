package adapter

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/hibiken/asynq"

	"github.com/bide-go/bide/bench/internal/protocol"
)

const asynqQueue = "default"

// asynqSystem is asynq's Client and Server. With PollMs, both intervals at which it
// looks for work have that length; the defaults are 5 s for delayed tasks and 1 s for
// an empty queue.
type asynqSystem struct {
	redis     asynq.RedisClientOpt
	client    *asynq.Client
	inspector *asynq.Inspector
	poll      time.Duration
}

func newAsynq(_ context.Context, spec protocol.Spec) (*asynqSystem, error) {
	opt := asynq.RedisClientOpt{Addr: fmt.Sprintf("%s:%d", spec.Host, spec.Port)}
	a := &asynqSystem{
		redis: opt, client: asynq.NewClient(opt), inspector: asynq.NewInspector(opt),
		poll: time.Duration(spec.PollMs) * time.Millisecond,
	}
	return a, a.client.Ping()
}

func (a *asynqSystem) enqueue(ctx context.Context, t task) error {
	var opts []asynq.Option
	if !t.due.IsZero() {
		opts = append(opts, asynq.ProcessAt(t.due))
	}
	payload, err := json.Marshal(t.payload)
	if err != nil {
		return err
	}
	_, err = a.client.EnqueueContext(ctx, asynq.NewTask(jobName, payload), opts...)
	return err
}

func (a *asynqSystem) enqueueMany(context.Context, []task) error {
	return errors.New("asynq has no bulk API")
}

func (a *asynqSystem) promote(context.Context) error {
	return errors.New("asynq's forwarder does not run alone")
}

func (a *asynqSystem) work(_ context.Context, concurrency int, handle func([]byte)) error {
	server := asynq.NewServer(a.redis, asynq.Config{
		Concurrency: concurrency, TaskCheckInterval: a.poll, DelayedTaskCheckInterval: a.poll,
		LogLevel: asynq.WarnLevel,
	})
	return server.Start(asynq.HandlerFunc(func(_ context.Context, t *asynq.Task) error {
		handle(t.Payload())
		return nil
	}))
}

func (a *asynqSystem) counts(context.Context) (protocol.Counts, error) {
	q, err := a.inspector.GetQueueInfo(asynqQueue)
	if errors.Is(err, asynq.ErrQueueNotFound) {
		return protocol.Counts{}, nil // nothing was ever enqueued
	}
	if err != nil {
		return protocol.Counts{}, err
	}
	return protocol.Counts{Delayed: q.Scheduled, Waiting: q.Pending, Active: q.Active, Failed: q.Retry + q.Archived}, nil
}
