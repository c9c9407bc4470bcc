package cronexpr

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

var update = flag.Bool("update", false, "write the golden files anew")

// moreWords are expressions that the vectors have no example of.
var moreWords = []string{
	"*/5 8-18 * * MON-FRI", "*/7 9 * * *", "0 9 * * 5,6,0,1", "0 9 * * 2-5,0", "0 0 31 * *", "0 0 30 1-3 *", "0 0 29-31 * TUE",
	"5,10,17 */3 * * *", "7 * * * *", "*/90 * * * *", "30/45 * * * *", "*/20,5 * * * *", "3-50/9 * * * *", "0 0 */2,5 * 1",
	"0 0 * * */2,5", "*/7 * * * * *", "0 0 1 */3 *", "0 0 24-26 12 *", "0 12 1-7 1-3 MON-FRI", "1 * * * * *", "59/5 * * * *",
	"0 0-23/1 * * *", "* 0,3,9,10,11 * * *", "*/7 * 9-17 * * *", "*/7 5,9 9-17 * * *", "*/10 5 9 * * *", "15 */5 * * * *",
	"*/5 * 1 1 *", "* * * 2 *", "* * 29 2 *", "*/10 6-21 1-5,7-9 4-6,12 *", "0 0 30 2 MON-WED", "59 59 23 * * 6,0",
	"@every 90m", "@every 9d", "@every 2w", "@every 3d4h5m6s", "@every 1s", "@every 1d",
}

// TestWords compares the words, and the normal form, of many expressions with
// testdata/words.txt, which is read by people.
func TestWords(t *testing.T) {
	t.Parallel()
	var texts []string
	for _, v := range readVectors(t) {
		if !v.Error && !v.Never {
			texts = append(texts, v.Spec)
		}
	}
	slices.Sort(texts)
	texts = append(slices.Compact(texts), moreWords...)
	var b strings.Builder
	for _, text := range texts {
		e, err := Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&b, "%s\n  %s\n  %s\n", strconv.Quote(text), e.Normalized(), e.Words())
	}
	const file = "testdata/words.txt"
	if *update {
		if err := os.WriteFile(file, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), b.String()); diff != "" {
		t.Errorf("run with -update if these are right (-want +got)\n%s", diff)
	}
}

// anyExpression draws from expressions that are apt to look alike.
func anyExpression(t *rapid.T) *Expression {
	item := func(lo, hi int) *rapid.Generator[string] {
		value := rapid.OneOf(rapid.SampledFrom([]int{lo, hi}), rapid.IntRange(lo, hi))
		return rapid.Custom(func(t *rapid.T) string {
			a, b, n := value.Draw(t, "a"), value.Draw(t, "b"), rapid.IntRange(1, hi+2).Draw(t, "n")
			switch rapid.IntRange(0, 7).Draw(t, "form") {
			case 0, 1:
				return "*"
			case 2:
				return fmt.Sprintf("*/%d", n)
			case 3:
				return fmt.Sprintf("%d-%d", min(a, b), max(a, b))
			case 4:
				return fmt.Sprintf("%d-%d/%d", min(a, b), max(a, b), n)
			case 5:
				return fmt.Sprintf("%d/%d", a, n)
			case 6: // a step without a slash
				var values []string
				for v := lo; v <= hi; v += n {
					values = append(values, strconv.Itoa(v))
				}
				return strings.Join(values, ",")
			}
			return strconv.Itoa(a)
		})
	}
	draw := func(lo, hi int, name string) string {
		return strings.Join(rapid.SliceOfN(item(lo, hi), 1, 2).Draw(t, name), ",")
	}
	text := strings.Join([]string{
		draw(0, 59, "minute"), draw(0, 23, "hour"), draw(1, 31, "day of month"), draw(1, 12, "month"), draw(0, 7, "day of week"),
	}, " ")
	if rapid.IntRange(0, 3).Draw(t, "six") == 0 {
		text = draw(0, 59, "second") + " " + text
	}
	e, err := Parse(text)
	if err != nil {
		t.Skip(err)
	}
	return e
}

// Expressions with the same words fire at the same wall times.
func TestSameWordsSameTimes(t *testing.T) {
	t.Parallel()
	known := map[string]*Expression{}
	rapid.Check(t, func(t *rapid.T) {
		for range 20 {
			e := anyExpression(t)
			words := e.Words()
			other, ok := known[words]
			if !ok {
				known[words] = e
				continue
			}
			a, b := e.calendar, other.calendar
			if a.second != b.second || a.minute != b.minute || a.hour != b.hour || !sameDays(a, b) {
				t.Fatalf("%q and %q: both %q", e, other, words)
			}
		}
	})
}

func sameDays(a, b calendar) bool {
	for month := range 28 * 12 {
		year, m := 2000+month/12, time.Month(month%12+1)
		if first := dayNumber(year, m); a.days(first, year, m) != b.days(first, year, m) {
			return false
		}
	}
	return true
}

// The normal form means the same, in every zone, and is its own normal form.
func TestNormalized(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		for range 10 {
			checkNormalized(t, anyExpression(t))
		}
	})
}

func checkNormalized(t *rapid.T, e *Expression) {
	text := e.Normalized()
	n, err := Parse(text)
	if err != nil {
		t.Fatalf("%q: normal form %q: %v", e, text, err)
	}
	if n.calendar != e.calendar || n.fixed != e.fixed {
		t.Fatalf("%q: normal form %q means something else", e, text)
	}
	if again := n.Normalized(); again != text {
		t.Fatalf("%q: normal form %q has the normal form %q", e, text, again)
	}
	for i := range e.fields {
		if i == domField && n.fields[i].star != e.fields[i].star || i == dowField && n.fields[i].star != e.fields[i].star {
			t.Fatalf("%q: normal form %q loses or gains a star", e, text)
		}
	}
}
