package scheduler

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"
)

// outages is a stage under All that is left by all roles once for every length of an
// outage, two seconds after it came back from the one before.
func outages(t *testing.T, policy ConcurrencyPolicy, length time.Duration, first string, lengths ...int) *stage {
	d := every("s", "@every 1s")
	d.ConcurrencyPolicy, d.CatchUp, d.History = policy, All, &History{Successful: 1000, Failed: 1000}
	s := newStage(t, d, length)
	s.play(sec(3).Add(750 * time.Millisecond))
	for _, n := range lengths {
		s.outage(time.Duration(n)*time.Second, first)
		s.play(s.clock.Add(2 * time.Second))
	}
	return s
}

// What was missed and what comes meanwhile is one list by due time, over any number of
// outages that begin before it is worked off, and nothing of it is left out as long as
// runs are shorter than the interval.
func TestOutagesKeepTheOrder(t *testing.T) {
	t.Parallel()
	for i, policy := range []ConcurrencyPolicy{Allow, Forbid, Replace, Queue} {
		for j, first := range []string{"promoter", "scheduler"} {
			for k, lengths := range [][]int{{12, 9}, {12, 10, 8}} {
				length := []time.Duration{500, 750}[(i+j+k)%2] * time.Millisecond
				t.Run(fmt.Sprintf("%s %s first outages of %v runs of %v", policy, first, lengths, length), func(t *testing.T) {
					t.Parallel()
					s := outages(t, policy, length, first, lengths...)
					if policy != Allow && s.count("newestMissed") == 0 {
						t.Error("nothing was missed")
					}
					s.play(s.clock.Add(100 * time.Second))
					end := s.clock.Truncate(time.Second)
					wantIDs(t, "begun", ticks("s", series(sec(1), end, time.Second)...), s.begun)
					if last := s.at[s.begun[len(s.begun)-1]]; !last.Equal(end) {
						t.Errorf("the last began at %v, want %v", last, end)
					}
					if policy != Allow && s.most > 1 {
						t.Errorf("%d ran at once", s.most)
					}
					if s.count("missed")+s.count("skipped") != 0 {
						t.Errorf("missed %d, skipped %d", s.count("missed"), s.count("skipped"))
					}
					s.sum()
				})
			}
		}
	}
}

// Runs that take longer than the interval: the order is kept, every tick has run or has
// a record, and it comes back to the present by itself, after a second outage, too.
func TestOutagesOfASlowSchedule(t *testing.T) {
	steppedByHand(t)
	t.Parallel()
	for i, policy := range []ConcurrencyPolicy{Forbid, Replace, Queue} {
		first := []string{"promoter", "scheduler"}[i%2]
		t.Run(fmt.Sprintf("%s %s first", policy, first), func(t *testing.T) {
			t.Parallel()
			s := outages(t, policy, 1500*time.Millisecond, first, 12)
			s.play(s.clock.Add(130 * time.Second)) // no more ticks are let in by now
			s.outage(9*time.Second, first)
			s.play(s.clock.Add(400 * time.Second))

			if !slices.IsSorted(s.begun) {
				t.Errorf("begun in the order %v", s.begun)
			}
			if s.most > 1 {
				t.Errorf("%d ran at once", s.most)
			}
			if last := s.begun[len(s.begun)-1]; last < ticks("s", s.clock.Add(-6*time.Second))[0] {
				t.Errorf("at %v %s was the last to begin", s.clock, last)
			}
			all := map[time.Time]int{}
			for _, list := range s.history() {
				for _, tick := range list {
					all[tick]++
				}
			}
			for tick := sec(1); tick.Before(s.clock.Add(-6 * time.Second)); tick = tick.Add(time.Second) {
				if all[tick] != 1 {
					t.Errorf("%v has %d records", tick, all[tick])
				}
			}
			s.sum()
		})
	}
}

// Of what waits after several long outages the newest hundred run.
func TestOutagesMakeUpForTheNewestHundred(t *testing.T) {
	steppedByHand(t)
	t.Parallel()
	for i, policy := range []ConcurrencyPolicy{Forbid, Replace, Queue} {
		for _, first := range []string{"promoter", "scheduler"} {
			t.Run(fmt.Sprintf("%s %s first", policy, first), func(t *testing.T) {
				t.Parallel()
				s := outages(t, policy, 500*time.Millisecond, first, 150)
				before := len(s.begun)
				if first == "promoter" {
					before++ // it begins one before it knows how many were missed
				}
				s.outage([]time.Duration{60, 130, 300}[i]*time.Second, first)
				back := s.clock.Truncate(time.Second)
				s.play(s.clock.Add(200 * time.Second))
				end := s.clock.Truncate(time.Second)
				wantIDs(t, "begun after the second", ticks("s", series(back.Add(-99*time.Second), end, time.Second)...), s.begun[before:])
				due, noted := int(end.Sub(nine)/time.Second), s.history()["catchUp"]
				if got := s.count("missed"); got != due-len(s.begun) || s.count("skipped") != 0 {
					t.Errorf("%d began of %d, %d missed, %d skipped", len(s.begun), due, got, s.count("skipped"))
				}
				if newest := noted[len(noted)-1]; !newest.Equal(back.Add(-100 * time.Second)) {
					t.Errorf("the newest that did not run is %v", newest)
				}
				s.sum()
			})
		}
	}
}

// What is asked for by hand queues with the ticks, by its due time; a backfill comes
// after all that.
func TestRunsByHandWhileTicksWait(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	s := outages(t, Forbid, 500*time.Millisecond, "scheduler", 12)
	m := NewManager(s.rdb, "", "test")
	made, err := m.Backfill(ctx, "s", nine.Add(-2*time.Second), nine.Add(-time.Second), false)
	if err != nil || made.Created == 0 {
		t.Fatal(made, err)
	}
	hand, err := m.Run(ctx, "s", RunOptions{})
	if err != nil {
		t.Fatal(err)
	}
	asked := s.clock.Truncate(time.Second)
	s.outage(8*time.Second, "scheduler")
	s.play(s.clock.Add(60 * time.Second))
	want := ticks("s", series(sec(1), asked, time.Second)...)
	want = append(append(want, hand.ID), ticks("s", series(asked.Add(time.Second), s.clock.Truncate(time.Second), time.Second)...)...)
	got := slices.DeleteFunc(slices.Clone(s.begun), func(id string) bool { return id < "s@2026-11-30T09" && id != hand.ID })
	wantIDs(t, "begun", want, got)
	if n := len(s.begun) - len(got); n != made.Created {
		t.Errorf("%d of %d backfills began", n, made.Created)
	}
}

// An edit holds for what waits already.
func TestAnEditOfCatchUpWhileTicksWait(t *testing.T) {
	t.Parallel()
	s := outages(t, Forbid, 500*time.Millisecond, "promoter", 12)
	s.outage(8*time.Second, "promoter")
	newest, begun := s.clock.Truncate(time.Second), len(s.begun)
	d := every("s", "@every 1s")
	d.ConcurrencyPolicy, d.CatchUp = Forbid, Latest
	s.sched.apply(d)
	s.play(s.clock.Add(5 * time.Second))
	wantIDs(t, "begun", ticks("s", newest), s.begun[begun:begun+1])
	if got := begun + s.count("missed"); got != int(newest.Sub(nine)/time.Second)-1 {
		t.Errorf("%d began before, %d missed", begun, s.count("missed"))
	}
}
