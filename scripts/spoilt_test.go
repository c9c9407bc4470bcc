package scripts_test

import (
	"slices"
	"testing"
	"time"

	"github.com/bide-go/bide/job"
	"github.com/bide-go/bide/scripts"
)

// spoils are the ways in which the body of a job can be ruined.
var spoils = map[string]func(b *bench, id string){
	"missing": func(b *bench, id string) { b.do("DEL", scripts.Key("job")+id) },
	"a list": func(b *bench, id string) {
		b.do("DEL", scripts.Key("job")+id)
		b.do("RPUSH", scripts.Key("job")+id, "x")
	},
	"garbage": func(b *bench, id string) { b.do("SET", scripts.Key("job")+id, "\x00garbage\xff") },
	"empty":   func(b *bench, id string) { b.do("SET", scripts.Key("job")+id, "") },
	"cut short": func(b *bench, id string) {
		b.do("SETRANGE", scripts.Key("job")+id, 40, "\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n")
	},
	"almost right": func(b *bench, id string) {
		b.do("SET", scripts.Key("job")+id, "X\t000000000002\t1\t\t1\tmedium\ttest\tgarbage")
	},
}

// spoilt makes jobs a, b and c, which settle brings somewhere, and ruins b.
func eachSpoilt(t *testing.T, n scripts.NewJob, test func(b *bench, spoil func())) {
	each(t, func(b *bench) {
		for name, ruin := range spoils {
			b.flush()
			for _, id := range []string{"a", "b", "c"} {
				one := n
				one.ID = id
				b.add(one)
			}
			test(b, func() { ruin(b, "b") })
			b.gap0()
			if b.t.Failed() {
				b.t.Fatalf("with a body that is %s", name)
			}
		}
	})
}

// freed checks that b was noted as rejected and that its id can be used again.
func (b *bench) freed() {
	b.t.Helper()
	b.same("rejected", []string{"b"}, b.rejected())
	b.same("left of b", []string{}, b.keysOf("b"))
	b.add(scripts.NewJob{ID: "b", Delay: time.Hour})
}

func (b *bench) keysOf(id string) []string {
	keys := []string{}
	for _, word := range []string{"job", "run", "errors"} {
		if b.raw().Exists(b.ctx(), scripts.Key(word)+id).Val() == 1 {
			keys = append(keys, word)
		}
	}
	return keys
}

func TestASpoiltBodyDoesNotStopAReserve(t *testing.T) {
	eachSpoilt(t, scripts.NewJob{ExpiryIn: time.Hour}, func(b *bench, spoil func()) {
		spoil()
		b.do("ZADD", scripts.Key("expiry"), "XX", 1, "b")
		b.same("taken", []string{"a", "c"}, ids(b.take(9)))
		b.freed()
	})
}

func TestASpoiltBodyIsPromoted(t *testing.T) {
	eachSpoilt(t, scripts.NewJob{Delay: time.Millisecond}, func(b *bench, spoil func()) {
		spoil()
		b.pass(3 * time.Millisecond)
		if n := b.promote(); n != 3 {
			b.t.Errorf("promoted %d, want 3", n)
		}
		got := b.take(9)
		for _, l := range got {
			if (l.Err != nil) != (l.Job.ID == "b") {
				b.t.Errorf("%s: %v", l.Job.ID, l.Err)
			}
			if l.Err != nil { // what a dispatcher does with it
				b.fail(l, job.ReasonPermanent, 0)
			}
		}
		b.same("active", int64(2), b.raw().ZCard(b.ctx(), scripts.Key("active")).Val())
		b.freed()
	})
}

func TestASpoiltBodyDoesNotStopASettlement(t *testing.T) {
	eachSpoilt(t, scripts.NewJob{Retention: time.Hour}, func(b *bench, spoil func()) {
		got := b.take(9)
		spoil()
		b.same("stale", []string(nil), b.complete(got...))
		b.state("a", job.Completed)
		b.state("c", job.Completed)
		b.freed()
	})
	eachSpoilt(t, scripts.NewJob{}, func(b *bench, spoil func()) {
		got := b.take(9)
		spoil()
		b.same("stale", []string(nil), b.complete(got...))
		b.same("completed", int64(3), b.gap0().Completed) // nobody had to read it
	})
	eachSpoilt(t, scripts.NewJob{}, func(b *bench, spoil func()) {
		var verdicts []scripts.Verdict
		for i, l := range b.take(9) {
			verdicts = append(verdicts, scripts.Verdict{Lease: l.Lease, Retry: i != 2, Pause: time.Hour, Reason: job.ReasonAttempts, Kind: job.KindFailed})
		}
		spoil()
		states, err := b.Fail(b.ctx(), verdicts)
		b.must(err)
		b.same("states", []job.State{job.Delayed, job.Dead, job.Dead}, states)
		b.state("a", job.Delayed)
		b.state("c", job.Dead)
		b.freed()
	})
	eachSpoilt(t, scripts.NewJob{}, func(b *bench, spoil func()) {
		got := b.take(9)
		spoil()
		states, err := b.Release(b.ctx(), leasesOf(got))
		b.must(err)
		b.same("states", []job.State{job.Waiting, job.Dead, job.Waiting}, states)
		b.same("lane", []string{"a", "c"}, b.lane("medium-delayed"))
		b.freed()
	})
}

func TestASpoiltBodyDoesNotStopTheSweeps(t *testing.T) {
	eachSpoilt(t, scripts.NewJob{}, func(b *bench, spoil func()) {
		b.take(9)
		for _, id := range []string{"a", "b", "c"} {
			subject{b: b, id: id}.lapse()
		}
		spoil()
		reaped, _, more, err := b.Reap(b.ctx(), b.now(), 10, 5)
		b.must(err)
		b.same("reaped", []scripts.Reaped{{ID: "c", State: job.Waiting}, {ID: "b", State: job.Dead}, {ID: "a", State: job.Waiting}}, reaped)
		b.same("more", false, more)
		b.same("lane", []string{"a", "c"}, b.lane("medium-delayed"))
		b.freed()
	})
	eachSpoilt(t, scripts.NewJob{Expiry: time.UnixMilli(1)}, func(b *bench, spoil func()) {
		spoil()
		expired, more, err := b.Expire(b.ctx(), 10)
		b.must(err)
		b.same("expired", 2, expired)
		b.same("more", false, more)
		for _, l := range b.take(9) { // only if its body is nearly right
			b.fail(l, job.ReasonPermanent, 0)
		}
		b.freed()
	})
	eachSpoilt(t, scripts.NewJob{Retention: time.Hour}, func(b *bench, spoil func()) {
		got := b.take(9)
		b.fail(got[2], job.ReasonAttempts, 0)
		b.complete(got[:2]...)
		spoil()
		for _, id := range []string{"a", "b"} {
			b.do("ZADD", scripts.Key("finished"), "XX", 1, id)
		}
		trimmed, err := b.Trim(b.ctx(), 10, time.Hour, 0)
		b.must(err)
		b.same("trimmed", scripts.Trimmed{Finished: 2, Dead: 1}, trimmed)
		b.same("left of b", []string{}, b.keysOf("b"))
	})
}

// A spoilt job is refused by name, and neither blocks others nor hides them.
func TestASpoiltBodyAndCallsAboutOneJob(t *testing.T) {
	eachSpoilt(t, scripts.NewJob{Delay: time.Hour, Unique: ""}, func(b *bench, spoil func()) {
		spoil()
		if b.raw().Exists(b.ctx(), scripts.Key("job")+"b").Val() == 0 {
			return // missing: the id is free
		}
		before := b.dump()
		_, err1 := b.Cancel(b.ctx(), "b")
		_, err2 := b.Revive(b.ctx(), "b")
		_, err3 := b.Reschedule(b.ctx(), "b", 0, time.Time{})
		_, err4 := b.Inspect(b.ctx(), "b")
		if err1 == nil || err2 == nil || err3 == nil || err4 == nil {
			b.t.Errorf("cancel %v, revive %v, reschedule %v, inspect %v", err1, err2, err3, err4)
		}
		b.same("keyspace", before, b.dump())
		results, err := enqueue(b.Set, b.ctx(), []scripts.NewJob{{ID: "b", Queue: "low", Name: "test"}, {ID: "d", Queue: "low", Name: "test"}})
		b.must(err)
		if results[0].Err == nil || results[1].Err != nil || results[1].Deduplicated {
			b.t.Errorf("enqueue %+v", results)
		}
		jobs, _, _, err := b.List(b.ctx(), scripts.Page{Place: "delayed", Look: 10, Want: 10})
		b.must(err)
		b.same("listed", 2, len(jobs))
	})
}

// What stands under the keys of a job's changing part may be anything.
func TestASpoiltRunDoesNotStopABatch(t *testing.T) {
	ruins := []func(b *bench){
		func(b *bench) { b.do("SET", scripts.Key("run")+"b", "x"); b.do("SET", scripts.Key("errors")+"b", "x") },
		func(b *bench) {
			b.do("HSET", scripts.Key("run")+"b", "attempts", "x", "lost", "x", "due", "x", "putoff", "x", "state", "")
		},
	}
	each(t, func(b *bench) {
		for _, ruin := range ruins {
			b.flush()
			for _, id := range []string{"a", "b", "c"} {
				b.add(scripts.NewJob{ID: id, Retention: time.Hour})
			}
			ruin(b)
			got := b.take(9)
			b.same("taken", []string{"a", "b", "c"}, ids(got))
			for _, l := range got {
				b.same("failed", job.Delayed, b.fail(l, "", 0))
			}
			for taken := 0; taken < 3; taken += b.promote() {
			}
			ruin(b)
			b.same("taken", []string{"a", "b", "c"}, ids(b.take(9)))
			for _, id := range []string{"a", "b", "c"} {
				subject{b: b, id: id}.lapse()
			}
			reaped, _, _, err := b.Reap(b.ctx(), b.now(), 9, 5)
			b.must(err)
			b.same("reaped", 3, len(reaped))
			ruin(b)
			b.complete(b.take(9)...)
			ruin(b)
			r := b.enqueue(scripts.NewJob{ID: "b", Queue: "low", Name: "test"})
			b.same("deduplicated", true, r.Deduplicated)
			jobs, _, _, err := b.List(b.ctx(), scripts.Page{Place: "finished", Look: 10, Want: 10})
			b.must(err)
			b.same("listed", 3, len(jobs))
			b.gap0()
		}
	})
}

func TestForeignMembersAreRejected(t *testing.T) {
	each(t, func(b *bench) {
		b.add(scripts.NewJob{ID: "a", Delay: time.Millisecond})
		b.add(scripts.NewJob{ID: "b"})
		b.add(scripts.NewJob{ID: "late", ExpiryIn: time.Hour, Queue: "low"})
		b.do("ZADD", scripts.Key("delayed"), 1, "foreign-1", 2, "::", -5, "")
		b.do("LPUSH", scripts.Key("queue")+"medium", "foreign-2", "", "zz:x")
		// As a lost ghost would: an entry of an earlier job with the id of a live one.
		b.do("LPUSH", scripts.Key("queue")+"low", "000000000000:low:late")
		b.do("ZADD", scripts.Key("active"), 1, "foreign-3")
		b.do("ZADD", scripts.Key("dead"), 1, "foreign-4")
		b.do("ZADD", scripts.Key("finished"), 1, "foreign-5")
		b.do("ZADD", scripts.Key("expiry"), 1, "foreign-6")
		b.pass(3 * time.Millisecond)
		b.same("promoted", 4, b.promote())
		got := b.take(9)
		b.same("taken", []string{"a", "b", "late"}, ids(got))
		_, _, err := b.Expire(b.ctx(), 10)
		b.must(err)
		_, err = b.Trim(b.ctx(), 10, time.Hour, 10)
		b.must(err)
		reaped, _, _, err := b.Reap(b.ctx(), b.now(), 9, 5)
		b.must(err)
		b.same("reaped", []scripts.Reaped{{ID: "foreign-3", State: job.Dead}}, reaped)
		rejected := b.rejected()
		slices.Sort(rejected)
		b.same("rejected", []string{"", "", "000000000000:low:late", "::", "foreign-1", "foreign-2", "foreign-3", "zz:x"}, rejected)
		b.do("HINCRBY", scripts.Key("counts"), "created", 1) // foreign-3 was never created, but counted as dead
		b.complete(got...)
		b.gap0()
	})
}
