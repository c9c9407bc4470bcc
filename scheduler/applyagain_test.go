package scheduler

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/bide-go/bide/scripts"
)

func TestAFlushedRedisIsAppliedAnew(t *testing.T) {
	t.Parallel()
	r := mini(t)
	s := r.scheduler("a")
	s.apply(every("s", "@every 10s"))
	r.at(sec(10))
	wantIDs(t, "run", ticks("s", sec(10)), r.run())
	r.Mini.FlushAll()
	r.at(sec(15))
	s.step()
	wantIDs(t, "planned", ticks("s", series(sec(20), sec(70), 10*time.Second)...), r.planned())
	if len(s.log.find("redis has lost the applied schedules")) != 1 {
		t.Errorf("log: %s", s.log)
	}
	wantIDs(t, "applied", []string{"s"}, r.applied())

	// No schedules at all are a set, too, and not a loss.
	s.apply()
	s.step()
	if n := len(s.log.find("redis has lost the applied schedules")); n != 1 {
		t.Errorf("an empty set is taken for a loss: %s", s.log)
	}
}

// foreign puts a definition into Redis that this version cannot plan.
func (r *rig) foreign(name string) {
	r.t.Helper()
	ctx := context.Background()
	r.rdb.HSet(ctx, "{bide}:schedules", name, `{"name":"`+name+`","schedule":["@fortnightly"],"job":"tick"}`)
	r.rdb.HSet(ctx, "{bide}:schedule:"+name, "incarnation", "77", "number", "77-1", "cursor", r.clock.UnixMilli())
	r.rdb.HSet(ctx, "{bide}:meta", "revision", "77-1", "appliedBy", "another version", "appliedAt", r.clock.UnixMilli())
}

func TestADefinitionThatCannotBePlannedStopsNoOther(t *testing.T) {
	t.Parallel()
	r := mini(t)
	s := r.scheduler("a")
	s.apply(every("s", "@every 10s"))
	r.foreign("odd")
	r.at(sec(45))
	s.step()
	wantIDs(t, "planned", ticks("s", series(sec(10), sec(100), 10*time.Second)...), r.planned())
	logged := s.log.find("schedule cannot be planned; it was applied by another version")
	if len(logged) != 1 || logged[0]["schedule"] != "odd" {
		t.Errorf("log: %s", s.log)
	}
	r.at(sec(46))
	s.step()
	if len(s.log.find("schedule cannot be planned; it was applied by another version")) != 1 {
		t.Error("it is logged on every pass")
	}
	r.run()
}

func TestADefinitionThatCannotBePlannedCanBeRemovedAndReplaced(t *testing.T) {
	t.Parallel()
	t.Run("removed", func(t *testing.T) {
		t.Parallel()
		r := mini(t)
		s := r.scheduler("a")
		s.apply(every("s", "@every 10s"))
		r.foreign("odd")
		s.apply(every("s", "@every 10s"))
		wantIDs(t, "applied", []string{"s"}, r.applied())
	})
	t.Run("kept", func(t *testing.T) {
		t.Parallel()
		r := mini(t)
		s := r.scheduler("a")
		s.apply(every("s", "@every 10s"))
		r.foreign("odd")
		s.applyKeeping([]string{"odd"}, every("s", "@every 10s"))
		wantIDs(t, "applied", []string{"odd", "s"}, r.applied())
	})
	t.Run("replaced", func(t *testing.T) {
		t.Parallel()
		r := mini(t)
		s := r.scheduler("a")
		s.apply(every("s", "@every 10s"))
		r.foreign("odd")
		s.apply(every("odd", "@every 20s"))
		wantIDs(t, "applied", []string{"odd"}, r.applied())
		wantIDs(t, "planned", ticks("odd", sec(20), sec(40), sec(60)), r.planned())
	})
}

func TestSuspendedSchedulesPlanNothingAndCount(t *testing.T) {
	t.Parallel()
	r := mini(t)
	s := r.scheduler("a")
	d := every("s", "@every 10s")
	s.apply(d)
	d.Suspend = true
	r.at(sec(10))
	s.apply(d) // the tick of this instant is claimed
	wantIDs(t, "planned", ticks("s", sec(10)), r.planned())
	wantIDs(t, "run", ticks("s", sec(10)), r.run())
	r.at(sec(45))
	s.step()
	if got := r.missed("s"); got != 3 {
		t.Errorf("missed: want 3, got %d", got)
	}
	d.Suspend = false
	r.at(sec(50))
	s.apply(d)
	wantIDs(t, "planned", ticks("s", series(sec(60), sec(110), 10*time.Second)...), r.planned())
	if got := r.missed("s"); got != 4 {
		t.Errorf("missed: want 4, got %d", got)
	}
}

func TestPuttingAScheduleBackRepeatsNoTick(t *testing.T) {
	t.Parallel()
	d := every("s", "@every 1s")
	for name, back := range map[string]time.Duration{
		"at the same instant":       0,
		"within the second":         700 * time.Millisecond,
		"after the clock went back": -3 * time.Second,
		"after an hour":             time.Hour,
		"after more than a day":     25 * time.Hour,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := mini(t)
			s := r.scheduler("a")
			s.apply(d)
			var ran []string
			for i := 1; i <= 5; i++ {
				r.at(sec(i))
				ran = append(ran, r.run()...)
			}
			wantIDs(t, "run before", ticks("s", series(sec(1), sec(5), time.Second)...), ran)
			s.apply()
			wantIDs(t, "planned when removed", nil, r.planned())
			// Its claims are remembered for a day and take no room after that.
			if ttl := r.rdb.TTL(context.Background(), "{bide}:schedule:s").Val(); ttl != 24*time.Hour {
				t.Errorf("what is left of a removed schedule goes after %v", ttl)
			}
			if back > 0 {
				r.Advance(back)
			}
			r.at(sec(5).Add(back))
			s.apply(d)
			if ttl := r.rdb.TTL(context.Background(), "{bide}:schedule:s").Val(); ttl >= 0 {
				t.Errorf("the schedule would be gone after %v", ttl)
			}
			first := r.clock.Truncate(time.Second).Add(time.Second)
			if back < 0 {
				first = sec(6)
			}
			if got := r.planned(); len(got) == 0 || got[0] != ticks("s", first)[0] {
				t.Errorf("planned first: want %v, got %v", ticks("s", first), got)
			}
			ran = nil
			for i := range 3 {
				r.at(first.Add(time.Duration(i) * time.Second))
				ran = append(ran, r.run()...)
			}
			wantIDs(t, "run after", ticks("s", series(first, first.Add(2*time.Second), time.Second)...), ran)
		})
	}
}

// A run made of a removed schedule tells nothing to the one put in its place.
func TestANewIncarnationHearsNothingOfTheOldOne(t *testing.T) {
	t.Parallel()
	r := mini(t)
	s := r.scheduler("a")
	d := every("s", "@every 10s")
	s.apply(d)
	r.at(sec(10))
	r.promote()
	s.apply()
	s.apply(d)
	wantIDs(t, "run", ticks("s", sec(10)), idsOf(r.work()))
	if got := r.field("s", "lastOutcome"); got != "" {
		t.Errorf("last outcome: want none, got %q", got)
	}
	r.at(sec(20))
	wantIDs(t, "run", ticks("s", sec(20)), r.run())
	if got := r.field("s", "lastOutcome"); got != "completed" {
		t.Errorf("last outcome: want completed, got %q", got)
	}
}

func TestAnApplyThatLostTheRaceStartsOver(t *testing.T) {
	t.Parallel()
	r := mini(t)
	s := r.scheduler("a")
	s.apply(every("s", "@daily"))
	res, err := r.set.Apply(context.Background(), "not the revision", "x", []scripts.Change{{Act: "remove", Name: "s"}})
	if err != nil || res.OK || res.Revision != r.revision() {
		t.Errorf("an apply to another revision: %+v, %v", res, err)
	}
	if !slices.Equal(r.applied(), []string{"s"}) {
		t.Error("it changed something")
	}
}
