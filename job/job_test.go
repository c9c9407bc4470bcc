package job

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
)

func TestCheckArgs(t *testing.T) {
	full := `"` + strings.Repeat("x", MaxArgs-2) + `"`
	for _, good := range []string{"", "null", "1", `"a"`, "[]", "{}", `{"n":12345678901234567}`, " [1] ", full} {
		if err := CheckArgs([]byte(good)); err != nil {
			t.Errorf("%.20q: %v", good, err)
		}
	}
	for _, bad := range []string{"{", "a", "1 2", "'a'", "\"\xff\"", "[1,]", "\x00", full + " "} {
		var invalid *InvalidError
		if err := CheckArgs([]byte(bad)); !errors.As(err, &invalid) || invalid.Field != "args" {
			t.Errorf("%.20q: %v", bad, err)
		}
	}
	if err := CheckArgs([]byte(full + " ")); !strings.Contains(err.Error(), "1048577") || !strings.Contains(err.Error(), "1048576") {
		t.Errorf("%v does not name both sizes", err)
	}
}

func TestCheckHeaders(t *testing.T) {
	for _, good := range []map[string]string{nil, {}, {"a": ""}, {"traceparent": "00-1-2-01"}, {"é": "a\nb"}, {"k": strings.Repeat("v", MaxHeaders-1)}} {
		if err := CheckHeaders(good); err != nil {
			t.Errorf("%.30v: %v", good, err)
		}
	}
	for _, bad := range []map[string]string{{"": "v"}, {"a\nb": "v"}, {"\xff": "v"}, {"a": "\xff"}, {"k": strings.Repeat("v", MaxHeaders)}} {
		if err := CheckHeaders(bad); err == nil {
			t.Errorf("%.30v is allowed", bad)
		}
	}
}

func TestErrors(t *testing.T) {
	boom := errors.New("boom")
	if Permanent(nil) != nil || RetryAfter(nil, time.Second) != nil {
		t.Error("an error was made of nil")
	}
	permanent := fmt.Errorf("wrapped: %w", Permanent(boom))
	if !IsPermanent(permanent) || !errors.Is(permanent, boom) || permanent.Error() != "wrapped: boom" || IsPermanent(boom) || IsPermanent(nil) {
		t.Errorf("permanent: %v", permanent)
	}
	for _, c := range []struct{ asked, want time.Duration }{{time.Minute, time.Minute}, {0, 0}, {-time.Hour, 0}} {
		err := fmt.Errorf("wrapped: %w", RetryAfter(boom, c.asked))
		if d, ok := RetryDelay(err); !ok || d != c.want || !errors.Is(err, boom) {
			t.Errorf("retry after %v: %v, %v", c.asked, d, ok)
		}
	}
	if _, ok := RetryDelay(boom); ok {
		t.Error("a plain error asks for a pause")
	}
	both := RetryAfter(Permanent(boom), time.Second)
	if !IsPermanent(both) {
		t.Error("permanent is hidden by a pause")
	}

	unknown := error(&OutcomeUnknownError{IDs: []string{"a"}, Err: boom})
	if !errors.Is(unknown, ErrOutcomeUnknown) || !errors.Is(unknown, boom) || errors.Is(unknown, ErrUnavailable) {
		t.Errorf("%v", unknown)
	}
	refused := error(&StateError{ID: "a", From: Dead, To: Active, Why: "because"})
	if refused.Error() != `job "a" is dead and cannot become active: because` {
		t.Errorf("%v", refused)
	}
}

func TestJobOfAHandler(t *testing.T) {
	if j, ok := FromContext(context.Background()); ok || j != nil {
		t.Errorf("outside of a handler: %v, %v", j, ok)
	}
	j := &Job{ID: "a", Attempts: 2}
	got, ok := FromContext(NewContext(context.Background(), j))
	if !ok || got != j || got.Attempt() != 3 {
		t.Errorf("got %v, %v", got, ok)
	}
	if j.LastError() != "" {
		t.Error("an error that was not")
	}
	j.Errors = []Failure{{Error: "newest"}, {Error: "older"}}
	if j.LastError() != "newest" {
		t.Errorf("last error %q", j.LastError())
	}
}
