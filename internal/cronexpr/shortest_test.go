package cronexpr

import (
	"testing"
	"time"

	"github.com/bide-go/bide/internal/duration"
)

func expressions(t testing.TB, texts ...string) *Set {
	t.Helper()
	var list []*Expression
	for _, text := range texts {
		e, err := Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, e)
	}
	return NewSet(nil, list...)
}

func TestShortest(t *testing.T) {
	tests := []struct {
		want  string
		texts []string
	}{
		{"1m", []string{"* * * * *"}},
		{"1s", []string{"* * * * * *"}},
		{"5m", []string{"*/5 8-18 * * MON-FRI"}},
		{"4m", []string{"*/7 * * * *"}},
		{"1m", []string{"0,59 * * * *"}},
		{"59m", []string{"0,59 */2 * * *"}},
		{"1m", []string{"0,59 0,23 * * *"}},
		{"59m", []string{"0,59 0,23 * * MON"}}, // midnight does not count: the day after has none
		{"10h", []string{"0 7,21 * * *"}},
		{"14h", []string{"0 7,21 * * MON"}},
		{"10h", []string{"0 7,21 * * MON,TUE"}},
		{"24h", []string{"30 1 * * *"}},
		{"168h", []string{"30 1 * * MON"}},
		{"72h", []string{"30 1 * * MON,THU"}},
		{"672h", []string{"0 0 1 * *"}},   // February
		{"24h", []string{"0 0 1,31 * *"}}, // 31 January and 1 February
		{"8760h", []string{"0 0 1 1 *"}},
		{"35064h", []string{"0 0 29 2 *"}}, // four years
		{"24h", []string{"0 0 13 * FRI"}},  // either day
		{"1h30m", []string{"@every 90m"}},
		{"2s", []string{"8,10 * * * * *"}},
		{"20s", []string{"10,50 * * * * *"}},
		// Sets.
		{"5m", []string{"0 12 * * *", "5 12 * * *"}},
		{"24h", []string{"0 12 * * *", "0 12 * * MON"}}, // the same instants
		{"2m", []string{"*/5 * * * *", "3 3 3 3 *"}},
		{"2m", []string{"3 3 3 3 *", "*/5 * * * *"}},
		{"1h", []string{"@every 24h", "0 1 * * *"}},
		{"5s", []string{"@every 15s", "@every 20s"}},
		{"10m", []string{"0 * 27 11 *", "*/10 * 28-30 11 *"}},
		{"1m", []string{"0 0 1 1 *", "59 23 31 12 *"}},
	}
	for _, tt := range tests {
		want, err := duration.Parse(tt.want)
		if err != nil {
			t.Fatal(err)
		}
		if got := expressions(t, tt.texts...).Shortest(); got != want {
			t.Errorf("%q: shortest is %v, want %v", tt.texts, got, want)
		}
	}
	if got := NewSet(nil).Shortest(); got != 0 {
		t.Errorf("without expressions: %v", got)
	}
}

// What Shortest says of one expression is what its instants of many years say.
func TestShortestAgreesWithNext(t *testing.T) {
	for _, text := range []string{
		"*/7 */5 * * *", "3,17,59 1,23 * * *", "0 4 1,15 * MON", "10 */6 */2 * *", "0 0 31 * 1-3", "0 22 28-31 2 *",
		"0 0 1-7 * 1", "59 23 * 1,12 *", "1,2 3 4 5 6", "0 0 1 */3 *", "30 10 5 5,10 * *",
	} {
		s := expressions(t, text)
		at := s.Next(time.Unix(intervalFrom, 0))
		best, end := time.Duration(0), at.AddDate(28, 0, 0)
		for n := 0; at.Before(end) && n < 60_000; n++ {
			next := s.Next(at)
			if d := next.Sub(at); best == 0 || d < best {
				best = d
			}
			at = next
		}
		if got := s.Shortest(); got != best {
			t.Errorf("%q: shortest is %v, its instants say %v", text, got, best)
		}
	}
}

// Around a clock change fixed times move together, and repeated ones of interval jobs
// come closer.
func TestShortestAroundClockChanges(t *testing.T) {
	for _, zone := range []string{"Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Asia/Kolkata"} {
		loc, err := time.LoadLocation(zone)
		if err != nil {
			t.Fatal(err)
		}
		for _, text := range []string{
			"30 2 * * *", "0 1,3 * * *", "50 1,2 * * *", "0 */2 * * *", "15,45 1-3 * * *", "*/20 2 * * *", "0 2 * * SUN", "@daily", "@every 2h",
			"45 1,2,3,4,5 * * *", "0 12 * * *",
		} {
			e, err := Parse(text)
			if err != nil {
				t.Fatal(err)
			}
			s := NewSet(loc, e)
			at := s.Next(time.Unix(changesFrom, 0))
			best := time.Duration(0)
			for at.Unix() < changesUntil {
				next := s.Next(at)
				if d := next.Sub(at); best == 0 || d < best {
					best = d
				}
				at = next
			}
			if got := s.Shortest(); got != best {
				t.Errorf("%q in %s: shortest is %v, its instants say %v", text, zone, got, best)
			}
		}
	}
}

func BenchmarkShortest(b *testing.B) {
	for name, texts := range map[string][]string{
		"one":   {"*/5 8-18 * * MON-FRI"},
		"rare":  {"0 0 * * 1"},
		"two":   {"0 * 27 11 *", "*/10 * 28-30 11 *"},
		"eight": {"1 1 1 * *", "2 2 2 * *", "3 3 3 * *", "4 4 4 * *", "5 5 5 * *", "6 6 6 * *", "7 7 7 * *", "8 8 8 * *"},
	} {
		s := expressions(b, texts...)
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				s.Shortest()
			}
		})
	}
}
