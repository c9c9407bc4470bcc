package scripts_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/bide-go/bide/job"
	"github.com/bide-go/bide/scripts"
)

// Plain jobs that are due now take a short way through enqueue. Whatever is in their way,
// each of them is created once, in the order of the call, or answered for.
func TestPlainJobsTogether(t *testing.T) {
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
				if c.alter != nil {
					c.alter(jobs)
				}
				if c.ready != nil {
					c.ready(b)
				}
				was := b.sumOf()
				results, err := enqueue(b.Set, b.ctx(), jobs)
				b.must(err)
				what := fmt.Sprintf("%d, %s: ", n, c.name)
				var got want
				made := []string{}
				for i, r := range results {
					switch {
					case r.Err != nil:
						got.Refused++
					case r.Deduplicated:
						got.Doubled++
					default:
						got.Created++
						made = append(made, jobs[i].ID)
					}
					if r.ID != jobs[i].ID || r.Err == nil && r.State != job.Waiting {
						b.t.Errorf("%sitem %d: %+v", what, i, r)
					}
				}
				c.but.Refused = min(c.but.Refused, n)
				c.but.Created = n - c.but.Doubled - c.but.Refused
				b.same(what+"what became of them", c.but, got)
				is := b.sumOf()
				b.same(what+"counted", int64(got.Created), is.Created-was.Created)
				b.same(what+"gap", int64(0), is.Gap())
				if c.name == "the lane is foreign" {
					continue
				}
				lane := b.raw().LRange(b.ctx(), scripts.Key("queue")+jobs[0].Queue, 0, -1).Val()
				b.same(what+"in order of arrival", true, slices.IsSorted(lane))
				in := b.lane(jobs[0].Queue)
				b.same(what+"in the order of the call", made, in[len(in)-len(made):])
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
