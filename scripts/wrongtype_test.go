package scripts_test

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bide-go/bide/job"
	"github.com/bide-go/bide/scripts"
)

// situation is one call of a script, and what it needs.
type situation struct {
	name string
	prep func(b *bench) func() error
}

func situations() []situation {
	due := func(b *bench, id string) {
		subject{b: b, id: id}.due()
	}
	taken := func(b *bench, n scripts.NewJob) scripts.Leased {
		b.add(n)
		return b.take(1)[0]
	}
	rich := scripts.NewJob{ID: "rich", Unique: "u", Retention: time.Hour, ExpiryIn: time.Hour}
	scheduled := func(b *bench) scripts.NewJob {
		b.apply(scripts.Change{Act: "add", Name: "s", Definition: "d"})
		return b.tick(b.schedule("s"), time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC))
	}
	changes := func(change scripts.Change) func(b *bench) func() error {
		return func(b *bench) func() error {
			tick := scheduled(b)
			b.plan("s", tick)
			revision, err := b.Poll(b.ctx(), "", false)
			b.must(err)
			change.Ticks = nil
			if change.Act == "rewrite" {
				tick.Queue = "low"
				change.Ticks = []scripts.NewJob{tick}
			}
			return func() error {
				_, err := b.Apply(b.ctx(), revision.Revision, "t", []scripts.Change{change})
				return err
			}
		}
	}
	return []situation{
		{"enqueue", func(b *bench) func() error {
			return func() error {
				_, err := enqueue(b.Set, b.ctx(), []scripts.NewJob{
					{ID: "a", Queue: "low", Name: "test", Delay: time.Hour},
					{ID: "b", Queue: "high", Name: "test", Unique: "u", ExpiryIn: time.Hour},
				})
				return err
			}
		}},
		{"enqueue what is retained", func(b *bench) func() error {
			b.complete(taken(b, scripts.NewJob{ID: "a", Retention: time.Hour}))
			return func() error {
				_, err := enqueue(b.Set, b.ctx(), []scripts.NewJob{{ID: "a", Queue: "low", Name: "test"}, {ID: "b", Queue: "low", Name: "test"}})
				return err
			}
		}},
		{"promote", func(b *bench) func() error {
			b.add(scripts.NewJob{ID: "a", Delay: time.Hour})
			due(b, "a")
			return func() error { _, err := b.Promote(b.ctx(), 10, true); return err }
		}},
		{"promote ticks", func(b *bench) func() error {
			one := scheduled(b)
			two := one
			one.At, two.At, two.ID = time.UnixMilli(1000), time.UnixMilli(1000), two.ID+"b"
			two.Superseded = time.UnixMilli(2000)
			b.plan("s", one, two)
			return func() error { _, err := b.Promote(b.ctx(), 10, true); return err }
		}},
		{"promote into a busy schedule", func(b *bench) func() error {
			b.busy("Replace")
			return func() error { _, err := b.Promote(b.ctx(), 10, true); return err }
		}},
		{"promote into a queue", func(b *bench) func() error {
			b.busy("Queue")
			return func() error { _, err := b.Promote(b.ctx(), 10, true); return err }
		}},
		{"promote what overlaps", func(b *bench) func() error {
			b.busy("Forbid")
			return func() error { _, err := b.Promote(b.ctx(), 10, true); return err }
		}},
		{"complete a run", func(b *bench) func() error {
			l := b.busy("Queue")
			b.promote()
			return func() error { _, err := b.Complete(b.ctx(), []scripts.Lease{l}); return err }
		}},
		{"fail a run", func(b *bench) func() error {
			l := b.busy("Forbid")
			return func() error {
				_, err := b.Fail(b.ctx(), []scripts.Verdict{{Lease: l, Hold: true, Reason: job.ReasonPermanent, Kind: job.KindFailed}})
				return err
			}
		}},
		{"start", func(b *bench) func() error {
			b.busy("Replace")
			n, number := b.byHand("m")
			return func() error { _, _, _, err := b.Start(b.ctx(), number, false, n); return err }
		}},
		{"backfill", func(b *bench) func() error {
			b.busy("Queue")
			n, number := b.byHand("m")
			n.Tick = time.UnixMilli(1000)
			return func() error {
				_, _, err := b.Backfill(b.ctx(), "s", number, "token", 0, []scripts.NewJob{n})
				return err
			}
		}},
		{"halt", func(b *bench) func() error {
			b.busy("Queue")
			return func() error {
				_, _, err := b.HoldSchedule(b.ctx(), "s", "me", "why", time.Hour, time.Time{})
				return err
			}
		}},
		{"schedules", func(b *bench) func() error {
			b.busy("Queue")
			return func() error { _, err := b.Progress(b.ctx(), []string{"s"}); return err }
		}},
		{"history", func(b *bench) func() error {
			b.busy("Queue")
			b.promote()
			return func() error { _, _, err := b.History(b.ctx(), "s", time.Time{}, 10); return err }
		}},
		{"reserve", func(b *bench) func() error {
			b.add(scripts.NewJob{ID: "a"})
			b.add(rich)
			b.add(scripts.NewJob{ID: "other", Name: "other"})
			b.add(scripts.NewJob{ID: "late", Queue: "high", Expiry: time.UnixMilli(1), Retention: time.Hour})
			return func() error {
				_, err := b.Reserve(b.ctx(), scripts.ReserveArgs{Token: "w:1", Lease: time.Minute, Limit: 9, Names: []string{"test"},
					Offers: []scripts.Offer{{"high", 9}, {"medium", 9}}})
				return err
			}
		}},
		{"reserve foreign names", func(b *bench) func() error {
			var many []scripts.NewJob
			for i := range 130 {
				many = append(many, scripts.NewJob{ID: string(rune('a'+i/26)) + string(rune('a'+i%26)), Queue: "medium", Name: "other"})
			}
			_, err := enqueue(b.Set, b.ctx(), many)
			b.must(err)
			return func() error {
				_, err := b.Reserve(b.ctx(), scripts.ReserveArgs{Token: "w:1", Lease: time.Minute, Limit: 9, Names: []string{"test"}, Offers: []scripts.Offer{{"medium", 9}}})
				return err
			}
		}},
		{"complete", func(b *bench) func() error {
			l := []scripts.Leased{taken(b, scripts.NewJob{ID: "a"}), taken(b, rich)}
			return func() error { _, err := b.Complete(b.ctx(), leasesOf(l)); return err }
		}},
		{"fail and retry", func(b *bench) func() error {
			s := subject{b: b, lease: taken(b, rich).Lease}
			return func() error { return s.settle(scripts.Verdict{Retry: true, Pause: time.Minute}) }
		}},
		{"fail and die", func(b *bench) func() error {
			s := subject{b: b, lease: taken(b, rich).Lease}
			return func() error { return s.settle(scripts.Verdict{Reason: job.ReasonAttempts}) }
		}},
		{"release", func(b *bench) func() error {
			l := []scripts.Leased{taken(b, scripts.NewJob{ID: "a", Queue: "high"}), taken(b, rich), taken(b, scripts.NewJob{ID: "c", Queue: "low"})}
			_, err := b.Cancel(b.ctx(), "c")
			b.must(err)
			return func() error { _, err := b.Release(b.ctx(), leasesOf(l)); return err }
		}},
		{"reap", func(b *bench) func() error {
			for _, id := range []string{"a", "c"} {
				taken(b, scripts.NewJob{ID: id})
				subject{b: b, id: id}.lapse()
			}
			_, err := b.Cancel(b.ctx(), "c")
			b.must(err)
			return func() error { _, _, _, err := b.Reap(b.ctx(), b.now(), 10, 5); return err }
		}},
		{"reap the dead", func(b *bench) func() error {
			taken(b, rich)
			subject{b: b, id: "rich"}.lapse()
			return func() error { _, _, _, err := b.Reap(b.ctx(), b.now(), 10, 1); return err }
		}},
		{"renew", func(b *bench) func() error {
			l := taken(b, rich).Lease
			return func() error { _, err := b.Renew(b.ctx(), time.Hour, []scripts.Lease{l}); return err }
		}},
		{"cancel delayed", func(b *bench) func() error {
			n := rich
			n.Delay = time.Hour
			b.add(n)
			return func() error { _, err := b.Cancel(b.ctx(), "rich"); return err }
		}},
		{"cancel waiting", func(b *bench) func() error {
			b.add(rich)
			return func() error { _, err := b.Cancel(b.ctx(), "rich"); return err }
		}},
		{"cancel active", func(b *bench) func() error {
			taken(b, rich)
			return func() error { _, err := b.Cancel(b.ctx(), "rich"); return err }
		}},
		{"reschedule", func(b *bench) func() error {
			b.add(scripts.NewJob{ID: "a", Delay: time.Hour})
			return func() error { _, err := b.Reschedule(b.ctx(), "a", time.Minute, time.Time{}); return err }
		}},
		{"revive", func(b *bench) func() error {
			b.fail(taken(b, rich), job.ReasonAttempts, 0)
			return func() error { _, err := b.Revive(b.ctx(), "rich"); return err }
		}},
		{"revive delayed", func(b *bench) func() error {
			b.add(scripts.NewJob{ID: "a", Delay: time.Hour})
			return func() error { _, err := b.Revive(b.ctx(), "a"); return err }
		}},
		{"expire", func(b *bench) func() error {
			b.add(scripts.NewJob{ID: "a", Expiry: time.UnixMilli(1), Unique: "u"})
			b.add(scripts.NewJob{ID: "b", Expiry: time.UnixMilli(1), Retention: time.Hour, Delay: time.Hour})
			return func() error { _, _, err := b.Expire(b.ctx(), 10); return err }
		}},
		{"trim", func(b *bench) func() error {
			b.complete(taken(b, scripts.NewJob{ID: "a", Retention: time.Hour}))
			b.do("ZADD", scripts.Key("finished"), 1, "a")
			b.fail(taken(b, rich), job.ReasonAttempts, 0)
			return func() error { _, err := b.Trim(b.ctx(), 10, time.Hour, 0); return err }
		}},
		{"apply add", changes(scripts.Change{Act: "add", Name: "t", Definition: "d"})},
		{"apply retime", changes(scripts.Change{Act: "retime", Name: "s", Definition: "e"})},
		{"apply rewrite", changes(scripts.Change{Act: "rewrite", Name: "s", Definition: "e"})},
		{"apply remove", changes(scripts.Change{Act: "remove", Name: "s"})},
		{"expand", func(b *bench) func() error {
			tick := scheduled(b)
			s := b.schedule("s")
			return func() error {
				_, err := b.Expand(b.ctx(), scripts.Expansion{Schedule: "s", Number: s.Number, Cursor: s.Cursor, Next: s.Cursor + 1, Missed: 2, Ticks: []scripts.NewJob{tick}})
				return err
			}
		}},
		{"poll", func(b *bench) func() error {
			scheduled(b)
			return func() error { _, err := b.Poll(b.ctx(), "", false); return err }
		}},
		{"beat", func(b *bench) func() error {
			return func() error {
				return b.Beat(b.ctx(), scripts.Presence{ID: "w", Names: []string{"test"}, Queues: []string{"low"}, Fields: map[string]string{"host": "h"}})
			}
		}},
		{"leave", func(b *bench) func() error {
			b.must(b.Beat(b.ctx(), scripts.Presence{ID: "w"}))
			return func() error { return b.Leave(b.ctx(), "w") }
		}},
		{"pause", func(b *bench) func() error { return func() error { return b.PauseQueue(b.ctx(), "low", "me", "why") } }},
		{"resume", func(b *bench) func() error {
			b.must(b.PauseQueue(b.ctx(), "low", "me", "why"))
			return func() error { return b.ResumeQueue(b.ctx(), "low") }
		}},
		{"hello", func(b *bench) func() error { return func() error { return b.Hello(b.ctx()) } }},
		{"probe", func(b *bench) func() error { return func() error { return b.Probe(b.ctx()) } }},
	}
}

// busy applies schedule s with a policy and brings one run of it to a worker; another
// tick is due.
func (b *bench) busy(policy string) scripts.Lease {
	b.t.Helper()
	b.apply(scripts.Change{Act: "add", Name: "s", Definition: "d", Rules: scripts.Rules{Policy: policy, CatchUp: "Latest"}})
	one := b.tick(b.schedule("s"), b.now().Add(-time.Second).Truncate(time.Millisecond))
	one.ID = "s@one"
	b.plan("s", one)
	b.promote()
	l := b.take(1)[0].Lease
	two := b.tick(b.schedule("s"), one.At.Add(500*time.Millisecond))
	two.ID = "s@two"
	b.plan("s", two)
	return l
}

// byHand is a job for schedule s that is no tick.
func (b *bench) byHand(id string) (n scripts.NewJob, number string) {
	b.t.Helper()
	s := b.schedule("s")
	return scripts.NewJob{
		ID: "s@" + id, Queue: "medium", Name: "test", Schedule: "s", Incarnation: s.Incarnation, Trigger: job.TriggerManual,
	}, s.Number
}

const saved = "{bide}:saved by the test" // in the slot of the others

// spoil puts something of another type under key and keeps what was there.
func (b *bench) spoil(key, kind string) {
	if kind != "" {
		b.do("RENAME", key, saved)
	}
	if kind == "string" || kind == "" && !strings.Contains(key, "wake") && strings.Contains(key, ":job:") {
		b.do("RPUSH", key, "foreign")
	} else {
		b.do("SET", key, "foreign")
	}
}

// mend undoes spoil, unless the call made the foreign thing give way.
func (b *bench) mend(key string) {
	kind := b.raw().Type(b.ctx(), key).Val()
	foreign := kind == "string" && b.raw().Get(b.ctx(), key).Val() == "foreign" ||
		kind == "list" && slices.Equal(b.raw().LRange(b.ctx(), key, 0, -1).Val(), []string{"foreign"})
	if foreign {
		b.do("DEL", key)
		if b.raw().Exists(b.ctx(), saved).Val() == 1 {
			b.do("RENAME", saved, key)
		}
	}
	b.do("DEL", saved)
}

// Whatever stands under a key that a script reads or writes: the script is refused
// and has changed nothing, or it has done its move whole.
func TestAWrongTypeUnderEachKey(t *testing.T) {
	each(t, func(b *bench) {
		for _, s := range situations() {
			// Once undisturbed, to learn the keys.
			b.flush()
			call := s.prep(b)
			touched := map[string]string{}
			for key, text := range b.dump() {
				touched[key], _, _ = strings.Cut(text, " ")
			}
			before, was := maps.Clone(touched), b.dump()
			b.must(call())
			for key, text := range b.dump() {
				touched[key], _, _ = strings.Cut(text, " ")
				if b.Mini != nil && (text == was[key] || was[key] == "") {
					delete(touched, key) // the embedded one is slow: only what is changed
				}
			}
			for _, word := range scripts.KeyWords() {
				if key := scripts.Key(word); b.Mini == nil && key[len(key)-1] != ':' && touched[key] == "" { // the embedded one is slow
					touched[key] = "" // read, or written in other situations
				}
			}
			b.gap0()

			script, _, _ := strings.Cut(s.name, " ")
			script = cmp.Or(map[string]string{"leave": "beat", "resume": "pause"}[script], script)
			for _, key := range slices.Sorted(maps.Keys(touched)) {
				if !scripts.Reads(script, key) {
					continue
				}
				b.flush()
				call := s.prep(b)
				if before[key] == "" && touched[key] == "string" { // made by the call
					b.do("RPUSH", key, "foreign")
				} else {
					b.spoil(key, before[key])
				}
				was := b.dump()
				err := call()
				if err != nil {
					b.same(s.name+" refused with a wrong type under "+key, was, b.dump())
				}
				b.mend(key)
				if sum, err2 := b.Audit(b.ctx()); err2 != nil || sum.Gap() != 0 {
					b.t.Errorf("%s with a wrong type under %s (answer %v): gap %d, %v: %+v", s.name, key, err, sum.Gap(), err2, sum)
				}
			}
		}
	})
}
