package scheduler

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/bide-go/bide/internal/timely"
	"github.com/bide-go/bide/job"
	"github.com/bide-go/bide/scripts"
)

func planOf(t testing.TB, d Definition) *plan {
	t.Helper()
	p, err := newPlan(d)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// at reads an instant, by its time of day on 30 November 2026 if it is short.
func at(t testing.TB, text string) time.Time {
	t.Helper()
	if !strings.Contains(text, "T") {
		text = "2026-11-30T" + text + "Z"
	}
	when, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		t.Fatal(err)
	}
	return when
}

func TestExpand(t *testing.T) {
	t.Parallel()
	suspended := every("s", "@every 1m")
	suspended.Suspend = true
	tests := map[string]struct {
		def         Definition
		cursor, now string
		want        string // ticks, blank-separated; "first..last step" for a series
		missed      int
		next        string // the cursor afterwards; as before if empty
	}{
		"first planning of a sparse schedule": {
			every("s", "30 1 * * *"), "09:00:00", "09:00:00", "2026-12-01T01:30:00Z", 0, "2026-12-01T01:30:00Z"},
		"at least the next tick, a year ahead": {
			every("s", "@yearly"), "2026-01-01T00:00:00Z", "2026-01-01T00:00:00Z", "2027-01-01T00:00:00Z", 0, "2027-01-01T00:00:00Z"},
		"the 29th of February is four years ahead": {
			every("s", "0 12 29 2 *"), "2024-02-29T12:00:00Z", "2024-02-29T12:00:01Z", "2028-02-29T12:00:00Z", 0, "2028-02-29T12:00:00Z"},
		"nothing more while the next tick is to come": {
			every("s", "30 1 * * *"), "2026-12-01T01:30:00Z", "09:00:00", "", 0, ""},
		"the tick itself is no longer the next one": {
			every("s", "30 1 * * *"), "2026-12-01T01:30:00Z", "2026-12-01T01:30:00Z", "2026-12-02T01:30:00Z", 0, "2026-12-02T01:30:00Z"},
		"first planning up to the horizon": {
			every("s", "@every 1s"), "09:00:00", "09:00:00", "09:00:01..09:01:00 1s", 0, "09:01:00"},
		"the horizon moves with a broken second": {
			every("s", "@every 1s"), "09:00:00", "09:00:00.7", "09:00:01..09:01:00 1s", 0, "09:01:00"},
		"half the horizon is left": {
			every("s", "@every 1s"), "09:00:30", "09:00:00", "", 0, ""},
		"less than half the horizon is left": {
			every("s", "@every 1s"), "09:00:29", "09:00:00", "09:00:30..09:01:00 1s", 0, "09:01:00"},
		"a minute schedule on the border of the horizon": {
			every("s", "* * * * *"), "09:00:00", "09:00:00", "09:01:00", 0, "09:01:00"},
		"and a moment before": {
			every("s", "* * * * *"), "09:00:00", "09:00:59.999", "09:01:00", 0, "09:01:00"},
		"no tick is due twice after the clock went back": {
			every("s", "@every 1s"), "09:05:00", "09:00:00", "", 0, ""},
		"a late tick is not missed yet": {
			every("s", "@every 1m"), "09:00:00", "09:01:29.999", "09:01:00 09:02:00", 0, "09:02:00"},
		"the newest missed one runs beside the late one": {
			every("s", "@every 1m"), "09:00:00", "09:10:10", "09:09:00 09:10:00 09:11:00", 8, "09:11:00"},
		"the newest missed one runs": {
			every("s", "@every 1m"), "09:00:00", "09:10:30", "09:10:00 09:11:00", 9, "09:11:00"},
		"a night out of an hourly schedule": {
			every("s", "0 * * * *"), "09:00:00", "19:20:00", "19:00:00", 9, "19:00:00"},
		"a daily tick missed by hours runs": {
			every("s", "0 2 * * *"), "2026-11-30T02:00:00Z", "2026-12-01T13:00:00Z", "2026-12-01T02:00:00Z", 0, "2026-12-01T02:00:00Z"},
		"suspended: counted, not planned": {suspended, "09:00:00", "09:10:10", "", 10, "09:10:00"},
		"suspended: nothing has passed":   {suspended, "09:10:00", "09:10:59", "", 0, ""},
		"a union runs once per instant": {
			every("s", "*/20 * * * * *", "*/30 * * * * *"), "09:00:00", "09:00:00", "09:00:20 09:00:30 09:00:40 09:01:00", 0, "09:01:00"},
		"a fixed time in the spring gap runs at its end": {
			Definition{Name: "s", Job: "tick", Schedule: []string{"30 2 * * *"}, TimeZone: "Europe/Berlin"},
			"2027-03-27T01:30:00Z", "2027-03-27T09:00:00Z", "2027-03-28T01:00:00Z", 0, "2027-03-28T01:00:00Z"},
		"and at its own time the day after": {
			Definition{Name: "s", Job: "tick", Schedule: []string{"30 2 * * *"}, TimeZone: "Europe/Berlin"},
			"2027-03-28T01:00:00Z", "2027-03-28T01:00:00Z", "2027-03-29T00:30:00Z", 0, "2027-03-29T00:30:00Z"},
		"a fixed time that is repeated runs in the first pass": {
			Definition{Name: "s", Job: "tick", Schedule: []string{"30 2 * * *"}, TimeZone: "Europe/Berlin"},
			"2026-10-24T00:30:00Z", "2026-10-24T09:00:00Z", "2026-10-25T00:30:00Z", 0, "2026-10-25T00:30:00Z"},
		"and not in the second": {
			Definition{Name: "s", Job: "tick", Schedule: []string{"30 2 * * *"}, TimeZone: "Europe/Berlin"},
			"2026-10-25T00:30:00Z", "2026-10-25T00:45:00Z", "2026-10-26T01:30:00Z", 0, "2026-10-26T01:30:00Z"},
		"an interval goes on through the repeated hour": {
			Definition{Name: "s", Job: "tick", Schedule: []string{"*/30 * * * *"}, TimeZone: "Europe/Berlin"},
			"2026-10-25T00:00:00Z", "2026-10-25T02:10:00Z", "2026-10-25T02:00:00Z", 3, "2026-10-25T02:00:00Z"},
		"an interval that its zone skips every year never fires": {
			Definition{Name: "s", Job: "tick", Schedule: []string{"*/5 2 8-14 3 */7"}, TimeZone: "America/New_York"},
			"09:00:00", "09:00:00", "", 0, ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := planOf(t, tt.def)
			p.cursor = at(t, tt.cursor).UnixMilli()
			var want []string
			if from, rest, ok := strings.Cut(tt.want, ".."); ok {
				to, step, _ := strings.Cut(rest, " ")
				d, _ := time.ParseDuration(step)
				want = ticks("s", series(at(t, from), at(t, to), d)...)
			} else {
				for _, text := range strings.Fields(tt.want) {
					want = append(want, ticks("s", at(t, text))...)
				}
			}
			wantNext := p.cursor
			if tt.next != "" {
				wantNext = at(t, tt.next).UnixMilli()
			}
			e, ok := p.expand(at(t, tt.now))
			var got []string
			for _, n := range e.Ticks {
				got = append(got, n.ID)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("ticks (-want +got):\n%s", diff)
			}
			if e.Missed != tt.missed {
				t.Errorf("missed: want %d, got %d", tt.missed, e.Missed)
			}
			if e.Next != wantNext || e.Cursor != p.cursor {
				t.Errorf("cursor: want %v, got %v", time.UnixMilli(wantNext).UTC(), time.UnixMilli(e.Next).UTC())
			}
			if wantOK := tt.next != ""; ok != wantOK {
				t.Errorf("something to do: want %v, got %v", wantOK, ok)
			}
		})
	}
}

func TestSuperseded(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ expression, tick, want string }{
		{"@every 1s", "09:00:00", "09:00:01.5"},
		{"@every 10s", "09:00:00", "09:00:15"},
		{"* * * * *", "09:00:00", "09:01:30"},
		{"@every 2m", "09:00:00", "09:03:00"},
		{"0 * * * *", "09:00:00", "10:01:00"},
		{"@daily", "00:00:00", "2026-12-01T00:01:00Z"},
		{"0 9,10 * * *", "10:00:00", "2026-12-01T09:01:00Z"}, // a long pause after this tick
		{"0,1 10 * * *", "09:00:00", "10:00:30"},             // a short one after the next
		{"59 23 31 12 *", "2026-12-31T23:59:00Z", "2028-01-01T00:00:00Z"},
	} {
		t.Run(tt.expression, func(t *testing.T) {
			t.Parallel()
			if got := planOf(t, every("s", tt.expression)).superseded(at(t, tt.tick)); !got.Equal(at(t, tt.want)) {
				t.Errorf("want %s, got %s", tt.want, got)
			}
		})
	}
	t.Run("no tick follows", func(t *testing.T) {
		t.Parallel()
		last := time.Unix(1<<41, 0) // beyond what expressions look at
		if got := planOf(t, every("s", "@daily")).superseded(last); !got.IsZero() {
			t.Errorf("want none, got %v", got)
		}
	})
}

func TestThreeDaysOfSecondsAreSettledInBoundedCalls(t *testing.T) {
	t.Parallel()
	for _, expression := range []string{"@every 1s", "* * * * * *"} {
		t.Run(expression, func(t *testing.T) { t.Parallel(); threeDays(t, expression) })
	}
}

func threeDays(t *testing.T, expression string) {
	p := planOf(t, every("s", expression))
	now := nine.Add(700 * time.Millisecond)
	p.cursor = nine.Add(-72 * time.Hour).UnixMilli()
	calls, missed := 0, 0
	var planned []string
	for {
		e, ok := p.expand(now)
		if !ok {
			break
		}
		if n := e.Missed + len(e.Ticks); n > mostMissed && p.every == 0 || len(e.Ticks) > mostTicks {
			t.Fatalf("one call settles %d ticks and plans %d", n, len(e.Ticks))
		}
		if want := min(e.Missed, DefaultHistory.Failed); len(e.Noted) != want {
			t.Errorf("%d ticks are noted, want %d", len(e.Noted), want)
		}
		for _, n := range e.Ticks {
			planned = append(planned, n.ID)
		}
		calls++
		missed += e.Missed
		p.cursor = e.Next
	}
	if want := 72*3600 - 1; missed != want {
		t.Errorf("missed: want %d, got %d", want, missed)
	}
	if diff := cmp.Diff(ticks("s", series(nine, nine.Add(time.Minute), time.Second)...), planned); diff != "" {
		t.Errorf("planned (-want +got):\n%s", diff)
	}
	if calls > 20 || p.every > 0 && calls > 2 {
		t.Errorf("%d calls", calls)
	}
}

// TestEveryTickIsPlannedOnceOrCounted jumps through time at random: between two
// cursors each tick has been planned exactly once or counted as missed.
func TestEveryTickIsPlannedOnceOrCounted(t *testing.T) {
	t.Parallel()
	shapes := []Definition{
		every("s", "@every 1s"), every("s", "@every 7s"), every("s", "@every 45s"), every("s", "*/7 * * * * *", "*/10 * * * * *"),
		every("s", "* * * * *"), every("s", "*/5 8-18 * * MON-FRI"), every("s", "0 0 1 * *"), every("s", "@yearly", "0 12 29 2 *"),
		{Name: "s", Job: "tick", Schedule: []string{"30 2 * * *", "*/20 * * * *"}, TimeZone: "Europe/Berlin"},
		{Name: "s", Job: "tick", Schedule: []string{"15 2 * * *"}, TimeZone: "America/New_York"},
		{Name: "s", Job: "tick", Schedule: []string{"@every 3s"}, Suspend: true},
	}
	starts := []time.Time{nine, time.Date(2026, 10, 24, 23, 0, 0, 0, time.UTC), time.Date(2027, 3, 27, 23, 59, 59, 9e8, time.UTC)}
	for _, def := range shapes {
		t.Run(strings.Join(def.Schedule, " and "), func(t *testing.T) {
			t.Parallel()
			rapid.Check(t, func(t *rapid.T) {
				p, err := newPlan(def)
				if err != nil {
					t.Fatal(err)
				}
				now := rapid.SampledFrom(starts).Draw(t, "start")
				p.cursor = now.UnixMilli()
				for range rapid.IntRange(1, 12).Draw(t, "steps") {
					unit := rapid.SampledFrom([]time.Duration{time.Millisecond, 100 * time.Millisecond, time.Second, time.Minute, 20 * time.Minute}).Draw(t, "unit")
					// The clock of Redis may step back a little, too.
					now = now.Add(time.Duration(rapid.IntRange(-3, 100).Draw(t, "jump")) * unit)
					done := false
					for calls := rapid.IntRange(0, 40).Draw(t, "calls"); !done && calls > 0; calls-- {
						done = !checkExpansion(t, p, now)
					}
					if done {
						checkPlannedAhead(t, p, now)
					}
				}
			})
		})
	}
}

// checkExpansion makes one expansion and checks it against the bare list of ticks.
func checkExpansion(t *rapid.T, p *plan, now time.Time) bool {
	e, ok := p.expand(now)
	if e.Cursor != p.cursor || e.Next < e.Cursor || ok != (e.Next != e.Cursor) {
		t.Fatalf("cursor %d became %d, more %v", e.Cursor, e.Next, ok)
	}
	planned := map[int64]bool{}
	for _, n := range e.Ticks {
		if planned[n.Tick.UnixMilli()] {
			t.Fatalf("%s is planned twice", n.ID)
		}
		planned[n.Tick.UnixMilli()] = true
	}
	all := 0
	for tick := p.next(time.UnixMilli(e.Cursor)); !tick.IsZero() && tick.UnixMilli() <= e.Next; tick = p.next(tick) {
		all++
		following := p.next(tick)
		newest := following.IsZero() || following.After(now)
		switch is := planned[tick.UnixMilli()]; {
		case is && p.def.Suspend:
			t.Fatalf("%v is planned of a suspended schedule", tick)
		case !is && tick.After(now):
			t.Fatalf("%v is counted as missed at %v", tick, now)
		case !is && newest && !p.def.Suspend && p.deadline(tick).After(now):
			t.Fatalf("the newest missed tick %v does not run at %v", tick, now)
		}
	}
	if all != len(e.Ticks)+e.Missed || all > mostMissed && p.every == 0 || len(e.Ticks) > mostTicks {
		t.Fatalf("of %d ticks %d were planned and %d counted", all, len(e.Ticks), e.Missed)
	}
	p.cursor = e.Next
	return ok
}

// checkPlannedAhead checks what holds once there is nothing more to do.
func checkPlannedAhead(t *rapid.T, p *plan, now time.Time) {
	first := p.next(time.UnixMilli(p.cursor))
	if p.def.Suspend {
		if !first.After(now) {
			t.Fatalf("%v has passed uncounted", first)
		}
		return
	}
	if p.cursor <= now.UnixMilli() || !first.After(now.Add(horizon/2)) {
		t.Fatalf("at %v only %v is planned and the next is %v", now, time.UnixMilli(p.cursor), first)
	}
}

func TestJobOfATick(t *testing.T) {
	t.Parallel()
	d := Definition{
		Name: "nightly", Schedule: []string{"30 1 * * *"}, TimeZone: "Europe/Berlin", Queue: "low", Job: "report", Args: json.RawMessage(`{"n":12345678901234567}`),
		Timeout: 2 * time.Hour, MaxAttempts: 7, MinBackoff: 2 * time.Second, MaxBackoff: time.Minute, StartingDeadline: 48 * time.Hour,
	}
	p := planOf(t, d)
	p.incarnation = "3"
	tick := time.Date(2026, 12, 1, 0, 30, 0, 0, time.UTC)
	superseded := tick.Add(24*time.Hour + time.Minute)
	want := scripts.NewJob{
		ID: "nightly@2026-12-01T00:30:00Z", Queue: "low", Name: "report", Args: d.Args, Trigger: job.TriggerSchedule, At: tick,
		MaxAttempts: 7, Timeout: 2 * time.Hour, MinBackoff: 2 * time.Second, MaxBackoff: time.Minute,
		Schedule: "nightly", Incarnation: "3", Tick: tick, Superseded: superseded, Next: tick.Add(24 * time.Hour), Own: true,
		Expiry: tick.Add(48 * time.Hour),
	}
	if diff := cmp.Diff(want, p.job(p.next(nine), p.next(p.next(nine)), p.superseded(tick))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	d.Queue = ""
	if got := planOf(t, d).job(tick, tick, superseded).Queue; got != job.DefaultQueue {
		t.Errorf("queue: want %q, got %q", job.DefaultQueue, got)
	}
}

func TestValidateNamesAllThatIsWrong(t *testing.T) {
	t.Parallel()
	if err := every("fine", "@daily").Validate(); err != nil {
		t.Error(err)
	}
	bad := Definition{Name: "Bad Name", Job: "bad job", Queue: "x-delayed", TimeZone: "Mars/Olympus", Args: json.RawMessage("{"), Schedule: []string{"61 * * * *", "@daily"}}
	err := bad.Validate()
	if err == nil {
		t.Fatal("it is accepted")
	}
	for _, part := range []string{"Bad Name", "bad job", "x-delayed", "Mars/Olympus", "args", "61"} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("%q is not in %q", part, err)
		}
	}
	if err := (Definition{Name: "empty", Job: "j"}).Validate(); err == nil {
		t.Error("a definition without an expression is accepted")
	}
}

func TestNextOfADefinition(t *testing.T) {
	t.Parallel()
	d := Definition{Name: "s", Job: "j", Schedule: []string{"30 1 * * *"}, TimeZone: "Europe/Berlin", Suspend: true}
	next, err := d.Next(nine)
	if want := "2026-12-01T01:30:00+01:00"; err != nil || next.Format(time.RFC3339) != want {
		t.Errorf("want %s, got %v, %v", want, next, err)
	}
	d.Schedule = []string{"never"}
	if _, err := d.Next(nine); err == nil {
		t.Error("an unreadable expression has a next tick")
	}
}

func TestSameness(t *testing.T) {
	t.Parallel()
	base := func() Definition {
		return Definition{
			Name: "s", Job: "j", Schedule: []string{"@daily", "@hourly"}, TimeZone: "UTC", Queue: "high", Args: json.RawMessage(`{"a": [1, 2]}`),
			Labels: map[string]string{"team": "web"}, File: "a.yaml", Line: 3,
		}
	}
	for name, tt := range map[string]struct {
		edit        func(*Definition)
		same, times bool
	}{
		"nothing":      {func(*Definition) {}, true, true},
		"file, line":   {func(d *Definition) { d.File, d.Line = "b.yaml", 99 }, true, true},
		"args layout":  {func(d *Definition) { d.Args = json.RawMessage(`{"a":[1,2]}`) }, true, true},
		"args":         {func(d *Definition) { d.Args = json.RawMessage(`{"a":[1,3]}`) }, false, true},
		"job":          {func(d *Definition) { d.Job = "k" }, false, true},
		"queue":        {func(d *Definition) { d.Queue = "low" }, false, true},
		"timeout":      {func(d *Definition) { d.Timeout = 1 }, false, true},
		"attempts":     {func(d *Definition) { d.MaxAttempts = 9 }, false, true},
		"min back-off": {func(d *Definition) { d.MinBackoff = 1 }, false, true},
		"max back-off": {func(d *Definition) { d.MaxBackoff = 1 }, false, true},
		"description":  {func(d *Definition) { d.Description = "x" }, false, true},
		"owner":        {func(d *Definition) { d.Owner = "x" }, false, true},
		"runbook":      {func(d *Definition) { d.Runbook = "x" }, false, true},
		"labels":       {func(d *Definition) { d.Labels["team"] = "db" }, false, true},
		"expression":   {func(d *Definition) { d.Schedule[0] = "@weekly" }, false, false},
		"expressions":  {func(d *Definition) { d.Schedule = d.Schedule[:1] }, false, false},
		"zone":         {func(d *Definition) { d.TimeZone = "Asia/Tokyo" }, false, false},
		"suspend":      {func(d *Definition) { d.Suspend = true }, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a, b := base(), base()
			tt.edit(&b)
			if got := same(a, b); got != tt.same {
				t.Errorf("same: want %v, got %v", tt.same, got)
			}
			if got := sameTimes(a, b); got != tt.times {
				t.Errorf("same times: want %v, got %v", tt.times, got)
			}
			back, err := decodeDefinition(b.encode())
			if err != nil || !same(b, back) || back.File != b.File || back.Line != b.Line {
				t.Errorf("encoded and decoded: want %+v, got %+v, %v", b, back, err)
			}
		})
	}
	none, null := base(), base()
	none.Args, null.Args = nil, json.RawMessage("null")
	if !same(none, null) {
		t.Error("no args and null are not the same")
	}
}

// A never firing schedule is asked on every pass, so it must be cheap to ask.
func TestAskingANeverFiringScheduleIsCheap(t *testing.T) {
	t.Parallel()
	p := planOf(t, Definition{Name: "s", Job: "j", Schedule: []string{"*/5 2 8-14 3 */7"}, TimeZone: "America/New_York"})
	p.cursor = nine.UnixMilli()
	began := time.Now()
	if e, ok := p.expand(nine); ok {
		t.Errorf("it has something to plan: %+v", e)
	}
	if took := time.Since(began); took > timely.Limit(200*time.Millisecond) {
		t.Errorf("it took %v", took)
	}
}
