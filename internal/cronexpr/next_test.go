package cronexpr

import (
	"errors"
	"math"
	"testing"
	"time"

	"github.com/bide-go/bide/internal/timely"
)

func parseOK(t testing.TB, text string) *Expression {
	t.Helper()
	e, err := Parse(text)
	if err != nil {
		t.Fatalf("Parse(%q): %v", text, err)
	}
	return e
}

func TestNextEndsWhereTheZoneSkipsEveryRun(t *testing.T) {
	t.Parallel()
	// New York's clocks skip 02:00 on the second Sunday of every March. An interval
	// job gets nothing for it, a fixed job its make-up run.
	loc := loadZone(t, "America/New_York")
	from := time.Date(2025, 1, 1, 0, 0, 0, 0, loc)

	began := time.Now()
	if got := parseOK(t, "*/5 2 8-14 3 */7").Next(from, loc); !got.IsZero() {
		t.Errorf("interval job: got %s, want the zero time", got)
	}
	if took := time.Since(began); took > timely.Limit(time.Second) {
		t.Errorf("the search took %v", took)
	}
	want := time.Date(2025, 3, 9, 3, 0, 0, 0, loc)
	if got := parseOK(t, "5 2 8-14 3 */7").Next(from, loc); !got.Equal(want) {
		t.Errorf("fixed job: got %s, want %s", got, want)
	}
}

func TestNextAtTheEdges(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"* * * * *", "* * * * * *", "30 2 29 2 */7", "@every 1s", "@every 106751d", "0 0 1 1 *"} {
		e := parseOK(t, text)
		for _, after := range []time.Time{
			{}, time.Unix(math.MaxInt64, 999999999), time.Unix(math.MinInt64, 0), time.Unix(farAway, 0), time.Unix(farAway+1, 0),
			time.Unix(-farAway, 0), time.Unix(-farAway-1, 0), time.Unix(-1, 999999999), time.Unix(0, 0),
			time.Date(9999, 12, 31, 23, 59, 59, 999999999, time.UTC), time.Date(4, 2, 29, 0, 0, 0, 0, time.UTC),
		} {
			got := e.Next(after, nil)
			if got.IsZero() {
				if s := after.Unix(); -farAway <= s && s <= farAway {
					t.Errorf("%q after %s never fires", text, after)
				}
				continue
			}
			if !got.After(after) || got.Nanosecond() != 0 || got.Location() != time.UTC {
				t.Errorf("%q after %s: got %s", text, after, got)
			}
		}
	}
}

func TestEveryIsAnchoredToTheEpoch(t *testing.T) {
	t.Parallel()
	e := parseOK(t, "@every 1w")
	for _, tt := range []struct{ after, want string }{
		{"1970-01-01T00:00:00Z", "1970-01-08T00:00:00Z"},
		{"1969-12-31T23:59:59.5Z", "1970-01-01T00:00:00Z"},
		{"1969-12-20T00:00:00Z", "1969-12-25T00:00:00Z"},
		{"2026-11-30T09:00:00Z", "2026-12-03T00:00:00Z"},
	} {
		after, err := time.Parse(time.RFC3339, tt.after)
		if err != nil {
			t.Fatal(err)
		}
		if got := e.Next(after, nil).Format(time.RFC3339Nano); got != tt.want {
			t.Errorf("after %s: got %s, want %s", tt.after, got, tt.want)
		}
	}
}

func TestNextBetweenCloseChanges(t *testing.T) {
	t.Parallel()
	// Freetown moved its clocks by twenty minutes for less than four days in
	// September 1939: the closest pair of changes in the database.
	loc := loadZone(t, "Africa/Freetown")
	from := time.Date(1939, 8, 31, 12, 0, 0, 0, time.UTC)
	got := parseOK(t, "50 0 1,5 9 *").Next(from, loc)
	want := "1939-09-01T00:50:00-00:40"
	if got.Format(time.RFC3339) != want {
		t.Errorf("got %s, want %s", got.Format(time.RFC3339), want)
	}
}

func TestSet(t *testing.T) {
	t.Parallel()
	loc := loadZone(t, "Europe/Berlin")
	set := NewSet(loc, parseOK(t, "0 * 27 11 *"), parseOK(t, "*/30 * 27 11 *"), parseOK(t, "0 12 28 11 *"), parseOK(t, "@yearly"))
	after := time.Date(2026, 11, 27, 22, 30, 0, 0, loc)
	for _, want := range []string{
		"2026-11-27T23:00:00+01:00", // of two expressions, once
		"2026-11-27T23:30:00+01:00",
		"2026-11-28T12:00:00+01:00",
		"2027-01-01T00:00:00+01:00",
		"2027-11-27T00:00:00+01:00",
	} {
		after = set.Next(after)
		if got := after.Format(time.RFC3339); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

func TestSetWithoutRuns(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 27, 0, 0, 0, 0, time.UTC)
	if got := NewSet(nil).Next(now); !got.IsZero() {
		t.Errorf("the empty set fires at %s", got)
	}
	loc := loadZone(t, "America/New_York")
	never, daily := parseOK(t, "*/5 2 8-14 3 */7"), parseOK(t, "@daily")
	for _, set := range []*Set{NewSet(loc, never, daily), NewSet(loc, daily, never)} {
		if got, want := set.Next(now), daily.Next(now, loc); !got.Equal(want) {
			t.Errorf("got %s, want %s", got, want)
		}
	}
	if got := NewSet(nil, daily).Next(now); got.Location() != time.UTC {
		t.Errorf("the zone of %s is not UTC", got)
	}
}

func FuzzParse(f *testing.F) {
	for _, v := range readVectors(f) {
		f.Add(v.Spec, v.From.Unix(), byte(len(v.ID)))
	}
	f.Add("*/5 2 8-14 3 */7", int64(1735689600), byte(4))
	f.Add("@every 106751d", int64(math.MaxInt64), byte(0))
	var zones []*time.Location
	for _, place := range oddPlaces {
		zones = append(zones, loadZone(f, place.zone))
	}
	f.Fuzz(func(t *testing.T, text string, unix int64, zone byte) {
		e, err := Parse(text)
		if err != nil {
			var bad *Error
			switch {
			case !errors.As(err, &bad) || bad.Message == "" || bad.Code == "":
				t.Fatalf("Parse(%q): unhelpful error %#v", text, err)
			case bad.Offset < 0 || bad.Length < 0 || bad.Offset+bad.Length > len(text):
				t.Fatalf("Parse(%q): marks [%d:+%d] of %d bytes", text, bad.Offset, bad.Length, len(text))
			}
			return
		}
		if again, err := Parse(e.Text()); err != nil || again.Text() != e.Text() {
			t.Fatalf("Parse(%q).Text() = %q does not come back: %v", text, e.Text(), err)
		}
		loc, after := zones[int(zone)%len(zones)], time.Unix(unix, 0)
		e.Warnings(loc, after)
		for range 3 {
			next := e.Next(after, loc)
			if next.IsZero() {
				break
			}
			if !next.After(after) || next.Nanosecond() != 0 || next.Location() != loc {
				t.Fatalf("%q in %s after %s: next is %s", text, loc, after, next)
			}
			after = next
		}
	})
}

func BenchmarkNext(b *testing.B) {
	for _, bm := range []struct{ name, text, zone, after string }{
		{"minute", "* * * * *", "Europe/Berlin", "2026-11-30T09:00:00Z"},
		{"daily", "30 1 * * *", "Europe/Berlin", "2026-11-30T09:00:00Z"},
		{"weekdays", "*/5 8-18 * * MON-FRI", "America/New_York", "2026-11-28T09:00:00Z"},
		{"monthly", "0 0 1 * *", "Europe/Berlin", "2026-11-02T09:00:00Z"},
		{"gap", "30 2 * * *", "Europe/Berlin", "2026-03-28T12:00:00Z"},
		{"yearly2050", "0 0 1 1 *", "America/New_York", "2050-02-01T00:00:00Z"},
		{"leapday", "0 0 29 2 *", "Europe/Berlin", "2096-02-29T12:00:00Z"},
		{"leapday-sunday", "0 0 29 2 */7", "Europe/Berlin", "2088-02-29T12:00:00Z"},
		{"never-in-zone", "*/5 2 8-14 3 */7", "America/New_York", "2026-01-01T00:00:00Z"},
		{"every", "@every 30s", "Europe/Berlin", "2026-11-30T09:00:00Z"},
	} {
		b.Run(bm.name, func(b *testing.B) {
			e, loc := parseOK(b, bm.text), loadZone(b, bm.zone)
			after, err := time.Parse(time.RFC3339, bm.after)
			if err != nil {
				b.Fatal(err)
			}
			for b.Loop() {
				e.Next(after, loc)
			}
		})
	}
}
