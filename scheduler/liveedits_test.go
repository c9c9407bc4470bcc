package scheduler

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/bide-go/bide/dispatcher"
	"github.com/bide-go/bide/internal/redistest"
	"github.com/bide-go/bide/promoter"
	"github.com/bide-go/bide/worker"
)

// Two schedulers of a real server apply edits by turns, at the very instants of
// ticks. Whatever is retimed or rewritten runs at each instant once; so does what is
// renamed each time, under one name or the other; and what comes and goes runs
// exactly at the instants at which it was there.
func TestLiveEditsAtTheInstantOfATick(t *testing.T) {
	t.Parallel()
	r := newRig(t, redistest.NewReal(t))
	rec := &recorder{runs: map[string][]time.Time{}}
	reg := worker.NewRegistry()
	reg.Handle("tick", rec.handle)
	promotes := start(promoter.New(r.Server.Client(), promoter.Config{}).Run)
	works := start(dispatcher.New(r.Server.Client(), reg, dispatcher.Config{Concurrency: 20}).Run)

	define := func(name, expression string) Definition {
		d := every(name, expression)
		d.CatchUp = All // a busy machine may be late
		return d
	}
	grid := []string{"* * * * * *", "@every 1s", "*/1 * * * * *"}
	const edits = 12
	set := func(i int) []Definition {
		retimed, rewritten := define("retimed", grid[i%len(grid)]), define("rewritten", "@every 1s")
		rewritten.Args = json.RawMessage(fmt.Sprint(i))
		all := []Definition{retimed, define(fmt.Sprint("name-", i), "@every 1s"), rewritten}
		if i%2 == 0 {
			all = append(all, define("sometimes", "@every 1s"))
		}
		if i%3 == 0 {
			slices.Reverse(all) // the order in the file means nothing
		}
		return all
	}
	var schedulers []*Scheduler
	var roles []*role
	for _, name := range []string{"a", "b"} {
		s := New(r.Server.Client(), Config{Name: name})
		schedulers, roles = append(schedulers, s), append(roles, start(s.Run))
	}
	m := r.manager()
	var applied []time.Time
	apply := func(i int) {
		t.Helper()
		if err := schedulers[i%2].Replace(set(i), nil); err != nil {
			t.Fatal(err)
		}
		eventually(t, 10*time.Second, "it is applied", func() bool {
			l, err := m.List(context.Background())
			there := err == nil && slices.ContainsFunc(l.Schedules, func(s Status) bool { return s.Definition.Name == fmt.Sprint("name-", i) })
			if there {
				applied = append(applied, l.AppliedAt)
			}
			return there
		})
	}
	apply(0)
	boundary := applied[0].Truncate(time.Second).Add(2 * time.Second)
	for i := 1; i <= edits; i++ {
		// Before, at and after the instant: nobody knows how long it is under way.
		off := -time.Duration(i%6) * 5 * time.Millisecond
		timer := time.NewTimer(time.Until(boundary.Add(off)))
		<-timer.C
		apply(i)
		t.Logf("edit %d was applied %v beside the instant", i, applied[i].Sub(boundary))
		boundary = boundary.Add(time.Second)
	}
	eventually(t, 20*time.Second, "the last ticks ran", func() bool {
		return slices.ContainsFunc(rec.ran("retimed"), func(tick time.Time) bool { return !tick.Before(boundary) })
	})
	for _, s := range roles {
		s.end(t)
	}
	promotes.end(t)
	eventually(t, 20*time.Second, "what is due has run", func() bool { s := r.sum(); return s.Waiting+s.Active == 0 })
	works.end(t)

	// What is planned begins after the newest that was due, which is the same for all.
	last := r.get(r.planned()[0]).Tick.Add(-time.Second)
	first := applied[0].Truncate(time.Second).Add(time.Second)
	check := func(what string, want, got []time.Time) {
		t.Helper()
		slices.SortFunc(got, time.Time.Compare)
		if !slices.EqualFunc(want, got, time.Time.Equal) {
			t.Errorf("%s\nwant %v\ngot  %v", what, want, got)
		}
	}
	check("retimed", series(first, last, time.Second), rec.ran("retimed"))
	check("rewritten", series(first, last, time.Second), rec.ran("rewritten"))
	var renamed, sometimes []time.Time
	for i := 0; i <= edits; i++ {
		name := fmt.Sprint("name-", i)
		renamed = append(renamed, rec.ran(name)...)
		from, to := applied[i].Truncate(time.Second).Add(time.Second), last
		if i < edits {
			to = applied[i+1]
		}
		check(name, series(from, to, time.Second), rec.ran(name))
		if i%2 == 0 {
			sometimes = append(sometimes, series(from, to, time.Second)...)
		}
	}
	check("renamed", series(first, last, time.Second), renamed)
	check("sometimes", sometimes, rec.ran("sometimes"))
}
