package bigtest

import (
	"context"
	"regexp"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"
)

// meter is a hook that measures what each script costs the thread on which Redis
// runs commands. Unlike the time that passes it grows little when others want the
// processor too.
type meter struct {
	side *redis.Client // that asks
	most time.Duration // of one call
}

var mainThread = regexp.MustCompile(`used_cpu_(?:sys|user)_main_thread:([0-9.]+)`)

// spent is the processor time of Redis so far.
func (m *meter) spent(ctx context.Context) time.Duration {
	var sum float64
	for _, found := range mainThread.FindAllStringSubmatch(m.side.Info(ctx, "cpu").Val(), -1) {
		seconds, _ := strconv.ParseFloat(found[1], 64)
		sum += seconds
	}
	return time.Duration(sum * float64(time.Second))
}

// DialHook changes nothing.
func (m *meter) DialHook(next redis.DialHook) redis.DialHook { return next }

// ProcessPipelineHook changes nothing.
func (m *meter) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

// ProcessHook measures scripts.
func (m *meter) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if cmd.Name() != "evalsha" && cmd.Name() != "eval" {
			return next(ctx, cmd)
		}
		before := m.spent(ctx)
		err := next(ctx, cmd)
		m.most = max(m.most, m.spent(ctx)-before)
		return err
	}
}
