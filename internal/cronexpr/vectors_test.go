package cronexpr

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"testing"
	"time"
	_ "time/tzdata" // the same zone data on every machine

	"github.com/google/go-cmp/cmp"
)

// vector is one line of testdata/vectors.jsonl.
type vector struct {
	ID     string
	Spec   string
	TZ     string
	From   time.Time
	Next   []string // each computed from the one before
	Error  bool
	Never  bool
	Kind   string
	Source string
	Note   string
}

// vectorCount guards against a truncated file.
const vectorCount = 277

func readVectors(t testing.TB) []vector {
	t.Helper()
	data, err := os.ReadFile("testdata/vectors.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	var vectors []vector
	lines := bufio.NewScanner(bytes.NewReader(data))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		d := json.NewDecoder(bytes.NewReader(lines.Bytes()))
		d.DisallowUnknownFields()
		var v vector
		if err := d.Decode(&v); err != nil {
			t.Fatalf("line %d: %v", len(vectors)+1, err)
		}
		vectors = append(vectors, v)
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	return vectors
}

func loadZone(t testing.TB, name string) *time.Location {
	t.Helper()
	loc, err := time.LoadLocation(name)
	if err != nil {
		t.Fatal(err)
	}
	return loc
}

func TestVectors(t *testing.T) {
	t.Parallel()
	vectors := readVectors(t)
	if len(vectors) != vectorCount {
		t.Errorf("testdata/vectors.jsonl has %d vectors, want %d", len(vectors), vectorCount)
	}
	for _, v := range vectors {
		t.Run(v.ID, func(t *testing.T) {
			t.Parallel()
			loc := loadZone(t, v.TZ)
			e, err := Parse(v.Spec)
			if v.Error || v.Never {
				if err == nil {
					t.Fatalf("Parse(%.200q) succeeded, want an error: %s", v.Spec, v.Note)
				}
				checkRefusal(t, v, err)
				return
			}
			if err != nil {
				t.Fatalf("Parse(%.200q): %v", v.Spec, err)
			}
			var got []string
			for next := v.From; len(got) < len(v.Next); {
				next = e.Next(next, loc)
				got = append(got, next.Format(time.RFC3339Nano))
			}
			if diff := cmp.Diff(v.Next, got); diff != "" {
				t.Errorf("%q in %s from %s: %s\n(-want +got)\n%s", v.Spec, v.TZ, v.From.Format(time.RFC3339Nano), v.Note, diff)
			}
		})
	}
}

// checkRefusal checks that a refusal has the code that its kind of mistake calls
// for.
func checkRefusal(t *testing.T, v vector, err error) {
	t.Helper()
	var e *Error
	if !errors.As(err, &e) {
		t.Fatalf("Parse(%.200q): %T is not an *Error", v.Spec, err)
	}
	want := []string{CodeSyntax, CodeFieldCount}
	switch {
	case v.Never:
		want = []string{CodeNever}
	case v.Kind == "tz-prefix-refused":
		want = []string{CodeZone}
	case v.Kind == "every-invalid":
		want = []string{CodeSyntax, CodeInterval}
	case v.Kind == "never" || v.Kind == "huge": // among them some with a zone
		want = append(want, CodeZone)
	}
	for _, code := range want {
		if e.Code == code {
			return
		}
	}
	t.Errorf("Parse(%.200q): code %s (%v), want one of %v", v.Spec, e.Code, e, want)
}
