package scripts_test

import (
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/bide-go/bide/job"
	"github.com/bide-go/bide/scripts"
)

// theatre is one schedule whose runs are moved at random.
type theatre struct {
	*bench
	policy     string
	definition scripts.Change
	all        bool // missed ticks are made up for, and others queue behind them
	leases     []scripts.Leased
	ticks      int
	beside     bool               // runs were forced, or revived: they go beside others
	waited     map[string]float64 // due, of what waited when it was checked last
	unseen     map[string]bool    // ticks that have come due since the last promotion
}

func (m *theatre) promote() {
	m.bench.promote()
	clear(m.unseen)
}

func (m *theatre) tick(rt *rapid.T) {
	m.ticks++
	n := m.bench.tick(m.schedule("s"), m.now().Truncate(time.Millisecond))
	n.ID = fmt.Sprint("s@", m.ticks)
	if rapid.Bool().Draw(rt, "late") {
		n.At, n.Tick = n.At.Add(-2*time.Minute), n.Tick.Add(-2*time.Minute)
	}
	if rapid.Bool().Draw(rt, "with a deadline") {
		n.Expiry = n.At.Add(3 * time.Minute)
	}
	m.plan("s", n)
	m.unseen[n.ID] = true
	if !rapid.Bool().Draw(rt, "later promoted") {
		m.promote()
	}
}

func (m *theatre) start(rt *rapid.T) {
	m.ticks++
	n, number := m.byHand(fmt.Sprint("hand", m.ticks))
	force := rapid.Bool().Draw(rt, "force")
	m.beside = m.beside || force
	state, _, ok, err := m.Start(m.ctx(), number, force, n)
	if err != nil || !ok || force && state != job.Waiting {
		rt.Fatal(state, ok, err)
	}
}

func (m *theatre) backfill(rt *rapid.T) {
	m.ticks++
	n, number := m.byHand(fmt.Sprint("back", m.ticks))
	n.Trigger, n.Tick = job.TriggerBackfill, m.now().Add(-time.Hour)
	if made, ok, err := m.Backfill(m.ctx(), "s", number, n.ID, 0, []scripts.NewJob{n}); made != 1 || !ok || err != nil {
		rt.Fatal(made, ok, err)
	}
	m.promote()
}

func (m *theatre) take(*rapid.T) { m.leases = append(m.leases, m.bench.take(9)...) }

// drop takes one lease out of the worker's hands.
func (m *theatre) drop(rt *rapid.T) scripts.Leased {
	if len(m.leases) == 0 {
		rt.Skip("none")
	}
	i := rapid.IntRange(0, len(m.leases)-1).Draw(rt, "lease")
	l := m.leases[i]
	m.leases = append(m.leases[:i:i], m.leases[i+1:]...)
	return l
}

func (m *theatre) settle(rt *rapid.T) {
	l := m.drop(rt)
	switch rapid.IntRange(0, 4).Draw(rt, "end") {
	case 0:
		m.complete(l)
	case 1:
		m.fail(l, "", 0)
	case 2:
		m.fail(l, job.ReasonAttempts, 0)
	case 3:
		_, err := m.Release(m.ctx(), []scripts.Lease{l.Lease})
		m.must(err)
	case 4:
		if m.raw().ZAddXX(m.ctx(), scripts.Key("active"), zOf(1, l.Job.ID)).Err() == nil {
			_, _, _, err := m.Reap(m.ctx(), m.now(), 10, rapid.IntRange(1, 9).Draw(rt, "most lost"))
			m.must(err)
		}
	}
	m.promote()
}

func (m *theatre) cancel(rt *rapid.T) {
	ids := []string{}
	for id := range m.places() {
		ids = append(ids, id)
	}
	if len(ids) == 0 {
		rt.Skip("none")
	}
	id := rapid.SampledFrom(sortedList(ids)).Draw(rt, "id")
	act := m.Cancel
	if rapid.Bool().Draw(rt, "retry instead") {
		act = m.Revive
		m.beside = true
	}
	_, err := act(m.ctx(), id)
	m.must(legal(err))
	m.promote()
}

func (m *theatre) pauses(rt *rapid.T) {
	var err error
	if rapid.Bool().Draw(rt, "resume") {
		_, err = m.ResumeSchedule(m.ctx(), "s", "me")
	} else {
		_, _, err = m.HoldSchedule(m.ctx(), "s", "me", "why", time.Minute, time.Time{})
	}
	m.must(err)
}

// anew removes the schedule and puts it back, before ticks that have come due may
// have been looked at.
func (m *theatre) anew(rt *rapid.T) {
	m.apply(scripts.Change{Act: "remove", Name: "s"})
	if rapid.Bool().Draw(rt, "promoted between") {
		m.promote()
	}
	m.apply(m.definition)
}

func (m *theatre) wait(*rapid.T) {
	m.pass(11 * time.Second)
	m.promote()
	m.promote()
	_, _, err := m.Expire(m.ctx(), 100)
	m.must(err)
}

// check compares the sets of the schedule with the places of its runs.
func (m *theatre) check(rt *rapid.T) {
	if sum := m.gap0(); m.t.Failed() {
		rt.Fatal(sum)
	}
	places, seen := m.places(), map[string]string{}
	members := func(word string) []string { return m.raw().ZRange(m.ctx(), scripts.Key(word)+"s", 0, -1).Val() }
	for _, word := range []string{"open", "held", "makeup"} {
		for _, id := range members(word) {
			place := places[id]
			if seen[id] != "" || place == "" || place == "dead" || word != "open" && place != "delayed" {
				rt.Fatalf("%s is in %s, in %q and stands in %q", id, word, seen[id], place)
			}
			seen[id] = word
		}
	}
	for id, place := range places {
		if place != "dead" && seen[id] == "" && !m.unseen[id] && m.raw().ZScore(m.ctx(), scripts.Key("planned")+"s", id).Err() != nil {
			rt.Fatalf("%s in %s belongs to no set", id, place)
		}
	}
	m.checkOrder(rt, members("open"))
	if n := len(members("open")); m.policy != "Allow" && n > 1 && !m.beside {
		rt.Fatalf("%d runs are open under %s", n, m.policy)
	}
	if m.policy == "Queue" && !m.all && len(members("held")) > 1 && !m.beside {
		rt.Fatalf("%d runs wait", len(members("held")))
	}
}

// checkOrder compares what has been opened with what waited beside it and still does:
// it was due before all that, unless it is a backfill, or newer ones replace older ones.
func (m *theatre) checkOrder(rt *rapid.T, open []string) {
	waits := map[string]float64{}
	for _, word := range []string{"held", "makeup"} {
		for _, z := range m.raw().ZRangeWithScores(m.ctx(), scripts.Key(word)+"s", 0, -1).Val() {
			waits[z.Member.(string)] = z.Score
		}
	}
	for _, id := range open {
		due, waited := m.waited[id]
		if !waited || due > 1e14 || m.beside || m.policy == "Allow" || m.policy == "Replace" && !m.all {
			continue
		}
		for other, score := range waits {
			if before, waited := m.waited[other]; waited && before < due && before == score {
				rt.Fatalf("%s was opened before %s", id, other)
			}
		}
	}
	m.waited = waits
}

func TestModelOfPolicies(t *testing.T) {
	onMini(t, func(b *bench) {
		rapid.Check(b.t, func(rt *rapid.T) {
			b.flush()
			m := &theatre{bench: b, unseen: map[string]bool{}, policy: rapid.SampledFrom([]string{"Allow", "Forbid", "Replace", "Queue"}).Draw(rt, "policy")}
			catchUp := rapid.SampledFrom([]string{"Latest", "All"}).Draw(rt, "catch up")
			m.all = catchUp == "All"
			m.definition = scripts.Change{Act: "add", Name: "s", Definition: "d", Rules: scripts.Rules{Policy: m.policy, CatchUp: catchUp, PauseAfter: 4}}
			b.apply(m.definition)
			rt.Repeat(map[string]func(*rapid.T){
				"tick": m.tick, "another tick": m.tick, "start": m.start, "backfill": m.backfill, "take": m.take, "settle": m.settle, "settle more": m.settle,
				"cancel": m.cancel, "pause": m.pauses, "wait": m.wait, "remove and put back": m.anew, "": m.check,
			})
			// All comes to rest.
			_, err := b.ResumeSchedule(b.ctx(), "s", "me")
			b.must(err)
			for range 200 {
				m.take(rt)
				if len(m.leases) > 0 {
					b.complete(m.leases...)
				}
				m.leases = nil
				if sum := b.gap0(); sum.Delayed+sum.Waiting+sum.Active == 0 {
					return
				}
				m.wait(rt)
			}
			rt.Fatalf("%+v, %v", b.gap0(), b.places())
		})
	})
}

// Of several ticks that come in one batch the newest takes the place of the others.
func TestReplaceWithinOneBatch(t *testing.T) {
	each(t, func(b *bench) {
		b.apply(scripts.Change{Act: "add", Name: "s", Definition: "d", Rules: scripts.Rules{Policy: "Replace"}})
		s, at := b.schedule("s"), b.now().Add(-time.Second).Truncate(time.Millisecond)
		var all []scripts.NewJob
		for i := range 3 {
			all = append(all, b.tick(s, at.Add(time.Duration(i)*time.Millisecond)))
		}
		b.plan("s", all...)
		b.promote()
		b.same("lane", []string{all[2].ID}, b.lane("medium-delayed"))
		for _, n := range all[:2] {
			end, err := b.FindEnd(b.ctx(), n.ID)
			b.must(err)
			b.same("reason", job.ReasonReplaced, end.Reason)
		}
		b.sum(scripts.Sum{Created: 3, Waiting: 1, Cancelled: 2})
	})
}
