package promoter_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/bide-go/bide/promoter"
	"github.com/bide-go/bide/scheduler"
	"github.com/bide-go/bide/scripts"
)

// The sweeps come with a heartbeat, and without one too: what they remove may be what
// keeps it.
func TestSweepWithoutHeartbeat(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		rdb := r.Server.Client()
		rdb.AddHook(refusing{func(args []any) bool {
			return len(args) == 6 && args[4] == scripts.PromoteJobs // as only promote has them
		}})
		refused := promoter.New(rdb, promoter.Config{})
		r.run(refused.Run)
		// The first sweep needs no heartbeat; the second job expires after it.
		for n := range int64(2) {
			if _, err := r.ExecuteLater(r.ctx(), "medium", "any", nil, time.Hour, scheduler.WithExpiryIn(time.Millisecond)); err != nil {
				t.Fatal(err)
			}
			r.eventually("expired", func() bool { return r.sum().Expired == n+1 })
		}
		if last := refused.LastPass(); !last.IsZero() {
			t.Errorf("the promoter has passed at %v, want its calls refused", last)
		}
	})
}

// refusing is a client's hook that refuses what it is told to.
type refusing struct{ what func(args []any) bool }

func (refusing) DialHook(next redis.DialHook) redis.DialHook { return next }
func (refusing) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}
func (h refusing) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if h.what(cmd.Args()) {
			return errors.New("refused")
		}
		return next(ctx, cmd)
	}
}
