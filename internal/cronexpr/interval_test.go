package cronexpr

import (
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestIntervals(t *testing.T) {
	t.Parallel()
	const day = 24 * time.Hour
	now := time.Date(2026, 11, 30, 0, 0, 0, 0, time.UTC)
	for _, tt := range []struct {
		text, zone        string
		shortest, longest time.Duration
	}{
		{"* * * * * *", "Europe/Berlin", time.Second, time.Second},
		{"@every 7m", "Europe/Berlin", 7 * time.Minute, 7 * time.Minute},
		{"*/5 * * * *", "Europe/Berlin", 5 * time.Minute, 5 * time.Minute},
		{"*/7 * * * *", "UTC", 4 * time.Minute, 7 * time.Minute},
		{"*/5 8-18 * * MON-FRI", "UTC", 5 * time.Minute, 2*day + 13*time.Hour + 5*time.Minute},
		{"30 1 * * *", "UTC", day, day},
		{"30 1 * * *", "Europe/Berlin", 23 * time.Hour, 25 * time.Hour},
		{"30 2 * * *", "Europe/Berlin", 23*time.Hour + 30*time.Minute, 25 * time.Hour},
		{"0 2 * * *", "Europe/Berlin", 23 * time.Hour, 25 * time.Hour},
		{"30 2 * * SUN", "Europe/Berlin", 167*time.Hour + 30*time.Minute, 169 * time.Hour},
		{"30 2 28 3 *", "Europe/Berlin", 365*day - 30*time.Minute, 366 * day},
		{"* 2 * * *", "Europe/Berlin", time.Minute, 46*time.Hour + time.Minute},
		{"0 0 1 * *", "UTC", 28 * day, 31 * day},
		{"0 0 31 * *", "UTC", 31 * day, 61 * day},
		{"0 0 29 2 *", "UTC", 4*365*day + day, 8*365*day + day},
	} {
		e, err := Parse(tt.text)
		if err != nil {
			t.Fatal(err)
		}
		shortest, longest := e.Intervals(loadZone(t, tt.zone), now)
		if shortest != tt.shortest || longest != tt.longest {
			t.Errorf("%q in %s: %s to %s, want %s to %s", tt.text, tt.zone, shortest, longest, tt.shortest, tt.longest)
		}
	}
}

// No pause between two runs is outside of the bounds, in the years looked at.
func TestIntervalsHoldForAllRuns(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 30, 0, 0, 0, 0, time.UTC)
	zones := []string{"UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "America/Nuuk", "Africa/Casablanca"}
	rapid.Check(t, func(t *rapid.T) {
		e := anyExpression(t)
		loc, err := time.LoadLocation(rapid.SampledFrom(zones).Draw(t, "zone"))
		if err != nil {
			t.Fatal(err)
		}
		shortest, longest := e.Intervals(loc, now)
		at := e.Next(now.Add(time.Duration(rapid.Int64Range(0, 17_000).Draw(t, "hours"))*time.Hour), loc)
		for range 300 {
			next := e.Next(at, loc)
			if next.IsZero() || next.After(now.AddDate(2, 0, 0)) {
				return
			}
			if d := next.Sub(at); d < shortest || d > longest {
				t.Fatalf("%q in %s: %s between %s and %s, outside of %s to %s", e, loc, d, at, next, shortest, longest)
			}
			at = next
		}
	})
}
