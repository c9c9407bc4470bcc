package scripts_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/bide-go/bide/job"
	"github.com/bide-go/bide/scripts"
)

// A full Redis takes whatever ends or moves a job, and no new ones: otherwise it
// could never become less full.
func TestAFullRedis(t *testing.T) {
	onReal(t, func(b *bench) {
		full := func() { b.do("CONFIG", "SET", "maxmemory", "1") }
		room := func() { b.do("CONFIG", "SET", "maxmemory", "0") }

		for _, s := range situations() {
			var refused bool
			switch name, _, _ := strings.Cut(s.name, " "); name {
			case "enqueue", "expand", "apply", "start", "backfill":
				refused = true
			case "beat", "leave", "pause", "resume", "hello", "probe", "reschedule", "poll", "schedules", "history":
				continue // either way
			}
			b.flush()
			call := s.prep(b)
			before := b.dump()
			full()
			err := call()
			room()
			switch {
			case !refused && err != nil:
				b.t.Errorf("%s: %v", s.name, err)
			case refused && (err == nil || !strings.Contains(err.Error(), "OOM")):
				b.t.Errorf("%s: %v, want it refused for want of memory", s.name, err)
			case refused:
				b.same(s.name, before, b.dump())
			}
			b.gap0()
		}

		// What stands at the head of a lane does not stop a reserve either.
		for _, head := range []string{"foreign", "late", "spoilt", "ghost"} {
			b.flush()
			b.add(scripts.NewJob{ID: "head", ExpiryIn: time.Hour})
			b.add(scripts.NewJob{ID: "a"})
			switch head {
			case "foreign":
				b.do("LPUSH", scripts.Key("queue")+"medium", "foreign")
			case "late":
				b.do("SETRANGE", scripts.Key("job")+"head", 1+1+12+1+13+1+1, "0000000000001")
			case "spoilt":
				b.do("DEL", scripts.Key("job")+"head")
			case "ghost":
				member := b.raw().LIndex(b.ctx(), scripts.Key("queue")+"medium", 0).Val()
				b.do("HSET", scripts.Key("ghosts"), member, scripts.Key("queue")+"medium")
				b.do("HINCRBY", scripts.Key("counts"), "ghosts:"+scripts.Key("queue")+"medium", 1)
				b.do("HINCRBY", scripts.Key("counts"), "cancelled", 1)
			}
			full()
			got := b.take(9)
			room()
			want := []string{"a"}
			if head == "foreign" {
				want = []string{"head", "a"}
			}
			b.same("taken behind one that is "+head, want, ids(got))
			b.gap0()
		}
	})
}

func TestCancelInALongLaneOfAFullRedis(t *testing.T) {
	onReal(t, func(b *bench) {
		for batch := range 3 {
			jobs := make([]scripts.NewJob, 400)
			for i := range jobs {
				jobs[i] = scripts.NewJob{ID: fmt.Sprintf("j-%d-%d", batch, i), Queue: "medium", Name: "test", Retention: time.Duration(batch) * time.Hour}
			}
			_, err := enqueue(b.Set, b.ctx(), jobs)
			b.must(err)
		}
		b.do("CONFIG", "SET", "maxmemory", "1")
		for _, id := range []string{"j-0-0", "j-1-200", "j-2-399"} {
			if state, err := b.Cancel(b.ctx(), id); err != nil || state != job.Cancelled {
				b.t.Errorf("cancel %s: %s, %v", id, state, err)
			}
		}
		b.do("CONFIG", "SET", "maxmemory", "0")
		b.sum(scripts.Sum{Created: 1200, Waiting: 1197, Cancelled: 3})
		b.same("first", []string{"j-0-1"}, ids(b.take(1)))
	})
}

// A wrong type in a lane does not keep a full Redis from promoting the rest.
func TestPromoteToALaneOfAnotherTypeInAFullRedis(t *testing.T) {
	onReal(t, func(b *bench) {
		b.add(scripts.NewJob{ID: "a", Queue: "low", Delay: time.Millisecond})
		b.do("SET", scripts.Key("queue")+"low-delayed", "foreign")
		b.do("CONFIG", "SET", "maxmemory", "1")
		b.pass(2 * time.Millisecond)
		b.same("taken", 1, b.promote())
		b.do("CONFIG", "SET", "maxmemory", "0")
		b.state("a", job.Delayed)
		b.do("DEL", scripts.Key("queue")+"low-delayed")
	})
}
