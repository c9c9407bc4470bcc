package scripts

import (
	"context"

	"github.com/redis/go-redis/v9"
)

// EnqueueTx queues the creation of one job in the caller's own MULTI, so that both
// commit or neither.
//
// A plain write of ours goes first: Redis judges it when it is queued, and when
// memory is full the whole EXEC is refused, whereas the script would be refused
// alone inside it. The script is sent as text, since its hash may be unknown by the
// time EXEC runs, which would commit everything but the job.
func (s *Set) EnqueueTx(ctx context.Context, pipe redis.Pipeliner, n NewJob) error {
	guard := call{redis.NewCmd(ctx, "hset", s.keys.name("beats"), "tx", "1")}
	args := []any{n.ID, n.Queue, n.when(), n.expiry(), n.Unique, n.kind(), n.tail()}
	create := call{s.command(ctx, s.scripts["enqueue"], false, args).Cmd}
	if err := pipe.Process(ctx, guard); err != nil {
		return err
	}
	return pipe.Process(ctx, create)
}
