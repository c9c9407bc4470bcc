package scripts_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/bide-go/bide/job"
	"github.com/bide-go/bide/scripts"
)

// fill puts n jobs into the normal lane of queue low.
func (b *bench) fill(n int) {
	b.t.Helper()
	for from := 0; from < n; from += scripts.EnqueueJobs {
		b.addAll(batch(min(n-from, scripts.EnqueueJobs), scripts.NewJob{ID: fmt.Sprintf("fill-%d-", from), Queue: "low"}))
	}
}

// An id that is used again after a cancel starts at its new time only, although
// the old entry may still stand in the lane.
func TestAnIDIsUsedAgainAfterACancel(t *testing.T) {
	for _, length := range []int{0, 1100} {
		for _, end := range []string{"cancel", "expire"} {
			for _, lane := range []string{"normal", "delayed"} {
				t.Run(fmt.Sprintf("%s in a %s lane of %d", end, lane, length), func(t *testing.T) {
					each(t, func(b *bench) {
						n := scripts.NewJob{ID: "a", Queue: "low", ExpiryIn: time.Hour}
						if lane == "delayed" {
							n.Delay = time.Millisecond
						}
						b.add(n)
						if lane == "delayed" {
							b.pass(3 * time.Millisecond)
							b.promote()
							if length > 0 {
								for from := 0; from < length; from += 500 {
									b.addAll(batch(500, scripts.NewJob{ID: fmt.Sprintf("due-%d-", from), Queue: "low", Delay: time.Millisecond}))
								}
								b.pass(3 * time.Millisecond)
								for b.promote() > 0 {
								}
							}
						} else {
							b.fill(length)
						}
						switch end {
						case "cancel":
							_, err := b.Cancel(b.ctx(), "a")
							b.must(err)
						case "expire":
							subject{b: b, id: "a"}.late()
							_, _, err := b.Expire(b.ctx(), 10)
							b.must(err)
						}
						b.gone("a")
						b.gap0()
						b.add(scripts.NewJob{ID: "a", Queue: "low", Delay: time.Hour})
						b.gap0()
						for {
							got := b.take(500)
							if len(got) == 0 {
								break
							}
							if slices.Contains(ids(got), "a") {
								b.t.Fatal("the new job was started by the old entry")
							}
							b.complete(got...)
						}
						b.state("a", job.Delayed)
						b.sum(scripts.Sum{Created: b.gap0().Created, Delayed: 1, Completed: b.gap0().Completed, Cancelled: b.gap0().Cancelled, Expired: b.gap0().Expired})
						b.same("ghosts", int64(0), b.raw().HLen(b.ctx(), scripts.Key("ghosts")).Val())
					})
				})
			}
		}
	}
}

// Ghosts whose lane nobody serves are swept.
func TestGhostsAreSwept(t *testing.T) {
	each(t, func(b *bench) {
		b.fill(1200)
		for i := range 30 {
			_, err := b.Cancel(b.ctx(), fmt.Sprintf("fill-0-%04d", i))
			b.must(err)
			b.gap0()
		}
		b.same("ghosts", int64(30), b.raw().HLen(b.ctx(), scripts.Key("ghosts")).Val())
		swept := 0
		for range 10 {
			trimmed, err := b.Trim(b.ctx(), 100, time.Hour, 10)
			b.must(err)
			swept += trimmed.Ghosts
			b.gap0()
		}
		b.same("swept", 30, swept)
		b.same("ghosts", int64(0), b.raw().HLen(b.ctx(), scripts.Key("ghosts")).Val())
		b.same("lane", int64(1170), b.raw().LLen(b.ctx(), scripts.Key("queue")+"low").Val())
		b.same("counted off", "0", b.raw().HGet(b.ctx(), scripts.Key("counts"), "ghosts:"+scripts.Key("queue")+"low").Val())
	})
}

func TestAUniqueKeyIsHeldWhileItsJobIsLive(t *testing.T) {
	each(t, func(b *bench) {
		b.add(scripts.NewJob{ID: "a", Unique: "u", Delay: time.Millisecond})
		other := scripts.NewJob{ID: "b", Queue: "low", Name: "test", Unique: "u"}
		held := func(state job.State) {
			b.t.Helper()
			r := b.enqueue(other)
			if !r.Deduplicated || r.ID != "a" || r.State != state {
				b.t.Errorf("while %s: %+v", state, r)
			}
			b.gone("b")
		}
		held(job.Delayed)
		b.pass(3 * time.Millisecond)
		b.promote()
		held(job.Waiting)
		got := b.take(1)
		held(job.Active)
		b.fail(got[0], "", time.Hour)
		held(job.Delayed)
		// One call may hold the same key and the same id twice.
		results, err := enqueue(b.Set, b.ctx(), []scripts.NewJob{
			{ID: "c", Queue: "low", Name: "test", Unique: "v"}, {ID: "d", Queue: "low", Name: "test", Unique: "v"}, {ID: "c", Queue: "low", Name: "test"},
		})
		b.must(err)
		for i, want := range []bool{false, true, true} {
			if results[i].ID != "c" || results[i].Deduplicated != want {
				b.t.Errorf("item %d: %+v", i, results[i])
			}
		}
		b.gap0()
	})
}

// Every end state frees a unique key; a key that is another's by then is left.
func TestEveryEndFreesAUniqueKey(t *testing.T) {
	ends := map[string]func(b *bench){
		"completed": func(b *bench) { b.complete(b.take(1)...) },
		"dead":      func(b *bench) { b.fail(b.take(1)[0], job.ReasonAttempts, 0) },
		"lost":      func(b *bench) { b.take(1); subject{b: b, id: "a"}.lapse(); b.reapAll(1) },
		"cancelled": func(b *bench) { subject{b: b, id: "a"}.ask() },
		"expired":   func(b *bench) { subject{b: b, id: "a"}.late(); _, _, err := b.Expire(b.ctx(), 9); b.must(err) },
	}
	each(t, func(b *bench) {
		for name, end := range ends {
			for _, retention := range []time.Duration{0, time.Hour} {
				b.flush()
				b.add(scripts.NewJob{ID: "a", Unique: "u", ExpiryIn: time.Hour, Retention: retention})
				end(b)
				b.same(name+" frees", int64(0), b.raw().Exists(b.ctx(), scripts.Key("unique")+"u").Val())
				b.add(scripts.NewJob{ID: "b", Unique: "u"})

				b.flush()
				b.add(scripts.NewJob{ID: "a", Unique: "u", ExpiryIn: time.Hour, Retention: retention})
				b.do("SET", scripts.Key("unique")+"u", "another")
				end(b)
				b.same(name+" leaves another's", "another", b.raw().Get(b.ctx(), scripts.Key("unique")+"u").Val())
				b.gap0()
			}
		}
	})
}

// A key whose holder has no live body is taken over.
func TestAUniqueKeyIsTakenOver(t *testing.T) {
	holders := map[string]func(b *bench){
		"a vanished body": func(b *bench) { b.do("SET", scripts.Key("unique")+"u", "gone") },
		"a dead job": func(b *bench) {
			b.fail(b.take(1)[0], job.ReasonAttempts, 0)
			b.do("SET", scripts.Key("unique")+"u", "a")
		},
		"a retained job": func(b *bench) { b.complete(b.take(1)...); b.do("SET", scripts.Key("unique")+"u", "a") },
		"a job with another key": func(b *bench) {
			b.add(scripts.NewJob{ID: "x", Unique: "w"})
			b.do("SET", scripts.Key("unique")+"u", "x")
		},
		"a body of another type": func(b *bench) {
			b.do("RPUSH", scripts.Key("job")+"list", "x")
			b.do("SET", scripts.Key("unique")+"u", "list")
		},
	}
	each(t, func(b *bench) {
		for name, hold := range holders {
			b.flush()
			b.add(scripts.NewJob{ID: "a", Unique: "u", Retention: time.Hour})
			hold(b)
			r := b.enqueue(scripts.NewJob{ID: "b", Queue: "low", Name: "test", Unique: "u"})
			if r.Deduplicated || r.Err != nil {
				b.t.Errorf("held by %s: %+v", name, r)
			}
			b.same("holder", "b", b.raw().Get(b.ctx(), scripts.Key("unique")+"u").Val())
			b.gap0()
		}
	})
}

func TestReviveAndAUniqueKey(t *testing.T) {
	each(t, func(b *bench) {
		b.add(scripts.NewJob{ID: "a", Unique: "u"})
		b.fail(b.take(1)[0], job.ReasonAttempts, 0)
		b.add(scripts.NewJob{ID: "b", Unique: "u", Delay: time.Hour})
		before := b.dump()
		_, err := b.Revive(b.ctx(), "a")
		var refused *job.StateError
		if !errors.As(err, &refused) || refused.From != job.Dead || refused.Why == "" {
			b.t.Errorf("revive: %v", err)
		}
		b.same("keyspace", before, b.dump())
		subject{b: b, id: "b"}.ask()
		state, err := b.Revive(b.ctx(), "a")
		b.must(err)
		b.same("state", job.Waiting, state)
		r := b.enqueue(scripts.NewJob{ID: "c", Queue: "low", Name: "test", Unique: "u"})
		if !r.Deduplicated || r.ID != "a" {
			b.t.Errorf("the revived job does not hold its key: %+v", r)
		}
		b.same("wake-up call", int64(1), b.raw().LLen(b.ctx(), scripts.Key("wake")+"medium").Val())
	})
}
