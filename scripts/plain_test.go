package scripts_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bide-go/bide/job"
	"github.com/bide-go/bide/scripts"
)

// Plain jobs take a short way through enqueue. Whatever is in their way, each of them is
// created once, in the order of the call, or answered for.
func TestPlainJobsTogether(t *testing.T) {
	t.Run("now", func(t *testing.T) { plainJobs(t, func(int) time.Duration { return 0 }) })
	t.Run("later", func(t *testing.T) { plainJobs(t, func(int) time.Duration { return time.Hour }) })
	t.Run("one in the past", func(t *testing.T) {
		plainJobs(t, func(i int) time.Duration { return time.Duration(1-i%2) * time.Hour })
	})
}

// plainJobs makes jobs due in what delay says, or now.
func plainJobs(t *testing.T, delay func(i int) time.Duration) {
	type want struct{ Created, Doubled, Refused int }
	long := json.RawMessage(`"` + strings.Repeat("x", 40_000) + `"`)
	cases := []struct {
		name  string
		ready func(b *bench)
		alter func(jobs []scripts.NewJob)
		but   want // of those that are not created
	}{
		{name: "nothing is in the way"},
		{name: "its lane is empty", ready: func(b *bench) { b.take(9) }},
		{name: "the queue is new", alter: func(jobs []scripts.NewJob) {
			for i := range jobs {
				jobs[i].Queue = "new"
			}
		}},
		{name: "an id is taken", ready: func(b *bench) { b.add(scripts.NewJob{ID: "p0000", Queue: "low"}) }, but: want{Doubled: 1}},
		{name: "an id is there twice", alter: func(jobs []scripts.NewJob) { jobs[len(jobs)-1].ID = jobs[0].ID }, but: want{Doubled: 1}},
		{name: "a body is long", alter: func(jobs []scripts.NewJob) { jobs[len(jobs)-1].Args = long }},
		{name: "a key is foreign", ready: func(b *bench) { b.do("HSET", scripts.Key("job")+"p0000", "f", "v") }, but: want{Refused: 1}},
		{name: "the lane is foreign", ready: func(b *bench) {
			b.take(9)
			b.do("SET", scripts.Key("queue")+"low", "v")
		}, but: want{Refused: scripts.EnqueueJobs}},
	}
	each(t, func(b *bench) {
		for _, n := range []int{1, 2, 15, 16, 17, 40, scripts.EnqueueJobs} {
			for _, c := range cases {
				if n == 1 && c.name == "an id is there twice" {
					continue
				}
				b.flush()
				b.add(scripts.NewJob{ID: "before", Queue: "low"})
				jobs := batch(n, scripts.NewJob{ID: "p", Queue: "low"})
				for i := range jobs {
					if d := delay(i); d > 0 {
						jobs[i].At = b.now().Truncate(time.Second).Add(d)
					} else if delay(0) > 0 {
						jobs[i].At = b.now().Add(-time.Minute)
					}
				}
				if c.alter != nil {
					c.alter(jobs)
				}
				if c.ready != nil {
					c.ready(b)
				}
				ids := make([]string, n)
				for i := range jobs {
					ids[i] = jobs[i].ID
				}
				was := b.sumOf()
				results, err := enqueue(b.Set, b.ctx(), jobs)
				b.must(err)
				what := fmt.Sprintf("%d, %s: ", n, c.name)
				var got want
				for i, r := range results {
					switch {
					case r.Err != nil:
						got.Refused++
					case r.Deduplicated:
						got.Doubled++
					default:
						got.Created++
					}
					state := job.Waiting
					if delay(i) > 0 {
						state = job.Delayed
					}
					if r.ID != jobs[i].ID || r.Err == nil && !r.Deduplicated && r.State != state {
						b.t.Errorf("%sitem %d: %+v, want it %s", what, i, r, state)
					}
				}
				c.but.Refused = min(c.but.Refused, n)
				c.but.Created = n - c.but.Doubled - c.but.Refused
				b.same(what+"what became of them", c.but, got)
				for i, id := range ids {
					if ttl := b.raw().PTTL(b.ctx(), scripts.Key("job")+id).Val(); results[i].Err == nil && ttl != -1 {
						b.t.Errorf("%sthe body of %s has a TTL of %v, want none", what, id, ttl)
					}
				}
				is := b.sumOf()
				b.same(what+"counted", int64(got.Created), is.Created-was.Created)
				b.same(what+"gap", int64(0), is.Gap())
				if c.name == "the lane is foreign" {
					continue
				}
				// Of each of the two places, in the order of the call.
				var now, later []string
				for i, id := range ids {
					if results[i].Err != nil || results[i].Deduplicated {
						continue
					}
					if delay(i) > 0 {
						later = append(later, id)
					} else {
						now = append(now, id)
					}
				}
				lane := b.raw().LRange(b.ctx(), scripts.Key("queue")+jobs[0].Queue, 0, -1).Val()
				delayed := b.raw().ZRange(b.ctx(), scripts.Key("delayed"), 0, -1).Val()
				for place, want := range map[string][]string{"lane": now, "delayed": later} {
					members := map[string][]string{"lane": lane, "delayed": delayed}[place]
					b.same(what+"in order of arrival in "+place, true, slices.IsSorted(members))
					var got []string
					for _, member := range members[len(members)-len(want):] {
						got = append(got, strings.SplitN(member, ":", 3)[2])
					}
					b.same(what+"in the order of the call in "+place, want, got)
				}
			}
		}
		b.flush()
	})
}

func (b *bench) sumOf() scripts.Sum {
	b.t.Helper()
	sum, err := b.Audit(b.ctx())
	b.must(err)
	return sum
}
