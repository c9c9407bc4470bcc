package scripts_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/bide-go/bide/job"
	"github.com/bide-go/bide/scripts"
)

// ticks describes n ticks of an applied schedule, from an instant, an hour apart.
func (b *bench) ticks(name string, from time.Time, n int) []scripts.NewJob {
	b.t.Helper()
	s := b.schedule(name)
	list := []scripts.NewJob{}
	for i := range n {
		list = append(list, b.tick(s, from.Add(time.Duration(i)*time.Hour).Truncate(time.Millisecond)))
	}
	return list
}

func (b *bench) field(name, field string) string {
	return b.raw().HGet(b.ctx(), scripts.Key("schedule")+name, field).Val()
}

func TestApplyComparesTheRevision(t *testing.T) {
	each(t, func(b *bench) {
		first, err := b.Apply(b.ctx(), "", "one", []scripts.Change{{Act: "add", Name: "s", Definition: "d1"}})
		b.must(err)
		b.same("ok", true, first.OK)
		before := b.dump()
		second, err := b.Apply(b.ctx(), "", "two", []scripts.Change{{Act: "remove", Name: "s"}, {Act: "add", Name: "t", Definition: "x"}})
		b.must(err)
		b.same("moved", scripts.ApplyResult{Revision: first.Revision}, second)
		b.same("keyspace", before, b.dump())
		third, err := b.Apply(b.ctx(), first.Revision, "two", []scripts.Change{{Act: "retime", Name: "s", Definition: "d2", Suspended: true}})
		b.must(err)
		if !third.OK || third.ReplacedBy != "one" || third.ReplacedAt.IsZero() || third.Revision == first.Revision {
			b.t.Errorf("%+v", third)
		}
		p, err := b.Poll(b.ctx(), first.Revision, false)
		b.must(err)
		if len(p.Schedules) != 1 || p.Schedules[0].Definition != "d2" || p.AppliedBy != "two" || b.field("s", "suspended") != "1" {
			b.t.Errorf("%+v", p)
		}
		p, err = b.Poll(b.ctx(), third.Revision, false)
		b.must(err)
		b.same("nothing new", 0, len(p.Schedules))
		// An empty set is a set: only flushed data has no revision.
		b.apply(scripts.Change{Act: "remove", Name: "s"})
		p, err = b.Poll(b.ctx(), "", false)
		b.must(err)
		if p.Revision == "" || len(p.Schedules) != 0 {
			b.t.Errorf("%+v", p)
		}
		b.flush()
		p, err = b.Poll(b.ctx(), third.Revision, false)
		b.must(err)
		b.same("flushed", "", p.Revision)
		again := b.apply(scripts.Change{Act: "add", Name: "s", Definition: "d1"})
		if again.Revision == first.Revision && b.Mini == nil {
			b.t.Error("a revision came twice")
		}
	})
}

func TestExpandComparesDefinitionAndCursor(t *testing.T) {
	each(t, func(b *bench) {
		b.apply(scripts.Change{Act: "add", Name: "s", Definition: "d"})
		s := b.schedule("s")
		e := scripts.Expansion{Schedule: "s", Number: s.Number, Cursor: s.Cursor, Next: s.Cursor + 5, Missed: 3, Ticks: b.ticks("s", b.now().Add(time.Hour), 2)}
		done, err := b.Expand(b.ctx(), e)
		b.must(err)
		if !done.OK || done.Planned != 2 || done.Cursor != e.Next || b.field("s", "missed") != "3" {
			b.t.Errorf("%+v, missed %s", done, b.field("s", "missed"))
		}
		for _, bad := range []scripts.Expansion{e, {Schedule: "s", Number: "other", Cursor: e.Next}, {Schedule: "none", Number: s.Number}, {Schedule: "s", Number: s.Number, Cursor: e.Next, Span: scripts.Span{From: "1"}}} {
			before := b.dump()
			done, err := b.Expand(b.ctx(), bad)
			b.must(err)
			if done.OK || bad.Schedule == "s" && (done.Number != s.Number || done.Cursor != e.Next) || bad.Schedule == "none" && done.Number != "" {
				b.t.Errorf("%+v: %+v", bad, done)
			}
			b.same("keyspace", before, b.dump())
		}
		// Ticks that were planned before are not planned twice.
		e.Cursor, e.Missed = e.Next, 0
		done, err = b.Expand(b.ctx(), e)
		b.must(err)
		b.same("planned again", 0, done.Planned)
		b.sum(scripts.Sum{Created: 2, Delayed: 2})
	})
}

// Taking a schedule back takes its planned ticks, but not those that have come.
func TestUnplan(t *testing.T) {
	for _, act := range []string{"remove", "retime"} {
		t.Run(act, func(t *testing.T) {
			each(t, func(b *bench) {
				b.apply(scripts.Change{Act: "add", Name: "s", Definition: "d"}, scripts.Change{Act: "add", Name: "other", Definition: "d"})
				ticks := b.ticks("s", b.now().Add(-time.Hour), 4) // an hour ago, about now, and to come
				b.plan("s", ticks[0], ticks[2], ticks[3])
				failed := ticks[1]
				failed.At, failed.Tick = b.now().Add(-2*time.Hour), b.now().Add(-2*time.Hour)
				failed.ID = "s@failed"
				b.plan("s", failed)
				b.plan("other", b.ticks("other", b.now().Add(time.Hour), 1)...)
				_, err := b.Promote(b.ctx(), 1, false)
				b.must(err)
				l := b.take(1)
				b.same("running", []string{"s@failed"}, ids(l))
				b.fail(l[0], "", time.Hour)
				b.apply(scripts.Change{Act: act, Name: "s", Definition: "e"})
				b.state(ticks[0].ID, job.Delayed)
				b.state("s@failed", job.Delayed)
				b.gone(ticks[2].ID)
				b.gone(ticks[3].ID)
				end, err := b.FindEnd(b.ctx(), ticks[3].ID)
				b.must(err)
				b.same("reason", job.ReasonRemoved, end.Reason)
				b.same("of others", 1, int(b.raw().ZCard(b.ctx(), scripts.Key("planned")+"other").Val()))
				b.promote()
				b.complete(b.take(5)...)
				b.sum(scripts.Sum{Created: 5, Delayed: 2, Completed: 1, Cancelled: 2})
				b.same("planned", int64(0), b.raw().ZCard(b.ctx(), scripts.Key("planned")+"s").Val())
			})
		})
	}
}

// A tick that has come due when its schedule is removed runs, but beside no other run
// unless its policy allowed that.
func TestADueTickOfARemovedSchedule(t *testing.T) {
	for _, policy := range []string{"Allow", "Forbid", "Replace", "Queue"} {
		t.Run(policy, func(t *testing.T) {
			each(t, func(b *bench) {
				add := scripts.Change{Act: "add", Name: "s", Definition: "d", Rules: scripts.Rules{Policy: policy}}
				b.apply(add)
				ticks := b.ticks("s", b.now().Add(-3*time.Hour), 3)
				b.plan("s", ticks[:2]...)
				b.apply(scripts.Change{Act: "remove", Name: "s"}, add)
				b.promote()
				beside := func(id string) {
					if policy == "Allow" {
						b.state(id, job.Waiting)
						return
					}
					b.gone(id)
					end, err := b.FindEnd(b.ctx(), id)
					b.must(err)
					b.same("reason", job.ReasonRemoved, end.Reason)
				}
				b.state(ticks[0].ID, job.Waiting)
				beside(ticks[1].ID)
				next := b.tick(b.schedule("s"), ticks[2].At) // the new one's honours the old one's
				b.plan("s", next)
				b.apply(scripts.Change{Act: "remove", Name: "s"})
				b.promote()
				beside(next.ID)
				b.complete(b.take(3)...)
				sum := b.gap0()
				b.same("ended", sum.Created, sum.Completed+sum.Cancelled)
				b.same("open", int64(0), b.raw().Exists(b.ctx(), scripts.Key("open")+"s").Val())
			})
		})
	}
}

// What waits for an open run is cancelled when its schedule is removed, also what
// somebody has moved by hand.
func TestARemovedScheduleTakesWhatWaits(t *testing.T) {
	each(t, func(b *bench) {
		b.apply(scripts.Change{Act: "add", Name: "s", Definition: "d", Rules: scripts.Rules{Policy: "Queue"}})
		ticks := b.ticks("s", b.now().Add(-3*time.Hour), 3)
		b.plan("s", ticks[:2]...)
		b.promote()
		b.state(ticks[1].ID, job.Delayed)
		_, err := b.Revive(b.ctx(), ticks[1].ID)
		b.must(err)
		b.promote()
		b.state(ticks[1].ID, job.Delayed)
		b.apply(scripts.Change{Act: "remove", Name: "s"})
		b.gone(ticks[1].ID)
		b.same("its fields", int64(0), b.raw().Exists(b.ctx(), scripts.Key("run")+ticks[1].ID).Val())
		b.complete(b.take(3)...)
		b.sum(scripts.Sum{Created: 2, Completed: 1, Cancelled: 1})
	})
}

// An edit that does not touch time gives planned ticks the new job and place.
func TestRewrite(t *testing.T) {
	each(t, func(b *bench) {
		b.apply(scripts.Change{Act: "add", Name: "s", Definition: "d"})
		ticks := b.ticks("s", b.now().Add(-time.Hour), 4)
		b.plan("s", ticks[0], ticks[2], ticks[3])
		running := b.tick(b.schedule("s"), b.now().Add(-2*time.Hour))
		running.ID = "s@running"
		b.plan("s", running)
		_, err := b.Promote(b.ctx(), 1, false)
		b.must(err)
		b.fail(b.take(1)[0], "", time.Hour) // in back-off
		was := b.schedule("s")
		changed := append(ticks, running)
		for i := range changed {
			changed[i].Name, changed[i].Queue, changed[i].Args = "other", "never-used", []byte(`[1]`)
		}
		b.apply(scripts.Change{Act: "rewrite", Name: "s", Definition: "e", Ticks: changed})
		s := b.schedule("s")
		if s.Cursor != was.Cursor || s.Incarnation != was.Incarnation || s.Number == was.Number || s.Definition != "e" {
			b.t.Errorf("%+v after %+v", s, was)
		}
		for _, id := range []string{ticks[0].ID, "s@running"} { // claimed
			if j := b.state(id, job.Delayed); j.Name != "test" || j.Queue != "medium" {
				b.t.Errorf("a claimed tick was rewritten: %+v", j)
			}
		}
		b.gone(ticks[1].ID) // was never planned
		for _, n := range ticks[2:] {
			j := b.state(n.ID, job.Delayed)
			if j.Name != "other" || j.Queue != "never-used" || string(j.Args) != "[1]" || !j.Tick.Equal(n.Tick) || !j.Due.Equal(n.At) {
				b.t.Errorf("%+v", j)
			}
			_, err := b.Revive(b.ctx(), n.ID)
			b.must(err)
		}
		b.promote()
		b.same("lane", 2, len(b.lane("never-used-delayed")))
		b.gap0()
	})
}

// Putting a removed schedule back repeats no tick, for a day.
func TestARemovedScheduleIsRemembered(t *testing.T) {
	onMini(t, func(b *bench) {
		b.apply(scripts.Change{Act: "add", Name: "s", Definition: "d"})
		first := b.schedule("s")
		// Its clock is set back by an hour after a tick was claimed.
		ticks := b.ticks("s", b.now(), 1)
		b.plan("s", ticks...)
		b.pass(time.Millisecond)
		b.promote()
		b.same("claimed", fmt.Sprint(ticks[0].Tick.UnixMilli()), b.field("s", "claimed"))
		b.complete(b.take(1)...)
		b.Mini.SetTime(b.now().Add(-time.Hour))
		b.apply(scripts.Change{Act: "remove", Name: "s"})
		if ttl := b.Mini.TTL(scripts.Key("schedule") + "s"); ttl != 24*time.Hour {
			b.t.Errorf("remembered for %v", ttl)
		}
		b.apply(scripts.Change{Act: "add", Name: "s", Definition: "d"})
		again := b.schedule("s")
		if again.Cursor != ticks[0].Tick.UnixMilli() || again.Incarnation == first.Incarnation || again.Number == first.Number {
			b.t.Errorf("%+v after %+v", again, first)
		}
		b.same("kept for good", time.Duration(0), b.Mini.TTL(scripts.Key("schedule")+"s"))
		b.apply(scripts.Change{Act: "remove", Name: "s"})
		b.pass(25 * time.Hour)
		b.same("forgotten", int64(0), b.raw().Exists(b.ctx(), scripts.Key("schedule")+"s").Val())
	})
}

// Only the incarnation that made a run hears of its end.
func TestARunTellsItsOwnSchedule(t *testing.T) {
	each(t, func(b *bench) {
		b.apply(scripts.Change{Act: "add", Name: "s", Definition: "d"})
		b.plan("s", b.ticks("s", b.now().Add(-3*time.Hour), 3)...)
		b.promote()
		got := b.take(3)
		b.fail(got[0], job.ReasonAttempts, 0)
		b.same("failures", "1", b.field("s", "consecutiveFailures"))
		b.same("outcome", "dead", b.field("s", "lastOutcome"))
		b.complete(got[1])
		b.same("failures", "0", b.field("s", "consecutiveFailures"))
		b.same("outcome", "completed", b.field("s", "lastOutcome"))
		b.apply(scripts.Change{Act: "remove", Name: "s"})
		b.apply(scripts.Change{Act: "add", Name: "s", Definition: "d"})
		b.complete(got[2])
		b.same("outcome", "", b.field("s", "lastOutcome"))
	})
}

func TestSupersededTicksAreSkipped(t *testing.T) {
	each(t, func(b *bench) {
		b.apply(scripts.Change{Act: "add", Name: "s", Definition: "d"})
		ticks := b.ticks("s", b.now().Add(-5*time.Hour), 5)
		for i := range ticks[:4] {
			ticks[i].Superseded = ticks[i+1].Tick
		}
		retried := ticks[0]
		b.plan("s", retried)
		// Started in time once; now it is in back-off and long superseded.
		b.do("SETRANGE", scripts.Key("job")+retried.ID, 0, "X")
		member := subject{b: b}.member()
		b.do("ZREM", scripts.Key("delayed"), member)
		b.do("RPUSH", scripts.Key("queue")+"medium-delayed", member)
		b.fail(b.take(1)[0], "", 0)
		b.plan("s", ticks[1:]...)
		b.pass(2 * time.Millisecond)
		b.same("promoted", 5, b.promote())
		got := b.take(9)
		b.same("taken", []string{ticks[4].ID, retried.ID}, ids(got))
		for _, n := range ticks[1:4] {
			b.gone(n.ID)
			end, err := b.FindEnd(b.ctx(), n.ID)
			b.must(err)
			b.same("end", job.ReasonCatchUp, end.Reason)
		}
		b.same("missed", "3", b.field("s", "missed"))
		b.same("planned", int64(0), b.raw().ZCard(b.ctx(), scripts.Key("planned")+"s").Val())
		b.sum(scripts.Sum{Created: 5, Active: 2, Skipped: 3})
	})
}

// A planned tick that was pulled forward and failed is in back-off like any run:
// the end of its schedule does not take it back.
func TestATickMadeDueIsNoPlannedOne(t *testing.T) {
	each(t, func(b *bench) {
		b.apply(scripts.Change{Act: "add", Name: "s", Definition: "d"})
		tick := b.ticks("s", b.now().Add(time.Hour), 1)[0]
		b.plan("s", tick)
		_, err := b.Revive(b.ctx(), tick.ID)
		b.must(err)
		b.pass(time.Millisecond)
		b.same("promoted", 1, b.promote())
		b.same("planned", int64(1), b.raw().ZCard(b.ctx(), scripts.Key("planned")+"s").Val())
		b.fail(b.take(1)[0], "", time.Hour)
		b.apply(scripts.Change{Act: "remove", Name: "s"})
		b.state(tick.ID, job.Delayed)
	})
}
