package scheduler

import (
	"context"
	"encoding/json"
	"slices"
	"testing"
	"time"
)

// late is a scheduler that f overtakes: it happens between what the scheduler read
// and its first expansion of schedule s.
func (r *rig) late(f func()) *copyOf {
	rdb := r.Server.Client()
	rdb.AddHook(before{"s", func() {
		if overtake := f; overtake != nil {
			f = nil
			overtake()
		}
	}})
	return &copyOf{New(rdb, Config{Name: "late"}), r, &logs{}}
}

// edit makes definitions the set and plans nothing.
func (c *copyOf) edit(definitions []Definition) {
	c.r.t.Helper()
	ctx := context.Background()
	if err := c.Replace(definitions, nil); err != nil {
		c.r.t.Fatal(err)
	}
	now, err := c.learn(ctx)
	if err == nil {
		err = c.Scheduler.apply(ctx, now)
	}
	if err != nil {
		c.r.t.Fatal(err)
	}
}

// What another scheduler has planned meanwhile, and what of it has run already, is
// not planned again.
func TestASchedulerThatIsOvertakenPlansNothingTwice(t *testing.T) {
	t.Parallel()
	r := mini(t)
	first := r.scheduler("first")
	first.apply(every("s", "@every 1s"))
	var ran []string
	late := r.late(func() {
		first.step()
		for i := 41; i <= 65; i++ {
			r.at(sec(i))
			ran = append(ran, r.run()...)
		}
	})
	for i := 1; i <= 40; i++ {
		r.at(sec(i))
		ran = append(ran, r.run()...)
	}
	late.step()
	for i := 66; i <= 70; i++ {
		r.at(sec(i))
		ran = append(ran, r.run()...)
	}
	wantIDs(t, "run", ticks("s", series(sec(1), sec(70), time.Second)...), ran)
	if sum := r.sum(); sum.Completed != 70 || r.missed("s") != 0 {
		t.Errorf("%+v, missed %d", sum, r.missed("s"))
	}
}

// A scheduler that has not heard of an edit plans nothing under the old definition.
func TestASchedulerThatMissedAnEditPlansUnderTheNewOne(t *testing.T) {
	t.Parallel()
	for name, edited := range map[string]Definition{
		"rewritten": {Name: "s", Job: "tick", Schedule: []string{"@every 1s"}, Args: json.RawMessage(`"new"`)},
		"retimed":   {Name: "s", Job: "tick", Schedule: []string{"@every 2s"}, Args: json.RawMessage(`"new"`)},
		"removed":   {},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := mini(t)
			first := r.scheduler("first")
			first.apply(every("s", "@every 1s"))
			late := r.late(func() {
				set := []Definition{edited}
				if name == "removed" {
					set = nil
				}
				first.edit(set)
			})
			r.at(sec(40))
			r.run()
			late.step()
			late.step()
			var want []string
			switch name {
			case "rewritten":
				want = ticks("s", series(sec(41), sec(100), time.Second)...)
			case "retimed":
				want = ticks("s", series(sec(42), sec(100), 2*time.Second)...)
			}
			wantIDs(t, "planned", want, r.planned())
			for _, id := range r.planned() {
				if j := r.get(id); string(j.Args) != `"new"` {
					t.Errorf("%s carries %s", id, j.Args)
				}
			}
		})
	}
}

// A cursor that went back, by hand or with the end of a lost history, doubles no
// tick that is still planned.
func TestACursorSetBackDoublesNoPlannedTick(t *testing.T) {
	t.Parallel()
	r := mini(t)
	r.scheduler("before").apply(every("s", "@every 10s"))
	before := r.planned()
	r.rdb.HSet(context.Background(), "{bide}:schedule:s", "cursor", nine.Add(-72*time.Hour).UnixMilli())
	r.at(sec(5))
	s := r.scheduler("after")
	s.step()
	wantIDs(t, "planned", slices.Concat(ticks("s", nine), before), r.planned())
	if want, got := 72*360-1, r.missed("s"); got != want {
		t.Errorf("missed: want %d, got %d", want, got)
	}
	if sum := r.sum(); sum.Created != 7 {
		t.Errorf("created: want 7, got %d", sum.Created)
	}
}
