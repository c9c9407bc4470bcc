package scripts_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/bide-go/bide/job"
	"github.com/bide-go/bide/scripts"
)

// stands is where Redis says that a job is, "" if there is none.
func (b *bench) stands(id string) job.State {
	j, err := b.Inspect(b.ctx(), id)
	if err != nil {
		return ""
	}
	return j.State
}

// member is the entry of a job in the delayed set and in lanes.
func (b *bench) member(id string) string {
	b.t.Helper()
	body := b.raw().Get(b.ctx(), scripts.Key("job")+id).Val()
	var kind, arrival string
	if _, err := fmt.Sscan(body, &kind, &arrival); err != nil {
		b.t.Fatalf("body of %s: %q: %v", id, body, err)
	}
	return arrival + ":medium:" + id
}

// Every orphan that can be made by hand is found as what it is, and mended: then there
// is none left, the sum is zero, and every job that is still there can run.
func TestOrphansAreMended(t *testing.T) {
	key := scripts.Key
	tested := map[scripts.OrphanKind]bool{}
	for name, test := range map[string]struct {
		harm func(b *bench)
		kind scripts.OrphanKind
		want map[string]job.State // where the jobs are afterwards, "" for nowhere
	}{
		"active without a lease": {
			func(b *bench) { b.take(1); b.do("HDEL", key("lease"), "a") },
			scripts.Unleased, map[string]job.State{"a": job.Waiting, "b": job.Waiting},
		},
		"active without a lease and without a body": {
			func(b *bench) { b.take(1); b.do("HDEL", key("lease"), "a"); b.do("DEL", key("job")+"a") },
			scripts.Bodiless, map[string]job.State{"a": "", "b": job.Waiting},
		},
		"lease of a job that stands nowhere": {
			func(b *bench) { b.take(1); b.do("ZREM", key("active"), "a") },
			scripts.Idle, map[string]job.State{"a": job.Active},
		},
		"lease of nobody": {
			func(b *bench) { b.do("HSET", key("lease"), "gone", "w1:1 1 medium P") },
			scripts.Idle, map[string]job.State{"gone": "", "a": job.Waiting},
		},
		"lease of a waiting job": {
			func(b *bench) { b.do("HSET", key("lease"), "a", "w1:1 1 medium P") },
			scripts.Idle, map[string]job.State{"a": job.Waiting},
		},
		"waiting without a body": {
			func(b *bench) { b.do("DEL", key("job")+"a") },
			scripts.Bodiless, map[string]job.State{"a": "", "b": job.Waiting},
		},
		"waiting with a spoilt body": {
			func(b *bench) { b.do("SET", key("job")+"a", "spoilt") },
			scripts.Bodiless, map[string]job.State{"a": "", "b": job.Waiting},
		},
		"delayed without a body": {
			func(b *bench) { b.do("DEL", key("job")+"later") },
			scripts.Bodiless, map[string]job.State{"later": ""},
		},
		"dead without a body": {
			func(b *bench) { b.fail(b.take(1)[0], job.ReasonAttempts, 0); b.do("DEL", key("job")+"a") },
			scripts.Bodiless, map[string]job.State{"a": ""},
		},
		"finished without a body": {
			func(b *bench) { _, _ = b.Cancel(b.ctx(), "kept"); b.do("DEL", key("job")+"kept") },
			scripts.Bodiless, map[string]job.State{"kept": ""},
		},
		"entry of a job that has been counted": {
			func(b *bench) {
				m := b.member("a")
				b.complete(b.take(1)[0])
				b.do("RPUSH", key("queue")+"medium", m)
			},
			scripts.Bodiless, map[string]job.State{"a": "", "b": job.Waiting},
		},
		"body without a place": {
			func(b *bench) { b.do("LREM", key("queue")+"medium", 1, b.member("a")) },
			scripts.Placeless, map[string]job.State{"a": job.Waiting},
		},
		"body of a delayed job without a place": {
			func(b *bench) { b.do("ZREM", key("delayed"), b.member("later")) },
			scripts.Placeless, map[string]job.State{"later": job.Waiting},
		},
		"body without a place that the sum does not miss": {
			func(b *bench) {
				body := b.raw().Get(b.ctx(), key("job")+"a").Val()
				b.complete(b.take(1)[0])
				b.do("SET", key("job")+"a", body)
			},
			scripts.Placeless, map[string]job.State{"a": job.Waiting},
		},
		"dead body without a place": {
			func(b *bench) { b.fail(b.take(1)[0], job.ReasonAttempts, 0); b.do("ZREM", key("dead"), "a") },
			scripts.Placeless, map[string]job.State{"a": job.Dead},
		},
		"finished body without a place": {
			func(b *bench) { _, _ = b.Cancel(b.ctx(), "kept"); b.do("ZREM", key("finished"), "kept") },
			scripts.Placeless, map[string]job.State{"kept": job.Cancelled},
		},
		"entry of an earlier job": {
			func(b *bench) { b.do("RPUSH", key("queue")+"medium", "000000000099:medium:a") },
			scripts.Leftover, map[string]job.State{"a": job.Waiting},
		},
		"delayed entry of an earlier job": {
			func(b *bench) { b.do("ZADD", key("delayed"), 1, "000000000099:medium:a") },
			scripts.Leftover, map[string]job.State{"a": job.Waiting},
		},
		"waiting twice": {
			func(b *bench) { b.do("RPUSH", key("queue")+"medium", b.member("a")) },
			scripts.Doubled, map[string]job.State{"a": job.Waiting},
		},
		"waiting and delayed": {
			func(b *bench) { b.do("RPUSH", key("queue")+"medium", b.member("later")) },
			scripts.Doubled, map[string]job.State{"later": job.Delayed},
		},
		"active and waiting": {
			func(b *bench) { b.take(1); b.do("RPUSH", key("queue")+"medium", b.member("a")) },
			scripts.Doubled, map[string]job.State{"a": job.Active},
		},
		"dead and active": {
			func(b *bench) {
				got := b.take(1)[0]
				b.fail(got, job.ReasonAttempts, 0)
				b.do("ZADD", key("active"), 1, "a")
				b.do("HSET", key("lease"), "a", "w1:9 1 medium P")
			},
			scripts.Doubled, map[string]job.State{"a": job.Dead},
		},
		"ghost of a job that lives": {
			func(b *bench) {
				b.do("HSET", key("ghosts"), b.member("a"), key("queue")+"medium")
				b.do("HINCRBY", key("counts"), "ghosts:"+key("queue")+"medium", 1)
			},
			scripts.Ghost, map[string]job.State{"a": job.Waiting},
		},
		"ghost whose entry has gone": {
			func(b *bench) {
				b.do("HSET", key("ghosts"), "000000000099:medium:x", key("queue")+"medium")
				b.do("HINCRBY", key("counts"), "ghosts:"+key("queue")+"medium", 1)
			},
			scripts.Ghost, map[string]job.State{"a": job.Waiting},
		},
		"ghosts counted wrong": {
			func(b *bench) { b.do("HINCRBY", key("counts"), "ghosts:"+key("queue")+"medium", 2) },
			scripts.Miscounted, map[string]job.State{"a": job.Waiting},
		},
		"expiry of a job that has gone": {
			func(b *bench) { b.do("ZADD", key("expiry"), 1, "gone") },
			scripts.Outlived, map[string]job.State{"a": job.Waiting},
		},
		"expiry of a job that has none": {
			func(b *bench) { b.do("ZADD", key("expiry"), 9e12, "a") },
			scripts.Outlived, map[string]job.State{"a": job.Waiting},
		},
		"unique key of a job that has gone": {
			func(b *bench) { b.do("SET", key("unique")+"u", "gone") },
			scripts.Locked, map[string]job.State{"a": job.Waiting},
		},
		"unique key of another's job": {
			func(b *bench) { b.do("SET", key("unique")+"u", "a") },
			scripts.Locked, map[string]job.State{"a": job.Waiting},
		},
		"run fields of nobody": {
			func(b *bench) { b.do("HSET", key("run")+"gone", "lost", 1) },
			scripts.Remains, map[string]job.State{"gone": "", "a": job.Waiting},
		},
		"errors of nobody": {
			func(b *bench) { b.do("RPUSH", key("errors")+"gone", "x") },
			scripts.Remains, map[string]job.State{"gone": "", "a": job.Waiting},
		},
		"lane that nobody counts": {
			func(b *bench) { b.do("HDEL", key("queues"), "medium") },
			scripts.Unlisted, map[string]job.State{"a": job.Waiting},
		},
		"tick that has long gone": {
			func(b *bench) {
				b.apply(scripts.Change{Act: "add", Name: "s", Definition: "{}"})
				b.do("ZADD", key("planned")+"s", 1, "s@1970-01-01T00:00:01Z")
			},
			scripts.Unplanned, map[string]job.State{"a": job.Waiting},
		},
		"open run that has gone": {
			func(b *bench) {
				b.apply(scripts.Change{Act: "add", Name: "s", Definition: "{}"})
				b.do("ZADD", key("open")+"s", 1, "s@1970-01-01T00:00:01Z")
			},
			scripts.Vanished, map[string]job.State{"a": job.Waiting},
		},
		"open run of no schedule": {
			func(b *bench) {
				b.apply(scripts.Change{Act: "add", Name: "s", Definition: "{}"})
				b.do("ZADD", key("open")+"s", 1, "a")
			},
			scripts.Vanished, map[string]job.State{"a": job.Waiting},
		},
		"waiting run that has gone": {
			func(b *bench) {
				b.apply(scripts.Change{Act: "add", Name: "s", Definition: "{}"})
				b.do("ZADD", key("held")+"s", 1, "s@1970-01-01T00:00:01Z")
			},
			scripts.Vanished, map[string]job.State{"a": job.Waiting},
		},
		"waiting run that makes up for the past and has gone": {
			func(b *bench) {
				b.apply(scripts.Change{Act: "add", Name: "s", Definition: "{}"})
				b.do("ZADD", key("makeup")+"s", 1, "s@1970-01-01T00:00:01Z")
			},
			scripts.Vanished, map[string]job.State{"a": job.Waiting},
		},
		"job of which nothing is left": {
			func(b *bench) { b.do("LREM", key("queue")+"medium", 1, b.member("a")); b.do("DEL", key("job")+"a") },
			scripts.Uncounted, map[string]job.State{"a": "", "b": job.Waiting},
		},
		"counters lost": {
			func(b *bench) { b.do("DEL", key("counts")) },
			scripts.Uncounted, map[string]job.State{"a": job.Waiting, "later": job.Delayed},
		},
	} {
		tested[test.kind] = true
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			each(t, func(b *bench) {
				for _, id := range []string{"a", "b"} {
					b.add(scripts.NewJob{ID: id, Queue: "medium", Name: "test"})
				}
				b.add(scripts.NewJob{ID: "later", Queue: "medium", Name: "test", Delay: time.Hour})
				b.add(scripts.NewJob{ID: "kept", Queue: "medium", Name: "test", Delay: time.Hour, Retention: time.Hour, Unique: "mine", ExpiryIn: 2 * time.Hour})
				if o := b.orphans(10_000); len(o.Found) > 0 {
					b.t.Fatalf("orphans before anything is wrong: %+v", o.Found)
				}
				test.harm(b)
				mended, left, err := b.RepairAll(b.ctx(), 10_000)
				b.must(err)
				if mended[test.kind] != 1 {
					b.t.Errorf("mended %v, want one %s", mended, test.kind)
				}
				if len(left.Found) > 0 {
					b.t.Errorf("left: %+v", left.Found)
				}
				b.gap0()
				for id, want := range test.want {
					if got := b.stands(id); got != want {
						b.t.Errorf("job %s is %q, want %q", id, got, want)
					}
				}
				again, _, err := b.RepairAll(b.ctx(), 10_000)
				b.must(err)
				b.same("mended the second time", scripts.Repairs{}, again)
			})
		})
	}
	for _, kind := range scripts.OrphanKinds {
		if !tested[kind] {
			t.Errorf("no case makes an orphan that is %s", kind)
		}
	}
}

// What is no orphan any more when its turn comes is left alone, whatever its kind.
func TestNothingToMendIsNoError(t *testing.T) {
	each(t, func(b *bench) {
		b.add(scripts.NewJob{ID: "a", Queue: "medium", Name: "test"})
		before := b.dump()
		for _, kind := range scripts.OrphanKinds {
			for _, id := range []string{"a", "none"} {
				n, err := b.Repair(b.ctx(), []scripts.Orphan{{Kind: kind, ID: id, Where: "medium", Entry: "000000000001:medium:" + id}})
				b.must(err)
				if len(n) > 0 {
					b.t.Errorf("%s %s: mended %v", kind, id, n)
				}
			}
		}
		b.same("keys", before, b.dump())
	})
}

// The owner of a lease whose active entry was lost renews it: its job is its own again.
func TestAnIdleLeaseIsItsOwnersAgain(t *testing.T) {
	each(t, func(b *bench) {
		b.add(scripts.NewJob{ID: "a", Queue: "medium", Name: "test"})
		got := b.take(1)[0]
		b.do("ZREM", scripts.Key("active"), "a")
		_, _, err := b.RepairAll(b.ctx(), 1000)
		b.must(err)
		renewed, err := b.Renew(b.ctx(), time.Minute, []scripts.Lease{got.Lease})
		b.must(err)
		b.same("renewal", scripts.Renewed, renewed[0])
		b.complete(got)
		b.same("gap", int64(0), b.gap0().Gap())
	})
}

// Repairs go on while jobs come and go, and touch nothing that is well.
func TestRepairsLeaveTheLivingAlone(t *testing.T) {
	each(t, func(b *bench) {
		for i := range 100 {
			b.add(scripts.NewJob{ID: fmt.Sprint("j", i), Queue: "medium", Name: "test", Delay: time.Duration(i%2) * time.Hour})
		}
		b.take(10)
		before := b.dump()
		mended, left, err := b.RepairAll(b.ctx(), 10_000)
		b.must(err)
		b.same("mended", scripts.Repairs{}, mended)
		b.same("left", []scripts.Orphan(nil), left.Found)
		b.same("keys", before, b.dump())
	})
}
