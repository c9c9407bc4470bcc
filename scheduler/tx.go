package scheduler

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/bide-go/bide/job"
)

// ExecuteLaterTx queues the creation of a job in the caller's own transaction, a
// redis.Pipeliner from TxPipeline or TxPipelined on any client of the same server:
// when EXEC runs, the job and the caller's data are committed together, and when it
// does not, neither is. The delay is counted from the moment EXEC runs.
//
// The id is known at once. After an EXEC whose answer was lost, repeat the
// transaction with the same WithID: while that job is live, retained or dead it is
// not created again. WithUnique is refused, because inside a transaction nobody
// could be told that another job holds the key.
//
// On a Redis Cluster a transaction lives in one slot: the caller's keys must carry
// the namespace as hash tag, for example "{bide}:orders".
//
// An error means that nothing was queued. Two things are seen only when EXEC runs:
// that 1,000 queues are in use, and that something foreign stands under a key of
// bide's. Then EXEC returns an error that says so, with the caller's data committed
// and no job created.
func (c *Client) ExecuteLaterTx(ctx context.Context, pipe redis.Pipeliner, queue, name string, args any, delay time.Duration, opts ...Option) (string, error) {
	if c.err != nil {
		return "", c.err
	}
	n, err := c.build(Request{Queue: queue, Name: name, Args: args, Delay: delay, Options: opts})
	if err != nil {
		return "", err
	}
	if n.Unique != "" {
		return "", &job.InvalidError{Field: "unique key", Value: n.Unique, Rule: "cannot be used inside a transaction; use WithID"}
	}
	return n.ID, c.set.EnqueueTx(ctx, pipe, *n)
}
