package scripts_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/bide-go/bide/job"
	"github.com/bide-go/bide/scripts"
)

// line is a schedule under All whose ticks are named by the order in which they were
// due.
type line struct {
	*bench
	next int
}

func newLine(b *bench, policy string) *line {
	b.apply(scripts.Change{Act: "add", Name: "s", Definition: "d", Rules: scripts.Rules{Policy: policy, CatchUp: "All", KeepFailed: 500}})
	return &line{bench: b}
}

// come brings n ticks to the promoter that were due a while ago, one every millisecond,
// and returns their ids.
func (l *line) come(ago time.Duration, n int) []string {
	l.t.Helper()
	s, at := l.schedule("s"), l.now().Add(-ago).Truncate(time.Millisecond)
	var list []scripts.NewJob
	var all []string
	for i := range n {
		l.next++
		tick := l.tick(s, at.Add(time.Duration(i)*time.Millisecond))
		tick.ID = fmt.Sprintf("s@%03d", l.next)
		list, all = append(list, tick), append(all, tick.ID)
	}
	l.plan("s", list...)
	l.promote()
	return all
}

// settle lets the promoter decide on all that is due.
func (l *line) settle() {
	l.t.Helper()
	for l.promote() > 0 {
		continue
	}
}

// work runs all that waits to its end, one after the other, and returns the ids.
func (l *line) work() []string {
	l.t.Helper()
	var all []string
	for {
		l.settle()
		got := l.take(9)
		if len(got) == 0 {
			return all
		}
		l.same("open at a time", 1, len(got))
		all = append(all, got[0].Job.ID)
		l.complete(got...)
	}
}

func (l *line) reasons(ids []string) map[job.Reason]int {
	l.t.Helper()
	n := map[job.Reason]int{}
	for _, id := range ids {
		end, err := l.FindEnd(l.ctx(), id)
		l.must(err)
		n[end.Reason]++
	}
	return n
}

// What waits is one list by due time: the newest hundred of the missed ticks and, behind
// them, those that came on time.
func TestMissedTicksAndOthersAreOneList(t *testing.T) {
	for _, policy := range []string{"Forbid", "Replace", "Queue"} {
		t.Run(policy, func(t *testing.T) {
			each(t, func(b *bench) {
				l := newLine(b, policy)
				first := l.come(3*time.Hour, 3) // one of them is open
				first = append(first, l.come(3*time.Hour-time.Minute, 1)...)
				second := slices.Concat(l.come(2*time.Hour, 60), l.come(time.Hour, 38))
				now := l.come(time.Second, 2)
				third := l.come(90*time.Second, 5) // came late, was due before those
				l.settle()                         // while the first is still open
				l.same("missed", "6", l.field("s", "missed"))
				want := slices.Concat(first[:1], second[3:], third, now)
				l.same("order", want, l.work())
				l.same("not run", map[job.Reason]int{job.ReasonCatchUp: 6}, l.reasons(slices.Concat(first[1:], second[:3])))
				l.sum(scripts.Sum{Created: 109, Completed: 103, Skipped: 6})
			})
		})
	}
}

// A hundred ticks queue behind while the list does not get any shorter, then no more do
// until it has been worked off or more were missed.
func TestAListThatGetsNoShorterIsClosed(t *testing.T) {
	for _, policy := range []string{"Forbid", "Replace", "Queue"} {
		t.Run(policy, func(t *testing.T) {
			each(t, func(b *bench) {
				l := newLine(b, policy)
				ran := l.come(time.Hour, 1)
				ran = append(ran, l.come(10*time.Second, 101)...) // the first finds it empty: no hundred yet
				over := l.come(5*time.Second, 2)
				l.complete(l.take(1)...)
				l.promote() // shorter by one, and still closed
				over = append(over, l.come(4*time.Second, 1)...)
				l.same("overlap", map[job.Reason]int{job.ReasonOverlap: 3}, l.reasons(over))
				hand, number := l.byHand("hand") // is let in all the same
				state, _, _, err := l.Start(l.ctx(), number, false, hand)
				l.must(err)
				l.same("by hand", job.Delayed, state)
				missed := l.come(70*time.Second, 1)
				behind := l.come(3*time.Second, 1)
				l.same("order", slices.Concat(ran[1:2], missed, ran[2:], behind, []string{hand.ID}), l.work())
				l.same("skipped", "3", l.field("s", "skipped"))
				l.sum(scripts.Sum{Created: 108, Completed: 105, Skipped: 3})
				// By now it is empty: the policy holds.
				l.come(2*time.Second, 1)
				two := l.come(time.Second, 1)
				if policy == "Forbid" {
					l.same("overlap", map[job.Reason]int{job.ReasonOverlap: 1}, l.reasons(two))
				}
				l.same("waiting", 0, len(l.do("ZRANGE", scripts.Key("makeup")+"s", 0, -1).([]any)))
			})
		})
	}
}

// As long as the list gets shorter, any number may queue behind it.
func TestAListThatGetsShorterStaysOpen(t *testing.T) {
	each(t, func(b *bench) {
		l := newLine(b, "Forbid")
		want := l.come(time.Hour, 12)
		var got []string
		for i := range 160 {
			want = append(want, l.come(time.Second, 1)...)
			for range 1 + i%15/14 { // sixteen run in the time of fifteen
				one := l.take(1)
				got = append(got, ids(one)...)
				l.complete(one...)
				l.promote()
			}
		}
		l.same("order", want, append(got, l.work()...))
		l.same("skipped", "", l.field("s", "skipped"))
	})
}
