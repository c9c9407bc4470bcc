package chaos

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

const sec = int64(time.Second)

// base is when the histories of these tests begin.
var base = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC).UnixNano()

// at gives events the times that stand before them, in ms since base.
func at(list ...any) []Event {
	var events []Event
	now := base
	for _, x := range list {
		switch x := x.(type) {
		case int:
			now = base + int64(x)*int64(time.Millisecond)
		case Event:
			x.At = now
			events = append(events, x)
		}
	}
	return events
}

func sent(id string, due int) Event {
	return Event{Kind: Sent, Proc: "producer-1.1", ID: id, Queue: "high", Due: base/1e6 + int64(due), Kept: true}
}

func unkept(id string) Event {
	e := sent(id, 0)
	e.Kept = false
	return e
}

func acked(id string, due int) Event {
	return Event{Kind: Acked, Proc: "producer-1.1", ID: id, Due: base/1e6 + int64(due)}
}

func started(id, run string, attempt, lost int) Event {
	return Event{Kind: Started, Proc: "worker-" + run[:1] + ".1", ID: id, Run: run, Attempt: attempt, Lost: lost}
}

func ended(id, run, err string) Event {
	return Event{Kind: Ended, Proc: "worker-" + run[:1] + ".1", ID: id, Run: run, Err: err}
}

func settled(id, run, state string, pause int) Event {
	return Event{Kind: Settled, Proc: "worker-" + run[:1] + ".1", ID: id, Run: run, State: state, Pause: int64(pause)}
}

func context(id, run, why string) Event {
	return Event{Kind: Context, Proc: "worker-" + run[:1] + ".1", ID: id, Run: run, Why: why}
}

func final(id, state string, lost int) Event {
	return Event{Kind: Final, ID: id, State: state, Lost: lost}
}

func proc(kind Kind, name string) Event { return Event{Kind: kind, Proc: name} }

func loss(from, to int) Event {
	return Event{Kind: Loss, From: base + int64(from)*1e6, To: base + int64(to)*1e6}
}

// Each rule is broken by a history that differs from a good one in that alone.
func TestRules(t *testing.T) {
	ordered := func(e Event) Event { e.Queue = OrderedQueue; return e }
	ticksOf := func(missed int) Event {
		return Event{Kind: Ticks, What: "s", From: base, To: base + 3*sec, Pause: 1000, N: int64(missed)}
	}
	tick := func(n int) Event {
		id := "s@" + time.Unix(0, base+int64(n)*sec).UTC().Format(time.RFC3339)
		return started(id, fmt.Sprintf("1/t%d", n), 1, 0)
	}
	guarded := func() Event {
		return Event{Kind: Ticks, What: "s", State: "Forbid", From: base, To: base + 3*sec, Pause: 1000, N: 9}
	}
	of := func(n int, e Event) Event {
		e.ID = "s@" + time.Unix(0, base+int64(n)*sec).UTC().Format(time.RFC3339)
		return e
	}
	tested := map[string]bool{}
	for _, tt := range []struct {
		name   string
		rule   string // "" for a history that breaks none
		events []Event
	}{
		{"all is well", "", at(0, sent("a", 10), 1, acked("a", 10), 12, started("a", "1/1", 1, 0), 20, ended("a", "1/1", ""), 21, settled("a", "1/1", "completed", 0), 99, final("a", "completed", 0))},
		{"lost", RuleLost, at(0, sent("a", 10), 1, acked("a", 10), 99, final("a", "", 0))},
		{"lost after it ran", RuleLost, at(0, sent("a", 0), 1, acked("a", 0), 2, started("a", "1/1", 1, 0), 3, ended("a", "1/1", ""), 99, final("a", "", 0))},
		{"not acknowledged", "", at(0, sent("a", 10), 1, Event{Kind: Unknown, ID: "a"}, 99, final("a", "", 0))},
		{"lost by Redis", "", at(0, sent("a", 10), 1, acked("a", 10), 2, loss(0, 2), 99, final("a", "", 0))},
		{"lost long before Redis lost anything", RuleLost, at(0, sent("a", 10), 1, acked("a", 10), 900, loss(500, 900), 999, final("a", "", 0))},
		{"one that is not kept has run", "", at(0, unkept("a"), 1, acked("a", 0), 2, started("a", "1/1", 1, 0), 3, ended("a", "1/1", ""), 99, final("a", "", 0))},
		{"one that is not kept is lost", RuleLost, at(0, unkept("a"), 1, acked("a", 0), 2, started("a", "1/1", 1, 0), 99, final("a", "", 0))},
		{"one that is not kept may have been cancelled", "", at(0, unkept("a"), 1, acked("a", 0), 2, Event{Kind: Asked, ID: "a"}, 99, final("a", "", 0))},
		{"still waiting", RuleEnd, at(0, sent("a", 10), 1, acked("a", 10), 99, final("a", "waiting", 0))},
		{"completed by nobody", RuleEnd, at(0, sent("a", 10), 1, acked("a", 10), 99, final("a", "completed", 0))},
		{"ended twice", RuleEnd, at(0, sent("a", 0), 1, acked("a", 0), 2, started("a", "1/1", 1, 0), 3, ended("a", "1/1", ""), 4, settled("a", "1/1", "completed", 0), settled("a", "1/1", "dead", 0))},

		{"early", RuleEarly, at(0, sent("a", 10), 1, acked("a", 10), 8, started("a", "1/1", 1, 0))},
		{"on time", "", at(0, sent("a", 10), 1, acked("a", 10), 10, started("a", "1/1", 1, 0))},
		{"before its back-off is over", RuleEarly, at(0, sent("a", 0), acked("a", 0), 1, started("a", "1/1", 1, 0), 2, ended("a", "1/1", "x"), 3, settled("a", "1/1", "delayed", 100), 50, started("a", "1/2", 2, 0))},
		{"after its back-off", "", at(0, sent("a", 0), acked("a", 0), 1, started("a", "1/1", 1, 0), 2, ended("a", "1/1", "x"), 3, settled("a", "1/1", "delayed", 100), 103, started("a", "1/2", 2, 0))},

		{"twice for no reason", RuleTwice, at(0, started("a", "1/1", 1, 0), 2, ended("a", "1/1", ""), 3, started("a", "2/1", 1, 0))},
		{"twice after a lost lease", "", at(0, started("a", "1/1", 1, 0), 2, ended("a", "1/1", ""), 3, started("a", "2/1", 1, 1))},
		{"again after its end", RuleTwice, at(0, started("a", "1/1", 1, 0), 2, ended("a", "1/1", ""), 3, settled("a", "1/1", "completed", 0), 4, started("a", "2/1", 1, 1))},
		{"again after Redis lost its end", "", at(0, started("a", "1/1", 1, 0), 2, ended("a", "1/1", ""), 3, settled("a", "1/1", "completed", 0), 4, loss(1, 4), 5, started("a", "2/1", 1, 0))},
		{"again although its end was safe", RuleTwice, at(0, started("a", "1/1", 1, 0), 2, ended("a", "1/1", ""), 3, settled("a", "1/1", "completed", 0), 400, loss(300, 400), 500, started("a", "2/1", 1, 0))},
		{"again after Redis lost its lease, of which the worker heard late", "", at(400, loss(300, 400), 410, started("a", "1/1", 1, 0), 411, ended("a", "1/1", ""), 3000, started("a", "2/1", 1, 0))},
		{"second attempt of one that had not failed", RuleTwice, at(0, started("a", "1/1", 1, 0), 2, ended("a", "1/1", ""), 3, started("a", "2/1", 2, 0))},
		{"given back", "", at(0, proc(Born, "worker-1.1"), started("a", "1/1", 1, 0), 1, proc(Termed, "worker-1.1"), 2, ended("a", "1/1", "shutdown"), 3, started("a", "2/1", 1, 0), 4, proc(Exited, "worker-1.1"))},
		{"the record forgets a lost lease", RuleTwice, at(0, started("a", "1/1", 1, 0), 1, context("a", "1/1", "lost"), 3, started("a", "2/1", 1, 1), 4, ended("a", "2/1", ""), 5, ended("a", "1/1", "x"), 99, final("a", "completed", 0))},

		{"stale owner", RuleStale, at(0, started("a", "1/1", 1, 0), 1, context("a", "1/1", "lost"), 3, started("a", "2/1", 1, 1), 5, ended("a", "1/1", ""), 6, settled("a", "1/1", "completed", 0))},
		{"stale owner is not heard", "", at(0, started("a", "1/1", 1, 0), 1, context("a", "1/1", "lost"), 3, started("a", "2/1", 1, 1), 5, ended("a", "1/1", ""), 6, settled("a", "1/1", "", 0))},

		{"beside", RuleBeside, at(0, started("a", "1/1", 1, 0), 100, started("a", "2/1", 1, 1), 5000, ended("a", "1/1", "x"), ended("a", "2/1", ""))},
		{"beside for a moment", RuleBeside, at(0, started("a", "1/1", 1, 0), 100, started("a", "2/1", 1, 1), 200, context("a", "1/1", "lost"), 5000, ended("a", "2/1", ""))},
		{"beside for a moment on a busy machine", "", at(0, Event{Kind: Stalled, N: sec / 2}, started("a", "1/1", 1, 0), 100, started("a", "2/1", 1, 1), 200, context("a", "1/1", "lost"), 5000, ended("a", "2/1", ""))},
		{"beside for ever", RuleBeside, at(0, started("a", "1/1", 1, 0), 100, started("a", "2/1", 1, 1), 5000, ended("a", "2/1", ""))},
		{"beside, its context ended", "", at(0, started("a", "1/1", 1, 0), 90, context("a", "1/1", "lost"), 100, started("a", "2/1", 1, 1), 5000, ended("a", "1/1", "x"), ended("a", "2/1", ""))},
		{"beside while frozen", "", at(0, proc(Born, "worker-1.1"), started("a", "1/1", 1, 0), 10, proc(Stopped, "worker-1.1"), 100, started("a", "2/1", 1, 1), 5000, proc(Continued, "worker-1.1"), 5100, context("a", "1/1", "lost"))},
		{"beside when killed", "", at(0, proc(Born, "worker-1.1"), started("a", "1/1", 1, 0), 50, proc(Killed, "worker-1.1"), proc(Exited, "worker-1.1"), 100, started("a", "2/1", 1, 1), 9000, ended("a", "2/1", ""))},
		{"beside long after it went on", RuleBeside, at(0, proc(Born, "worker-1.1"), started("a", "1/1", 1, 0), 10, proc(Stopped, "worker-1.1"), 100, started("a", "2/1", 1, 1), 5000, proc(Continued, "worker-1.1"), 9000, context("a", "1/1", "lost"))},

		{"each tick runs", "", at(1000, tick(1), 2000, tick(2), 3000, tick(3), 4000, ticksOf(0))},
		{"a tick is missing", RuleTick, at(1000, tick(1), 3000, tick(3), 4000, ticksOf(0))},
		{"a tick is counted as missed", "", at(1000, tick(1), 3000, tick(3), 4000, ticksOf(1))},

		{"a tick has made room", "", at(1000, tick(1), 3000, tick(3), 4000, of(2, Event{Kind: Replaced}), ticksOf(0))},
		{"one after the other", "", at(1000, tick(1), 1900, of(1, ended("", "1/t1", "")), 2000, tick(2), 2100, of(2, ended("", "1/t2", "")), 4000, guarded())},
		{"one beside the other", RuleOverlap, at(1000, tick(1), 2000, tick(2), 2001, of(1, ended("", "1/t1", "")), 2100, of(2, ended("", "1/t2", "")), 4000, guarded())},
		{"one beside another that has lost its lease", "", at(1000, tick(1), 1500, of(1, context("", "1/t1", "lost")), 2000, tick(2), 2001, of(1, ended("", "1/t1", "x")), 2100, of(2, ended("", "1/t2", "")), 4000, guarded())},
		{"one beside another that heeds no lost lease", RuleOverlap, at(1000, tick(1), 2000, tick(2), 2100, of(2, ended("", "1/t2", "")), 4000, of(1, context("", "1/t1", "lost")), 4001, guarded())},
		{"one beside another that heeds it late on a busy machine", "", at(0, Event{Kind: Stalled, N: sec}, 1000, tick(1), 2000, tick(2), 2100, of(2, ended("", "1/t2", "")), 4000, of(1, context("", "1/t1", "lost")), 4001, guarded())},
		{"cancelled, and started again", RuleTwice, at(0, started("a", "1/1", 1, 0), 2, ended("a", "1/1", "x"), 3, settled("a", "1/1", "cancelled", 0), 4, started("a", "2/1", 1, 1))},

		{"in order", "", at(0, ordered(sent("a", 10)), 1, acked("a", 10), 2, ordered(sent("b", 10)), 3, acked("b", 10), 11, started("a", "1/1", 1, 0), 12, started("b", "1/2", 1, 0))},
		{"out of order", RuleOrder, at(0, ordered(sent("a", 10)), 1, acked("a", 10), 2, ordered(sent("b", 9)), 3, acked("b", 9), 11, started("a", "1/1", 1, 0), 12, started("b", "1/2", 1, 0))},
		{"a tie out of order", RuleOrder, at(0, ordered(sent("a", 10)), 1, acked("a", 10), 2, ordered(sent("b", 10)), 3, acked("b", 10), 11, started("b", "1/1", 1, 0), 12, started("a", "1/2", 1, 0))},
		{"out of order after a lost lease", "", at(0, ordered(sent("a", 10)), 1, acked("a", 10), 2, ordered(sent("b", 9)), 3, acked("b", 9), 11, started("a", "1/1", 1, 0), 12, started("b", "1/2", 1, 1))},

		{"gap", RuleGap, at(0, Event{Kind: Audited, Gap: -1})},
		{"stuck", RuleTrouble, at(0, Event{Kind: Stuck, What: "x"})},
		{"ended by itself", RuleExit, at(0, proc(Born, "promoter-1.1"), 1, Event{Kind: Exited, Proc: "promoter-1.1", Code: 1})},
		{"ended well by itself", RuleExit, at(0, proc(Born, "promoter-1.1"), 1, proc(Exited, "promoter-1.1"))},
		{"killed", "", at(0, proc(Born, "promoter-1.1"), 1, proc(Killed, "promoter-1.1"), 2, Event{Kind: Exited, Proc: "promoter-1.1", Code: -1})},
		{"told to stop", "", at(0, proc(Born, "promoter-1.1"), 1, proc(Termed, "promoter-1.1"), 2, proc(Exited, "promoter-1.1"))},
		{"told to stop, and failed", RuleExit, at(0, proc(Born, "promoter-1.1"), 1, proc(Termed, "promoter-1.1"), 2, Event{Kind: Exited, Proc: "promoter-1.1", Code: 2})},
		{"told to stop before it could hear it", "", at(0, proc(Born, "promoter-1.1"), 30, proc(Termed, "promoter-1.1"), 31, Event{Kind: Exited, Proc: "promoter-1.1", Code: -1})},
		{"told to stop, and killed by it", RuleExit, at(0, proc(Born, "promoter-1.1"), 3000, proc(Termed, "promoter-1.1"), 3001, Event{Kind: Exited, Proc: "promoter-1.1", Code: -1})},
		{"goroutines", RuleGrowth, at(0, Event{Kind: Goroutines, Proc: "w", N: 5000})},
		{"memory grows", RuleGrowth, growing(10 << 20)},
		{"memory is flat", "", growing(0)},
		{"fewer than known", RuleTotal, at(0, sent("a", 0), acked("a", 0), 1, sent("b", 0), acked("b", 0), 9, Event{Kind: Total, N: 1})},
		{"cancelled, and runs", RuleCancel, at(0, sent("a", 50), 1, acked("a", 50), 2, Event{Kind: Cancelled, ID: "a", State: "cancelled"}, 60, started("a", "1/1", 1, 0))},
		{"cancelled", "", at(0, sent("a", 50), 1, acked("a", 50), 2, Event{Kind: Cancelled, ID: "a", State: "cancelled"}, 99, final("a", "cancelled", 0))},
	} {
		tested[tt.rule] = true
		t.Run(tt.name, func(t *testing.T) {
			var rules []string
			for _, v := range Check(tt.events) {
				rules = append(rules, v.Rule)
			}
			switch {
			case tt.rule == "" && len(rules) > 0:
				t.Errorf("broken: %q, want none", rules)
			case tt.rule != "" && !slices.Contains(rules, tt.rule):
				t.Errorf("broken: %q, want %q", rules, tt.rule)
			}
		})
	}
	for _, rule := range Rules {
		if !tested[rule] {
			t.Errorf("no history breaks the rule %q", rule)
		}
	}
}

func growing(by int64) []Event {
	var events []Event
	for i := range int64(100) {
		events = append(events, Event{At: base + i*sec, Kind: Memory, Proc: "worker-1.1", N: 30<<20 + i*by})
	}
	return events
}

// What is printed of a violation is the history of the one job, and of no other.
func TestAViolationTellsItsOwnHistory(t *testing.T) {
	var events []Event
	for i := range 50 {
		id := fmt.Sprint("good", i)
		events = append(events, at(i, sent(id, i), acked(id, i), i+1, started(id, fmt.Sprintf("1/%d", i), 1, 0), ended(id, fmt.Sprintf("1/%d", i), ""))...)
	}
	events = append(events, at(5, sent("bad", 5), acked("bad", 5), 999, final("bad", "", 0))...)
	broken := Check(events)
	if len(broken) != 1 {
		t.Fatalf("broken: %v, want one", broken)
	}
	text := broken[0].String()
	if len(broken[0].Events) != 3 || strings.Contains(text, "good") || !strings.HasPrefix(text, RuleLost) {
		t.Errorf("%s", text)
	}
}

func TestWhatRedisLostIsToldApart(t *testing.T) {
	events := at(0, sent("a", 0), acked("a", 0), 600, sent("b", 0), acked("b", 0), 900, sent("c", 0), acked("c", 0), 1000, loss(500, 1000),
		2000, final("a", "completed", 0), final("b", "", 0), final("c", "", 0))
	if n, span := LostByRedis(events); n != 2 || span != 300*time.Millisecond {
		t.Errorf("%d, %v, want 2 of 300ms", n, span)
	}
}

func TestRecoveryFigures(t *testing.T) {
	events := at(0, proc(Born, "worker-1.1"), started("a", "1/1", 1, 0), 100, proc(Killed, "worker-1.1"), proc(Exited, "worker-1.1"),
		2600, started("a", "2/1", 1, 1), ended("a", "2/1", ""), 3000, Event{Kind: Up, What: "Redis killed"}, 3070, started("b", "2/2", 1, 0))
	got := map[string]Figure{}
	for _, f := range Recovery(events) {
		got[f.What] = f
	}
	if f := got["job of a killed worker runs again"]; f.N != 1 || f.P50 != 2500*time.Millisecond {
		t.Errorf("%+v", f)
	}
	if f := got["first start after: Redis killed"]; f.N != 1 || f.P99 != 70*time.Millisecond {
		t.Errorf("%+v", f)
	}
}

func TestHistoryOutlivesACut(t *testing.T) {
	path := t.TempDir() + "/a.events"
	r, err := NewRecorder(path, "p")
	if err != nil {
		t.Fatal(err)
	}
	r.Note(Event{Kind: Sent, ID: "a"})
	_, _ = r.file.WriteString(`{"t":1,"k":"sent","id":"cut`)
	events, err := Read(path)
	if err != nil || len(events) != 1 || events[0].ID != "a" || events[0].Proc != "p" || events[0].At == 0 {
		t.Errorf("%+v, %v", events, err)
	}
}

func TestBulk(t *testing.T) {
	dir := t.TempDir()
	b, err := NewBulkRecorder(dir + "/a")
	if err != nil {
		t.Fatal(err)
	}
	for _, run := range []struct {
		n     int64
		again bool
	}{{1, false}, {2, false}, {2, true}, {3, false}, {3, false}} {
		if err := b.Note(BulkID("p", run.n), run.again); err != nil {
			t.Fatal(err)
		}
	}
	got, err := CountBulk([]Event{{Kind: Bulk, Proc: "p", From: 1, To: 4}, {Kind: Bulk, Proc: "q", From: 1, To: 1}}, []string{dir + "/a"})
	want := BulkCount{Acked: 5, Ran: 5, Lost: 2, Repeated: 1, Doubled: 1}
	if err != nil || got != want {
		t.Errorf("%+v, %v, want %+v", got, err, want)
	}
}
