package scripts

import (
	"encoding/json"
	"math"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/bide-go/bide/job"
)

func TestBodiesComeBack(t *testing.T) {
	at := time.Date(2031, 2, 3, 4, 5, 6, 7e6, time.UTC)
	n := NewJob{
		Queue: "low", Name: "a/b.c:d", Args: json.RawMessage(`{"a":[1]}`), Headers: map[string]string{"k": "v\n\t"}, Trigger: job.TriggerCLI,
		Unique: "u v é", MaxAttempts: 7, Timeout: time.Hour, MinBackoff: time.Minute, MaxBackoff: 2 * time.Hour, Retention: 3 * time.Hour,
		Schedule: "s", Incarnation: "4", Tick: at, Superseded: at, Next: at,
	}
	var got job.Job
	if err := decodeBody("id", "X\t00000000000a\t1000\t2000\t3000\t"+n.tail(), &got); err != nil {
		t.Fatal(err)
	}
	want := job.Job{
		ID: "id", Queue: n.Queue, Name: n.Name, Args: n.Args, Headers: n.Headers, Trigger: n.Trigger, Schedule: "s", Tick: at,
		Created: time.UnixMilli(1000).UTC(), Due: time.UnixMilli(2000).UTC(), Expiry: time.UnixMilli(3000).UTC(), Unique: n.Unique,
		MaxAttempts: 7, Timeout: n.Timeout, MinBackoff: n.MinBackoff, MaxBackoff: n.MaxBackoff, Retention: n.Retention,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}

	got = job.Job{}
	if err := decodeBody("id", "P\t1\t1000\t\t\t"+(&NewJob{Queue: "q", Name: "n"}).tail(), &got); err != nil {
		t.Fatal(err)
	}
	if got.MaxAttempts != job.DefaultMaxAttempts || got.Timeout != job.DefaultTimeout || got.MinBackoff != job.DefaultMinBackoff ||
		got.MaxBackoff != job.DefaultMaxBackoff || string(got.Args) != "null" || !got.Due.Equal(got.Created) {
		t.Errorf("defaults: %+v", got)
	}
}

// What a body leaves out depends on the name, and a timeout that was given stays.
func TestTimeoutsOfNames(t *testing.T) {
	for _, name := range []string{"mail", "http"} {
		for given, want := range map[time.Duration]time.Duration{
			0:                      job.DefaultTimeoutOf(name),
			job.DefaultTimeout:     job.DefaultTimeout,
			job.DefaultHTTPTimeout: job.DefaultHTTPTimeout,
			time.Second:            time.Second,
		} {
			var got job.Job
			if err := decodeBody("id", "P\t1\t1000\t\t\t"+(&NewJob{Queue: "q", Name: name, Timeout: given}).tail(), &got); err != nil {
				t.Fatal(err)
			}
			if got.Timeout != want {
				t.Errorf("timeout %v of %s comes back as %v, want %v", given, name, got.Timeout, want)
			}
		}
	}
	if http, mail := job.DefaultTimeoutOf("http"), job.DefaultTimeoutOf("mail"); http != 30*time.Second || mail != 10*time.Minute {
		t.Errorf("defaults are %v for http and %v for others, want 30s and 10m", http, mail)
	}
}

// Runs that layout 1 planned are read, and say whose their args are by who made them.
func TestBodiesOfLayout1(t *testing.T) {
	for trigger, own := range map[job.Trigger]bool{job.TriggerSchedule: true, job.TriggerManual: false} {
		var got job.Job
		body := "X\t00000000000a\t1000\t2000\t\tlow\tname\t\t\ts\t4\t5000\t3000\t" + string(trigger) + "\t\t\t\t\n\n[1]"
		if err := decodeBody("id", body, &got); err != nil {
			t.Fatal(err)
		}
		if got.Trigger != trigger || got.FromDefinition != own || got.Schedule != "s" || got.Tick.UnixMilli() != 3000 || string(got.Args) != "[1]" {
			t.Errorf("%+v", got)
		}
	}
	n := NewJob{Queue: "low", Name: "n", Schedule: "s", Trigger: job.TriggerManual, Own: true, Next: time.UnixMilli(9000)}
	for _, own := range []bool{true, false} {
		n.Own = own
		var got job.Job
		if err := decodeBody("id", "X\t1\t1000\t2000\t\t"+n.tail(), &got); err != nil || got.FromDefinition != own || got.Trigger != n.Trigger {
			t.Errorf("%+v, %v", got, err)
		}
	}
}

// The head stays below what a script reads of it.
func TestTheHeadIsBounded(t *testing.T) {
	far := time.UnixMilli(math.MaxInt64 / 1000)
	n := NewJob{
		Queue: strings.Repeat("q", 64), Name: strings.Repeat("n", 200), Unique: strings.Repeat("u", job.MaxUnique), Schedule: strings.Repeat("s", 100),
		Incarnation: "9007199254740993", Tick: far, Superseded: far, Next: far, Own: true, Trigger: job.TriggerBackfill, MaxAttempts: job.MaxMaxAttempts,
		Timeout: math.MaxInt64, MinBackoff: math.MaxInt64, MaxBackoff: math.MaxInt64 - 1, Retention: math.MaxInt64,
	}
	head, _, _ := strings.Cut("X\t00000000000a\t1000000000000000\t1000000000000000\t1000000000000000\t"+n.tail(), "\n")
	if len(head) >= 1280 {
		t.Errorf("the head has %d bytes", len(head))
	}
}

func FuzzDecodeBody(f *testing.F) {
	f.Add("X\t00000000000a\t1000\t2000\t3000\t" + (&NewJob{Queue: "q", Name: "n", Headers: map[string]string{"k": "v"}}).tail())
	f.Add("P\t1\t1\t\t\tq\tn\t\t\t\t\t\t\t\t\t\t\t\n\n")
	f.Add(strings.Repeat("\t", 17))
	f.Add("\n\n{}")
	f.Fuzz(func(t *testing.T, body string) {
		var j job.Job
		if err := decodeBody("id", body, &j); err != nil {
			return
		}
		if j.ID != "id" || strings.ContainsAny(j.Queue+j.Name+j.Unique+j.Schedule, "\t\n") {
			t.Errorf("%q became %+v", body, j)
		}
	})
}

func FuzzDecodeFailure(f *testing.F) {
	f.Add("failed 1 1000 900 w1\nboom\x00stack")
	f.Add("")
	f.Add("\n\x00\x00")
	f.Fuzz(func(_ *testing.T, entry string) { decodeFailure(entry) })
}

// Whatever a handler says comes back as text, cut on the border of a character.
func FuzzFailureText(f *testing.F) {
	f.Add("boom", "stack")
	f.Add("a\x00b\xff", strings.Repeat("é", job.MaxText))
	f.Fuzz(func(t *testing.T, text, stack string) {
		got := decodeFailure("failed 3 1000 900 w1\n" + failureText(text, stack))
		if got.Attempt != 3 || got.Worker != "w1" || got.Kind != job.KindFailed || got.At.UnixMilli() != 1000 || got.Started.UnixMilli() != 900 {
			t.Errorf("%+v", got)
		}
		for _, s := range []string{got.Error, got.Stack} {
			if len(s) > job.MaxText || !utf8.ValidString(s) {
				t.Errorf("%d bytes, valid %v", len(s), utf8.ValidString(s))
			}
		}
		if utf8.ValidString(text) && !strings.Contains(text, "\x00") && len(text) <= job.MaxText && got.Error != text {
			t.Errorf("%q became %q", text, got.Error)
		}
	})
}

// A reply of any shape is read without a panic.
func TestRepliesOfAnyShape(t *testing.T) {
	replies := []any{nil, "", "x", int64(-1), []any{}, []any{nil, nil}, []any{"a", int64(1), []any{"b"}, nil, []any{}, "x y", []any{nil}}, []any{[]any{}, []any{nil}, "1e5"}}
	for _, r := range replies {
		decodeSum(r)
		_, _ = decodeShown(toList(r))
		decodeLeased(toList(r), "t", time.Time{}, 0)
		(&ReserveArgs{}).decode(r)
		_, _ = verdict(r, "id", job.Dead)
		outcomes(r, 3)
		staleIDs(r)
		toTime(r)
	}
}
