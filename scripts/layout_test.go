package scripts_test

import (
	"testing"
	"time"

	"github.com/bide-go/bide/job"
	"github.com/bide-go/bide/scripts"
)

// A schedule that layout 1 applied and planned goes on, with the default rules.
func TestRunsOfLayout1(t *testing.T) {
	each(t, func(b *bench) {
		b.apply(scripts.Change{Act: "add", Name: "s", Definition: "d"})
		s := b.schedule("s")
		at := b.now().Add(-time.Second).Truncate(time.Millisecond)
		first, second := b.tick(s, at), b.tick(s, at.Add(100*time.Millisecond))
		b.plan("s", first, second)
		for _, n := range []scripts.NewJob{first, second} {
			key := scripts.Key("job") + n.ID
			old := b.raw().Get(b.ctx(), key).Val()
			// Without the next tick and whose the args are.
			b.do("SET", key, replaceOnce(old, "\t\t\tschedule\t", "\tschedule\t"))
		}
		b.do("HDEL", scripts.Key("schedule")+"s", "policy", "catchUp", "keepSuccessful", "keepFailed", "pauseAfter")
		b.do("HSET", scripts.Key("meta"), "layout", "1")
		b.must(b.Hello(b.ctx()))
		b.same("layout", "2", b.raw().HGet(b.ctx(), scripts.Key("meta"), "layout").Val())
		b.promote()
		l := b.take(9)
		b.same("taken", []string{first.ID}, ids(l)) // the other overlaps
		b.same("own", true, l[0].Job.FromDefinition)
		b.complete(l...)
		records, _, err := b.History(b.ctx(), "s", time.Time{}, 10)
		b.must(err)
		b.same("records", 2, len(records))
		b.same("skipped", string(job.ReasonOverlap), string(records[1].Reason))
		b.gap0()
	})
}
