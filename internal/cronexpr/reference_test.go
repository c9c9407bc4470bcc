package cronexpr

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// A reference is a second implementation of the rules that is slow and plain: it
// has its own reading of a drawn expression and looks at every minute (every
// second, with six fields) through package time. It knows nothing of wall seconds,
// bit sets or probing.
type reference struct {
	text          string
	values        [fieldCount][]int
	domStar       bool
	dowStar       bool
	fixed, second bool
}

// matches reports whether the clock of t shows a time of the expression.
func (r *reference) matches(t time.Time) bool {
	in := func(index, value int) bool { return slices.Contains(r.values[index], value) }
	if !in(secondField, t.Second()) || !in(minuteField, t.Minute()) || !in(hourField, t.Hour()) || !in(monthField, int(t.Month())) {
		return false
	}
	dom, dow := in(domField, t.Day()), in(dowField, int(t.Weekday()))
	if r.domStar || r.dowStar {
		return dom && dow
	}
	return dom || dow
}

// next searches (after, until] and returns the zero time if nothing fires there.
func (r *reference) next(after, until time.Time, loc *time.Location) time.Time {
	step := time.Minute
	if r.second {
		step = time.Second
	}
	t := after.Truncate(step) // zone offsets are whole minutes in the years drawn
	for t = t.Add(step); !t.After(until); t = t.Add(step) {
		if r.fires(t.In(loc), step) {
			return t.In(loc)
		}
	}
	return time.Time{}
}

func (r *reference) fires(t time.Time, step time.Duration) bool {
	if !r.fixed {
		return r.matches(t)
	}
	before := t.Add(-time.Second)
	if gap := offset(t) - offset(before); gap > 0 && gap < 3*time.Hour {
		// The clock jumped here: what would it have shown?
		old := time.FixedZone("", int(offset(before)/time.Second))
		for skipped := time.Duration(0); skipped < gap; skipped += step {
			if r.matches(t.In(old).Add(skipped)) {
				return true
			}
		}
	}
	if !r.matches(t) {
		return false
	}
	// The same clock reading less than three hours ago makes this the second one.
	for back := time.Minute; back < 3*time.Hour; back += time.Minute {
		if earlier := t.Add(-back); earlier.Format(time.DateTime) == t.Format(time.DateTime) {
			return false
		}
	}
	return true
}

func offset(t time.Time) time.Duration {
	_, seconds := t.Zone()
	return time.Duration(seconds) * time.Second
}

// drawExpression builds an expression from items whose meaning it notes down.
func drawExpression(t *rapid.T) *reference {
	r := &reference{fixed: true, second: rapid.IntRange(0, 4).Draw(t, "six fields") == 0}
	// Most of them at fixed times: those are the ones with rules of their own.
	plain := rapid.IntRange(0, 2).Draw(t, "plain") > 0
	r.values[secondField] = []int{0}
	var texts []string
	for index := range specs {
		if index == secondField && !r.second {
			continue
		}
		text, values := drawField(t, index, plain)
		r.values[index] = values
		texts = append(texts, text)
		star := text[0] == '*' || text == "?"
		switch index {
		case minuteField, hourField:
			r.fixed = r.fixed && !strings.ContainsAny(text, "*/")
		case domField:
			r.domStar = star
		case dowField:
			r.dowStar = star
		}
	}
	r.text = strings.Join(texts, " ")
	return r
}

func drawField(t *rapid.T, index int, plain bool) (string, []int) {
	low := []int{0, 0, 0, 1, 1, 0}[index]
	high := []int{59, 59, 23, 31, 12, 7}[index]
	name := []string{"second", "minute", "hour", "dom", "month", "dow"}[index]
	// Mostly stars in the coarse fields, so that something fires within the days
	// that the reference can afford to look at; and the hours of clock changes.
	stars := []int{20, 20, 30, 60, 90, 60}[index]
	forms := []string{"a", "a", "a-b", "a-b/n", "a/n", "*/n"}
	if plain {
		stars = []int{0, 0, 0, 80, 95, 80}[index]
		forms = []string{"a", "a", "a", "a", "a", "a-b"}
	}
	if rapid.IntRange(1, 100).Draw(t, name+" star") <= stars {
		if index == domField || index == dowField {
			return rapid.SampledFrom([]string{"*", "?"}).Draw(t, name), drawn(low, map[int]int{domField: 31, dowField: 6}[index], 1)
		}
		return "*", drawn(low, high, 1)
	}
	number := rapid.IntRange(low, high)
	if index == hourField {
		number = rapid.OneOf(rapid.SampledFrom([]int{0, 0, 1, 1, 2, 2, 3, 23}), rapid.IntRange(low, high))
	}
	var texts []string
	var values []int
	for range rapid.IntRange(1, 3).Draw(t, name+" items") {
		a := number.Draw(t, name)
		b := rapid.IntRange(a, high).Draw(t, name+" end")
		n := rapid.IntRange(1, high).Draw(t, name+" step")
		switch rapid.SampledFrom(forms).Draw(t, name+" form") {
		case "a":
			texts, values = append(texts, spell(t, index, a)), append(values, a)
		case "a-b":
			texts, values = append(texts, spell(t, index, a)+"-"+spell(t, index, b)), append(values, drawn(a, b, 1)...)
		case "a-b/n":
			texts, values = append(texts, fmt.Sprintf("%d-%d/%d", a, b, n)), append(values, drawn(a, b, n)...)
		case "a/n":
			texts, values = append(texts, fmt.Sprintf("%d/%d", a, n)), append(values, drawn(a, high, n)...)
		case "*/n":
			texts, values = append(texts, fmt.Sprintf("*/%d", n)), append(values, drawn(low, high, n)...)
		}
	}
	if index == dowField {
		for i := range values {
			values[i] %= 7
		}
	}
	return strings.Join(texts, ","), values
}

func spell(t *rapid.T, index, value int) string {
	var names []string
	switch index {
	case monthField:
		names = []string{"", "jan", "Feb", "MAR", "apr", "mAY", "jun", "Jul", "aug", "sep", "oct", "nov", "dec"}
	case dowField:
		// Without SUN, which means 0 or 7 by its place.
		names = []string{"0", "mon", "Tue", "WED", "thu", "fri", "sat", "7"}
	default:
		return strconv.Itoa(value)
	}
	if rapid.Bool().Draw(t, "name") {
		return names[value]
	}
	return strconv.Itoa(value)
}

func drawn(low, high, step int) []int {
	var values []int
	for v := low; v <= high; v += step {
		values = append(values, v)
	}
	return values
}

// oddPlaces are instants near clock changes, most of them odd: half hours, two
// hours, at and around midnight, on the first of a month, with changes of the
// standard time, a lost day, and a double one.
var oddPlaces = []struct {
	zone string
	near string
}{
	{"UTC", "2025-01-01T00:00:00Z"},
	{"Europe/Berlin", "2025-03-30T01:00:00Z"},
	{"Europe/Berlin", "2025-10-26T01:00:00Z"},
	{"Europe/Dublin", "2026-10-25T01:00:00Z"},
	{"America/New_York", "2025-03-09T07:00:00Z"},
	{"America/New_York", "2025-11-02T06:00:00Z"},
	{"America/New_York", "2048-12-31T12:00:00Z"},
	{"Australia/Lord_Howe", "2025-10-04T15:30:00Z"},
	{"Australia/Lord_Howe", "2025-04-05T15:00:00Z"},
	{"Antarctica/Troll", "2025-03-30T01:00:00Z"},
	{"Antarctica/Troll", "2025-10-26T01:00:00Z"},
	{"Antarctica/Casey", "2020-10-03T16:01:00Z"},
	{"Antarctica/Casey", "2021-03-13T13:00:00Z"},
	{"Pacific/Apia", "2011-12-30T10:00:00Z"},
	{"Pacific/Apia", "2011-09-24T14:00:00Z"},
	{"Pacific/Kwajalein", "1993-08-21T12:00:00Z"},
	{"Pacific/Chatham", "2025-09-27T14:00:00Z"},
	{"Pacific/Chatham", "2025-04-05T14:00:00Z"},
	{"America/St_Johns", "2010-03-14T03:31:00Z"},
	{"America/St_Johns", "2010-11-07T02:31:00Z"},
	{"America/St_Johns", "1988-04-03T03:31:00Z"},
	{"America/St_Johns", "1988-10-30T02:31:00Z"},
	{"America/Asuncion", "2023-10-01T04:00:00Z"},
	{"America/Asuncion", "2024-03-24T03:00:00Z"},
	{"Africa/Cairo", "2025-04-24T22:00:00Z"},
	{"Africa/Cairo", "2025-10-30T21:00:00Z"},
	{"America/Havana", "2025-03-09T05:00:00Z"},
	{"America/Havana", "2025-11-02T05:00:00Z"},
	{"America/Santiago", "2024-09-08T04:00:00Z"},
	{"America/Santiago", "2024-04-07T03:00:00Z"},
	{"America/Nuuk", "2025-03-30T01:00:00Z"},
	{"America/Sao_Paulo", "2018-02-18T02:00:00Z"},
	{"America/Caracas", "2007-12-09T07:00:00Z"},
	{"America/Caracas", "2016-05-01T07:00:00Z"},
	{"Asia/Pyongyang", "2018-05-04T15:00:00Z"},
	{"Asia/Almaty", "2024-02-29T18:00:00Z"},
	{"Asia/Gaza", "2040-10-24T23:00:00Z"},
	{"Asia/Gaza", "2040-10-26T23:00:00Z"},
	{"Africa/Casablanca", "2025-02-23T02:00:00Z"},
	{"Africa/Casablanca", "2025-04-06T02:00:00Z"},
	{"Atlantic/Azores", "2025-10-26T01:00:00Z"},
	{"Asia/Kathmandu", "1985-12-31T18:30:00Z"},
}

func TestNextAgreesWithReference(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		r := drawExpression(t)
		place := rapid.SampledFrom(oddPlaces).Draw(t, "place")
		loc, err := time.LoadLocation(place.zone)
		if err != nil {
			t.Fatal(err)
		}
		near, err := time.Parse(time.RFC3339, place.near)
		if err != nil {
			t.Fatal(err)
		}
		e, err := Parse(r.text)
		if err != nil {
			if r.anyDate() {
				t.Fatalf("Parse(%q): %v", r.text, err)
			}
			return
		}
		checkFields(t, r, e)
		reach, length := 26*60*60, 9*24*time.Hour
		if r.second {
			reach, length = 2*60*60, 4*time.Hour
		}
		after := near.Add(time.Duration(rapid.IntRange(-reach, reach/4).Draw(t, "seconds")) * time.Second)
		until := after.Add(length)
		for range 12 {
			want, got := r.next(after, until, loc), e.Next(after, loc)
			switch {
			case want.IsZero() && !got.IsZero() && !got.After(until):
				t.Fatalf("%q in %s after %s: got %s, want nothing until %s", r.text, loc, after.In(loc), got, until.In(loc))
			case want.IsZero():
				return
			case !got.Equal(want) || got.Location() != loc:
				t.Fatalf("%q in %s after %s:\n got %s\nwant %s", r.text, loc, after.In(loc), got, want)
			}
			after = got
		}
	})
}

// anyDate reports whether any day of the 400 years of the calendar matches.
func (r *reference) anyDate() bool {
	t := time.Date(2000, 1, 1, r.values[hourField][0], r.values[minuteField][0], r.values[secondField][0], 0, time.UTC)
	for range 366 * 400 {
		if r.matches(t) {
			return true
		}
		t = t.AddDate(0, 0, 1)
	}
	return false
}

func checkFields(t *rapid.T, r *reference, e *Expression) {
	f := e.Fields()
	for index, got := range [][]int{f.Second, f.Minute, f.Hour, f.DayOfMonth, f.Month, f.DayOfWeek} {
		want := slices.Compact(slices.Sorted(slices.Values(r.values[index])))
		if !slices.Equal(got, want) {
			t.Fatalf("%q, field %s: got %v, want %v", r.text, specs[index].name, got, want)
		}
	}
}

func TestReferenceKnowsTheVectors(t *testing.T) {
	t.Parallel()
	// The reference is tested too: on the vectors that it can express and reach.
	fixed := &reference{text: "30 2 * * *", fixed: true, domStar: true, dowStar: true}
	fixed.values = [fieldCount][]int{{0}, {30}, {2}, drawn(1, 31, 1), drawn(1, 12, 1), drawn(0, 6, 1)}
	tested := 0
	for _, v := range readVectors(t) {
		if v.Spec != fixed.text || len(v.Next) == 0 {
			continue
		}
		tested++
		loc, after := loadZone(t, v.TZ), v.From
		for _, want := range v.Next {
			after = fixed.next(after, after.Add(72*time.Hour), loc)
			if got := after.Format(time.RFC3339); got != want {
				t.Errorf("%s: reference got %s, want %s", v.ID, got, want)
			}
		}
	}
	if tested < 5 {
		t.Errorf("only %d vectors tested", tested)
	}
}

func TestNextDayAgreesWithReference(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		r := &reference{}
		texts := []string{"0", "12"}
		r.values = [fieldCount][]int{{0}, {0}, {12}}
		for index := domField; index < fieldCount; index++ {
			text, values := drawField(t, index, false)
			texts, r.values[index] = append(texts, text), values
		}
		r.text = strings.Join(texts, " ")
		r.domStar = strings.ContainsAny(texts[2][:1], "*?")
		r.dowStar = strings.ContainsAny(texts[4][:1], "*?")
		e, err := Parse(r.text)
		if (err == nil) != r.anyDate() {
			t.Fatalf("Parse(%q): %v; fires: %v", r.text, err, r.anyDate())
		}
		if err != nil {
			return
		}
		noon := time.Date(rapid.IntRange(-10, 2600).Draw(t, "year"), 1, rapid.IntRange(1, 366).Draw(t, "day"), 12, 0, 0, 0, time.UTC)
		got := e.Next(noon, nil)
		for day := noon.AddDate(0, 0, 1); ; day = day.AddDate(0, 0, 1) {
			if r.matches(day) {
				if !got.Equal(day) {
					t.Fatalf("%q after %s: got %s, want %s", r.text, noon, got, day)
				}
				return
			}
		}
	})
}
