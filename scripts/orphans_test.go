package scripts_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/bide-go/bide/internal/redistest"
	"github.com/bide-go/bide/job"
	"github.com/bide-go/bide/scripts"
)

// orphans looks for them, and checks that looking changed nothing.
func (b *bench) orphans(most int) scripts.Orphans {
	b.t.Helper()
	before := b.dump()
	o, err := b.FindOrphans(b.ctx(), most)
	b.must(err)
	b.same("keys after the look", before, b.dump())
	return o
}

func TestJobsInTheirPlacesAreNoOrphans(t *testing.T) {
	each(t, func(b *bench) {
		b.same("nothing", scripts.Orphans{Whole: true}, b.orphans(100))
		for i := range 30 {
			id := fmt.Sprintf("j%02d", i)
			b.add(scripts.NewJob{ID: id, Queue: []string{"high", "low"}[i%2], Delay: time.Duration(i%3) * time.Hour})
		}
		b.add(scripts.NewJob{ID: "gone", Retention: time.Hour})
		_, err := b.Cancel(b.ctx(), "gone")
		b.must(err)
		got := b.take(4)
		b.fail(got[0], job.ReasonAttempts, 0)
		b.complete(got[1])
		o := b.orphans(10_000)
		b.same("found", []scripts.Orphan(nil), o.Found)
		if !o.Whole || o.Looked < 60 {
			b.t.Errorf("%+v, want all of it", o)
		}
	})
}

func TestOrphansAreFound(t *testing.T) {
	each(t, func(b *bench) {
		for _, id := range []string{"a", "b", "c", "d", "e"} {
			b.add(scripts.NewJob{ID: id, Name: "test"})
		}
		b.take(2) // a and b
		b.add(scripts.NewJob{ID: "later", Delay: time.Hour})
		b.add(scripts.NewJob{ID: "there"})

		b.do("HDEL", scripts.Key("lease"), "a")
		b.do("HSET", scripts.Key("lease"), "stray", "w1:1 1 low P")
		b.do("DEL", scripts.Key("job")+"b")
		b.do("DEL", scripts.Key("job")+"c")
		b.do("SET", scripts.Key("job")+"d", "spoilt")
		b.do("DEL", scripts.Key("job")+"later")
		b.do("ZADD", scripts.Key("dead"), 1, "dead")
		b.do("ZADD", scripts.Key("finished"), 1, "finished")
		body := b.raw().Get(b.ctx(), scripts.Key("job")+"there").Val()
		b.do("SET", scripts.Key("job")+"alone", body)

		want := []scripts.Orphan{
			{Kind: scripts.Bodiless, ID: "b"}, {Kind: scripts.Bodiless, ID: "c"}, {Kind: scripts.Bodiless, ID: "d"},
			{Kind: scripts.Bodiless, ID: "dead"}, {Kind: scripts.Bodiless, ID: "finished"}, {Kind: scripts.Bodiless, ID: "later"},
			{Kind: scripts.Idle, ID: "stray"}, {Kind: scripts.Placeless, ID: "alone"}, {Kind: scripts.Unleased, ID: "a"},
		}
		b.same("orphans", want, kinds(b.orphans(10_000).Found))
	})
}

// kinds is what was found, without the place of each.
func kinds(found []scripts.Orphan) []scripts.Orphan {
	var list []scripts.Orphan
	for _, o := range found {
		list = append(list, scripts.Orphan{Kind: o.Kind, ID: o.ID})
	}
	return list
}

// Something foreign under the key of a lane or a body does not stop the look.
func TestForeignKeysDoNotStopTheLook(t *testing.T) {
	each(t, func(b *bench) {
		b.add(scripts.NewJob{ID: "a", Queue: "low"})
		b.do("HSET", scripts.Key("queues"), "odd", "")
		b.do("SET", scripts.Key("queue")+"odd", "x")
		b.do("RPUSH", scripts.Key("job")+"list", "x")
		b.do("SET", scripts.Key("job"), "nobody")
		b.same("orphans", []scripts.Orphan(nil), b.orphans(10_000).Found)
	})
}

func TestTheLookForOrphansIsBounded(t *testing.T) {
	b := newBench(t, redistest.NewReal(t))
	for batch := range 10 {
		jobs := make([]scripts.NewJob, 200)
		for i := range jobs {
			jobs[i] = scripts.NewJob{ID: fmt.Sprintf("j%d-%d", batch, i), Queue: "low", Name: "test", Delay: time.Duration(batch%2) * time.Hour}
		}
		_, err := enqueue(b.Set, b.ctx(), jobs)
		b.must(err)
	}
	o := b.orphans(400)
	if o.Whole || o.Looked > 500 || len(o.Found) > 0 {
		t.Errorf("%+v, want a look at some 400 entries", o)
	}
	o = b.orphans(20_000)
	if !o.Whole || len(o.Found) > 0 {
		t.Errorf("%+v, want a look at all", o)
	}
}

func TestDefinitionsAreReadWithoutAHeartbeat(t *testing.T) {
	each(t, func(b *bench) {
		got, err := b.Definitions(b.ctx())
		b.must(err)
		b.same("none", []scripts.Applied{}, got)
		b.apply(scripts.Change{Act: "add", Name: "b", Definition: "2"}, scripts.Change{Act: "add", Name: "a", Definition: "1"})
		got, err = b.Definitions(b.ctx())
		b.must(err)
		b.same("definitions", []scripts.Applied{{Name: "a", Definition: "1"}, {Name: "b", Definition: "2"}}, got)
	})
}

func TestTheLastRejectionIsRead(t *testing.T) {
	each(t, func(b *bench) {
		if _, ok, err := b.LastRejection(b.ctx()); ok || err != nil {
			b.t.Errorf("%v %v, want none", ok, err)
		}
		for _, member := range []string{"first", "second"} {
			b.do("ZADD", scripts.Key("inbox"), 1, member)
			_, _, err := b.Adopt(b.ctx(), []scripts.Adoption{{Entry: scripts.InboxEntry{Member: member, Score: "1"}, Reason: "not JSON"}})
			b.must(err)
		}
		r, ok, err := b.LastRejection(b.ctx())
		b.must(err)
		if !ok || r.Member != "second" || r.Reason != "not JSON" || r.At.IsZero() {
			b.t.Errorf("%+v %v", r, ok)
		}
	})
}
