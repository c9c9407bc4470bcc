package scheduler

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/bide-go/bide/internal/redistest"
)

// After an outage of all roles the newest missed tick runs once, the others are
// counted, and whichever role comes back first makes no difference.
func TestOutage(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		expression string
		outage     time.Duration
	}{
		{"@every 1s", 12*time.Second + 700*time.Millisecond},
		{"@every 1s", 12*time.Second + 200*time.Millisecond},
		{"@every 1s", 90*time.Second + 700*time.Millisecond},
		{"@every 1s", 3*time.Hour + 700*time.Millisecond},
		{"@every 10s", 2*time.Minute + 7*time.Second},
		{"* * * * *", 59*time.Minute + 50*time.Second},
		{"*/5 * * * *", 48*time.Hour + 2*time.Minute},
	} {
		for _, first := range []string{"promoter", "scheduler"} {
			t.Run(fmt.Sprintf("%s down %v %s first", tt.expression, tt.outage, first), func(t *testing.T) {
				t.Parallel()
				r := mini(t)
				def := every("s", tt.expression)
				r.scheduler("before").apply(def)
				r.after(tt.outage)
				s := r.scheduler("after")
				ran := map[string]int{}
				count := func() {
					for _, id := range r.run() {
						ran[id]++
					}
				}
				if first == "promoter" {
					count()
				}
				s.step()
				count()

				p := planOf(t, def)
				var all []time.Time
				for tick := p.next(nine); !tick.After(r.clock); tick = p.next(tick) {
					all = append(all, tick)
				}
				// What is late but not missed runs, too: at most the newest.
				want := map[string]bool{}
				for i, tick := range all {
					if superseded := p.superseded(tick); superseded.After(r.clock) {
						want[ticks("s", tick)[0]] = true
					} else if i == len(all)-1 {
						t.Fatal("the newest tick is superseded")
					}
				}
				if n := len(want); n != 1 && n != 2 {
					t.Fatalf("%d ticks are to run", n)
				}
				for id := range want {
					if ran[id] != 1 {
						t.Errorf("%s ran %d times, want once", id, ran[id])
					}
				}
				if len(ran) != len(want) {
					t.Errorf("ran %v, want %v", ran, want)
				}
				if got := r.missed("s"); got != len(all)-len(want) {
					t.Errorf("missed: want %d, got %d", len(all)-len(want), got)
				}
				// It goes on with the next tick.
				next := p.next(r.clock)
				r.at(next)
				wantIDs(t, "run next", ticks("s", next), r.run())
			})
		}
	}
}

// The planned ticks of a scheduler that never comes back still run.
func TestPlannedTicksRunWithoutAScheduler(t *testing.T) {
	t.Parallel()
	r := mini(t)
	r.scheduler("a").apply(every("s", "@every 1s"))
	var ran []string
	for i := 1; i <= 60; i++ {
		r.at(sec(i))
		ran = append(ran, r.run()...)
	}
	wantIDs(t, "run", ticks("s", series(sec(1), sec(60), time.Second)...), ran)
}

// Three days without a scheduler are settled within two seconds of a start, on a
// real server and by two schedulers at once.
func TestStartAfterThreeDaysIsQuick(t *testing.T) {
	t.Parallel()
	r := newRig(t, redistest.NewReal(t))
	r.scheduler("before").apply(every("s", "@every 1s"))
	var took time.Duration
	for range 4 { // a busy machine is allowed to be slow, not always
		if took = r.startAfterThreeDays(); took < 2*time.Second {
			return
		}
	}
	t.Errorf("the first pass took %v", took)
}

// startAfterThreeDays sets the cursor back, checks what two new schedulers make of
// it, and returns how long their first pass took.
func (r *rig) startAfterThreeDays() time.Duration {
	t, ctx := r.t, context.Background()
	t.Helper()
	now := r.rdb.Time(ctx).Val()
	for _, id := range r.planned() {
		if _, err := r.set.Cancel(ctx, id); err != nil {
			t.Fatal(err)
		}
	}
	cursor := now.Add(-72 * time.Hour).Truncate(time.Second)
	r.rdb.HSet(ctx, "{bide}:schedule:s", "cursor", cursor.UnixMilli())
	before := r.missed("s")

	began := time.Now()
	done := make(chan error, 2)
	for _, s := range []*copyOf{r.scheduler("a"), r.scheduler("b")} {
		go func() { done <- s.pass(ctx) }()
	}
	for range 2 {
		if err := <-done; err != nil {
			t.Fatal(err)
		}
	}
	took := time.Since(began)
	r.promote()
	jobs := r.work()
	if len(jobs) == 0 {
		t.Fatal("no tick ran")
	}
	// From the oldest that ran to the newest there is no gap; all before are counted,
	// and so is what a slow pass itself made late.
	oldest, newest := jobs[0].Tick, jobs[len(jobs)-1].Tick
	wantIDs(t, "run", ticks("s", series(oldest, newest, time.Second)...), idsOf(jobs))
	if want, got := int(oldest.Sub(cursor)/time.Second)-1, r.missed("s")-before; got != want {
		t.Errorf("missed: want %d, got %d", want, got)
	}
	if late := r.rdb.Time(ctx).Val().Sub(oldest); late > took+4*time.Second {
		t.Errorf("the oldest tick that ran was %v late", late)
	}
	return took
}

// A start with another definition after an outage first settles what was missed
// under the old one.
func TestAnEditAfterAnOutageSettlesTheOldDefinition(t *testing.T) {
	t.Parallel()
	for name, set := range map[string][]Definition{
		"retimed": {every("s", "30 * * * *")},
		"removed": {every("other", "30 * * * *")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := mini(t)
			r.scheduler("before").apply(every("s", "0 * * * *"))
			r.at(nine.Add(5*time.Hour + 10*time.Minute))
			r.scheduler("after").apply(set...)
			if name == "retimed" {
				if got := r.missed("s"); got != 3 { // 10:00 was planned and is skipped by the promoter
					t.Errorf("missed: want 3, got %d", got)
				}
			}
			wantIDs(t, "run", ticks("s", nine.Add(5*time.Hour)), r.run())
			if name == "retimed" && r.missed("s") != 4 {
				t.Errorf("missed: want 4, got %d", r.missed("s"))
			}
			next := nine.Add(5*time.Hour + 30*time.Minute)
			r.at(next)
			wantIDs(t, "run next", ticks(set[0].Name, next), r.run())
		})
	}
}
