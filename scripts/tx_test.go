package scripts_test

import (
	"errors"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/bide-go/bide/job"
	"github.com/bide-go/bide/scripts"
)

// Jobs made in the caller's own MULTI exist when its data do, and not before.
func TestEnqueueTx(t *testing.T) {
	each(t, func(b *bench) {
		rdb := b.Universal()
		for range 2 { // the second time with the scripts forgotten
			b.flush()
			pipe := rdb.TxPipeline()
			pipe.Set(b.ctx(), "{bide}:stock", "7", 0)
			for _, n := range []scripts.NewJob{
				{ID: "now", Queue: "high", Name: "test"},
				{ID: "later", Queue: "low", Name: "test", Delay: time.Hour, Retention: time.Minute, Args: []byte(`{"n":[]}`)},
				{ID: "now", Queue: "low", Name: "test"},
			} {
				b.must(b.EnqueueTx(b.ctx(), pipe, n))
			}
			b.same("queued only", int64(0), b.gap0().Created)
			_, err := pipe.Exec(b.ctx())
			b.must(err)
			b.same("data", "7", rdb.Get(b.ctx(), "{bide}:stock").Val())
			b.same("args", `{"n":[]}`, string(b.state("later", job.Delayed).Args))
			b.same("queue", "high", b.state("now", job.Waiting).Queue)
			b.sum(scripts.Sum{Created: 2, Delayed: 1, Waiting: 1})
			b.do("SCRIPT", "FLUSH")
		}

		// Somebody was faster: neither.
		err := rdb.Watch(b.ctx(), func(tx *redis.Tx) error {
			b.do("SET", "{bide}:stock", "6")
			pipe := tx.TxPipeline()
			pipe.Set(b.ctx(), "{bide}:stock", "5", 0)
			b.must(b.EnqueueTx(b.ctx(), pipe, scripts.NewJob{ID: "slow", Queue: "low", Name: "test"}))
			_, err := pipe.Exec(b.ctx())
			return err
		}, "{bide}:stock")
		if !errors.Is(err, redis.TxFailedErr) {
			b.t.Errorf("%v, want a failed transaction", err)
		}
		b.gone("slow")
		b.same("data", "6", rdb.Get(b.ctx(), "{bide}:stock").Val())
	})
}
