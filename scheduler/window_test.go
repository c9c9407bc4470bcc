package scheduler

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bide-go/bide/job"
)

func TestUpcoming(t *testing.T) {
	t.Parallel()
	d := every("s", "@every 10s")
	d.Jitter, d.StartAt, d.EndAt = 9*time.Second, sec(15), sec(50)
	got, err := d.Upcoming(nine, time.Time{}, 100)
	if err != nil || len(got) != 4 || !got[0].Tick.Equal(sec(20)) || !got[3].Tick.Equal(sec(50)) {
		t.Fatalf("%v, %v", got, err)
	}
	for _, tick := range got {
		if tick.Jitter < 0 || tick.Jitter >= d.Jitter || !tick.Due.Equal(tick.Tick.Add(tick.Jitter)) {
			t.Errorf("%+v", tick)
		}
	}
	again, _ := d.Upcoming(sec(20), sec(40), 100) // from the first instant, to before the last
	if len(again) != 2 || again[0] != got[0] || again[1] != got[1] {
		t.Errorf("%v", again)
	}
	if got, _ := d.Upcoming(sec(51), time.Time{}, 1); got == nil || len(got) != 0 {
		t.Errorf("after the end: %v", got)
	}
	if _, err := every("s", "x").Upcoming(nine, nine, 1); err == nil {
		t.Error("an unreadable expression has ticks")
	}
}

// The shares of a jitter are spread evenly, fixed, and not the same for all schedules.
func TestJitterIsSpread(t *testing.T) {
	t.Parallel()
	var sum time.Duration
	same := 0
	for i := range 1000 {
		d, other := every("s", "@every 1m"), every("t", "@every 1m")
		d.Jitter, other.Jitter = 40*time.Second, 40*time.Second
		tick := nine.Add(time.Duration(i) * time.Minute)
		share := planOf(t, d).jitter(tick)
		if share != planOf(t, d).jitter(tick.In(time.FixedZone("x", 3600))) {
			t.Fatal("it depends on the zone")
		}
		if share == planOf(t, other).jitter(tick) {
			same++
		}
		sum += share
	}
	if mean := sum / 1000; mean < 18*time.Second || mean > 22*time.Second || same > 5 {
		t.Errorf("mean %v, %d equal", mean, same)
	}
}

// With jitter a tick keeps its name and is due later, for whoever plans it; an edit
// between the two swallows and repeats nothing.
func TestJitterOfPlannedTicks(t *testing.T) {
	t.Parallel()
	d := every("s", "@every 10s")
	d.Jitter = 9 * time.Second
	s := newStage(t, d, 0)
	share := planOf(t, d).jitter(sec(10))
	if j := s.get(ticks("s", sec(10))[0]); !j.Tick.Equal(sec(10)) || !j.Due.Equal(sec(10).Add(share)) {
		t.Errorf("%+v", j)
	}
	s.rig.at(sec(10))
	d.Schedule = []string{"@every 5s"}
	d.Jitter = time.Second
	s.sched.apply(d)
	s.play(sec(26))
	want := slices.Sorted(slices.Values(ticks("s", seconds(10, 15, 20, 25)...)))
	wantIDs(t, "begun", want, slices.Sorted(slices.Values(s.begun)))
}

func TestWindow(t *testing.T) {
	t.Parallel()
	d := every("s", "@every 10s")
	d.StartAt, d.EndAt = sec(20), sec(40)
	s := newStage(t, d, 0)
	s.play(sec(60))
	wantIDs(t, "begun", ticks("s", seconds(20, 30, 40)...), s.begun)
	if s.count("missed") != 0 {
		t.Error("ticks outside of the window are counted")
	}
}

func TestPoliciesAreValidated(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		edit  func(*Definition)
		field string // that is wrong
		says  string
	}{
		"policy":          {func(d *Definition) { d.ConcurrencyPolicy = "forbid" }, "concurrencyPolicy", "Allow, Forbid, Replace or Queue"},
		"catch up":        {func(d *Definition) { d.CatchUp = "Every" }, "catchUp", "Skip, Latest or All"},
		"deadline":        {func(d *Definition) { d.StartingDeadline = time.Millisecond }, "startingDeadline", "at least 1s"},
		"negative jitter": {func(d *Definition) { d.Jitter = -1 }, "jitter", "negative"},
		"jitter":          {func(d *Definition) { d.Jitter = time.Minute }, "jitter", "1m"},
		"jitter below":    {func(d *Definition) { d.Jitter = time.Minute - 1 }, "", ""},
		"jitter of a union": {func(d *Definition) {
			d.Schedule, d.Jitter = []string{"0 * * * *", "10 3 1 * *"}, 15*time.Minute
		}, "jitter", "10m"},
		"jitter beyond the deadline": {func(d *Definition) { d.Jitter, d.StartingDeadline = 30*time.Second, 20*time.Second }, "jitter", "startingDeadline"},
		"history":                    {func(d *Definition) { d.History = &History{Failed: 1001} }, "history", "0 to 1000"},
		"no history":                 {func(d *Definition) { d.History = &History{} }, "", ""},
		"pause":                      {func(d *Definition) { d.PauseAfterFailures = -1 }, "pauseAfterFailures", "0 to"},
		"end":                        {func(d *Definition) { d.StartAt, d.EndAt = sec(2), sec(1) }, "endAt", "before startAt"},
		"empty window":               {func(d *Definition) { d.StartAt, d.EndAt = sec(1), sec(59) }, "endAt", "no tick"},
		"window":                     {func(d *Definition) { d.StartAt, d.EndAt = sec(1), sec(60) }, "", ""},
		"ended already":              {func(d *Definition) { d.EndAt = nine.Add(-time.Hour) }, "", ""},
		"begun":                      {func(d *Definition) { d.StartAt = nine.Add(-time.Hour) }, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := every("s", "* * * * *")
			tt.edit(&d)
			err := d.Validate()
			var invalid *job.InvalidError
			switch {
			case tt.field == "" && err != nil:
				t.Error(err)
			case tt.field != "" && (!errors.As(err, &invalid) || invalid.Field != tt.field || !strings.Contains(err.Error(), tt.says)):
				t.Errorf("%v", err)
			}
			back, err := decodeDefinition(d.encode())
			if err != nil || !same(d, back) {
				t.Errorf("encoded and decoded: %+v, %v", back, err)
			}
		})
	}
}
