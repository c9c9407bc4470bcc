package scheduler

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/bide-go/bide/job"
)

// deaf is a client's connection that loses what its rules say.
type deaf struct {
	before func(script bool) error // instead of sending a command
	after  func(script bool) error // instead of its answer
	calls  int
}

func (d *deaf) DialHook(next redis.DialHook) redis.DialHook { return next }

func (d *deaf) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

// isApply tells the script apply from the others by its last arguments: a change.
func isApply(cmd redis.Cmder) bool {
	args := cmd.Args()
	for _, arg := range args[min(len(args), 4):] {
		if text, ok := arg.(string); ok && (text == "add" || text == "retime" || text == "rewrite" || text == "remove") {
			return true
		}
	}
	return false
}

func (d *deaf) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		applies := isApply(cmd)
		if d.before != nil {
			if err := d.before(applies); err != nil {
				cmd.SetErr(err)
				return err
			}
		}
		err := next(ctx, cmd)
		if applies && !redis.HasErrorPrefix(err, "NOSCRIPT") {
			d.calls++
		}
		if d.after != nil && !redis.HasErrorPrefix(err, "NOSCRIPT") {
			if lost := d.after(applies); lost != nil {
				cmd.SetErr(lost)
				return lost
			}
		}
		return err
	}
}

type redisAnswer string

func (a redisAnswer) Error() string { return string(a) }
func (redisAnswer) RedisError()     {}

// An apply that Redis takes longer for than the client waits is told right in the
// end, and carried out once.
func TestApplyWhoseAnswerIsLost(t *testing.T) {
	t.Parallel()
	timeout := os.ErrDeadlineExceeded
	busy := redisAnswer("BUSY Redis is busy running a script.")
	for name, tt := range map[string]struct {
		sent   bool  // whether the first apply reaches Redis
		silent []any // what the calls after it meet
		calls  int   // scripts that ran
		fails  bool
	}{
		"carried out":            {sent: true, calls: 1},
		"carried out, then busy": {sent: true, silent: []any{timeout, busy, timeout, busy, busy}, calls: 1},
		"never arrived":          {calls: 1},
		"never arrived, busy":    {silent: []any{timeout, busy}, calls: 1},
		"refused afterwards":     {sent: true, silent: []any{redisAnswer("NOPERM no"), timeout}, calls: 1, fails: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := mini(t)
			r.scheduler("a").apply(every("old", "@daily"), every("same", "@daily"))
			lost, meets := false, tt.silent
			d := &deaf{}
			d.before = func(applies bool) error {
				switch {
				case applies && !lost && !tt.sent:
					lost = true
					return timeout
				case lost && len(meets) > 0:
					err := meets[0].(error)
					meets = meets[1:]
					return err
				}
				return nil
			}
			d.after = func(applies bool) error {
				if applies && !lost && tt.sent {
					lost = true
					return timeout
				}
				return nil
			}
			rdb := r.Server.Client()
			rdb.AddHook(d)
			got, err := NewManager(rdb, "", "ana").Apply(context.Background(), []Definition{every("new", "@daily"), every("same", "@daily")})
			if tt.fails {
				if !errors.Is(err, job.ErrOutcomeUnknown) {
					t.Errorf("%+v, %v, want the outcome to be unknown", got, err)
				}
			} else if err != nil || !got.Applied || len(got.Added) != 1 || len(got.Removed) != 1 || got.Unchanged != 1 {
				t.Errorf("%+v, %v", got, err)
			}
			if d.calls != tt.calls {
				t.Errorf("%d scripts ran, want %d", d.calls, tt.calls)
			}
			if all := strings.Join(r.applied(), " "); all != "new same" {
				t.Errorf("applied: %s", all)
			}
		})
	}
}

// Nobody waits for ever.
func TestApplyWhoseAnswerNeverComes(t *testing.T) {
	t.Parallel()
	r := mini(t)
	d := &deaf{}
	d.after = func(applies bool) error {
		if applies {
			d.before = func(bool) error { return os.ErrDeadlineExceeded }
			return os.ErrDeadlineExceeded
		}
		return nil
	}
	rdb := r.Server.Client()
	rdb.AddHook(d)
	ctx, cancel := context.WithTimeout(context.Background(), 700*time.Millisecond)
	defer cancel()
	if _, err := NewManager(rdb, "", "ana").Apply(ctx, []Definition{every("new", "@daily")}); !errors.Is(err, job.ErrOutcomeUnknown) {
		t.Errorf("%v", err)
	}
}
