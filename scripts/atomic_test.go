package scripts_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/bide-go/bide/internal/redistest"
	"github.com/bide-go/bide/job"
	"github.com/bide-go/bide/scripts"
)

// witness looks at Redis after every single command that a client sends.
type witness struct {
	look func(after string)
	busy bool
}

func (w *witness) DialHook(next redis.DialHook) redis.DialHook { return next }

func (w *witness) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		err := next(ctx, cmd)
		w.see(cmd)
		return err
	}
}

func (w *witness) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		err := next(ctx, cmds)
		w.see(cmds[0])
		return err
	}
}

func (w *witness) see(cmd redis.Cmder) {
	if w.busy {
		return
	}
	w.busy = true
	w.look(fmt.Sprint(cmd.Args()[0]))
	w.busy = false
}

// Each move is one command: whoever dies between two commands leaves nothing
// half-done. So the sum is zero after each, no body has a TTL, no inbox entry has gone
// before its job was there, and no tick is planned beyond the cursor.
func TestNothingIsHalfDoneBetweenTwoCommands(t *testing.T) {
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		b := newBench(t, s)
		rdb := s.Client()
		seen := s.Client()
		inbox := 0
		w := &witness{look: func(after string) {
			t.Helper()
			sum := b.gap0()
			for _, key := range seen.Keys(b.ctx(), scripts.Key("job")+"*").Val() {
				if ttl := seen.TTL(b.ctx(), key).Val(); ttl != -1 {
					t.Errorf("after %s: %s has a TTL of %v", after, key, ttl)
				}
			}
			waiting := seen.ZCard(b.ctx(), scripts.Key("inbox")).Val()
			adopted := int64(0)
			for i := range inbox {
				if seen.Exists(b.ctx(), scripts.Key("job")+fmt.Sprint("in", i)).Val() == 1 {
					adopted++
				}
			}
			if int(waiting+adopted) < inbox {
				t.Errorf("after %s: of %d inbox entries %d wait and %d are jobs: %+v", after, inbox, waiting, adopted, sum)
			}
			cursor, _ := seen.HGet(b.ctx(), scripts.Key("schedule")+"s", "cursor").Int64()
			for _, tick := range seen.ZRangeWithScores(b.ctx(), scripts.Key("planned")+"s", 0, -1).Val() {
				if int64(tick.Score) > cursor {
					t.Errorf("after %s: a tick is planned at %.0f, and the cursor stands at %d", after, tick.Score, cursor)
				}
			}
		}}
		rdb.AddHook(w)
		set, err := scripts.New(rdb, "")
		b.must(err)
		b.Set = set
		ctx := b.ctx()

		for i := range 6 {
			b.add(scripts.NewJob{ID: fmt.Sprint("j", i), Delay: time.Duration(i%2) * time.Millisecond, Unique: fmt.Sprint("u", i), ExpiryIn: time.Hour})
		}
		b.add(scripts.NewJob{ID: "late", ExpiryIn: time.Millisecond})
		b.add(scripts.NewJob{ID: "kept", Delay: time.Hour, Retention: time.Millisecond})
		for i := range 3 {
			b.do("ZADD", scripts.Key("inbox"), 0, fmt.Sprintf(`["in%d","medium","test",1]`, i))
		}
		inbox = 3
		entries, err := set.Inbox(ctx)
		b.must(err)
		var adoptions []scripts.Adoption
		for i, e := range entries {
			adoptions = append(adoptions, scripts.Adoption{Entry: e, Job: scripts.NewJob{ID: fmt.Sprint("in", i), Queue: "medium", Name: "other"}})
		}
		_, _, err = set.Adopt(ctx, adoptions)
		b.must(err)
		b.apply(scripts.Change{Act: "add", Name: "s", Definition: "d"})
		b.plan("s", b.ticks("s", b.now().Add(time.Hour), 3)...)
		b.pass(5 * time.Millisecond)
		_, _, err = set.Expire(ctx, 100)
		b.must(err)
		b.promote()
		got := b.take(6)
		if len(got) != 6 {
			t.Fatalf("%d jobs were leased, want 6", len(got))
		}
		leases := []scripts.Lease{got[0].Lease, got[1].Lease}
		_, err = set.Renew(ctx, time.Minute, leases)
		b.must(err)
		_, err = set.Cancel(ctx, got[1].Job.ID)
		b.must(err)
		r := set.Turn(ctx, scripts.Turn{Complete: leases, Fail: []scripts.Verdict{{Lease: got[2].Lease, Retry: true}}})
		b.must(r.CompleteErr)
		b.must(r.FailErr)
		b.fail(got[3], job.ReasonAttempts, 0)
		_, err = set.Release(ctx, []scripts.Lease{got[4].Lease})
		b.must(err)
		b.do("ZADD", scripts.Key("active"), 1, got[5].Job.ID)
		_, _, _, err = set.Reap(ctx, b.now(), 10, 5)
		b.must(err)
		_, err = set.Revive(ctx, got[3].Job.ID)
		b.must(err)
		_, err = set.Reschedule(ctx, "kept", time.Minute, time.Time{})
		b.must(err)
		_, err = set.Cancel(ctx, "kept")
		b.must(err)
		b.pass(5 * time.Millisecond)
		_, err = set.Trim(ctx, 100, time.Hour, 100)
		b.must(err)
		b.apply(scripts.Change{Act: "remove", Name: "s"})
		inbox = 0
		_, _, err = set.ClearQueue(ctx, "medium", 100)
		b.must(err)
		b.gap0()
	})
}
