package worker_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bide-go/bide/job"
	"github.com/bide-go/bide/worker"
)

type sale struct {
	Item  string    `json:"item"`
	Price int       `json:"price"`
	At    time.Time `json:"at"`
	Buyer *struct {
		Age uint8 `json:"age"`
	} `json:"buyer"`
}

// runTyped runs one job with args through a handler that takes a T.
func runTyped[T any](t *testing.T, args string) (got T, called bool, err error) {
	t.Helper()
	reg := worker.NewRegistry()
	worker.HandleFunc(reg, "sell-item", func(ctx context.Context, args T) error {
		got, called = args, true
		if _, ok := job.FromContext(ctx); !ok {
			t.Error("the context has no job")
		}
		return nil
	})
	if err := reg.Err(); err != nil {
		t.Fatal(err)
	}
	err = reg.Run(t.Context(), &job.Job{Name: "sell-item", Args: json.RawMessage(args)})
	return got, called, err
}

func TestHandleFuncDecodes(t *testing.T) {
	at := time.Date(2026, 12, 1, 0, 30, 0, 0, time.UTC)
	for args, want := range map[string]sale{
		`{"item":"lamp","price":12,"at":"2026-12-01T00:30:00Z"}`: {Item: "lamp", Price: 12, At: at},
		`{"item":"lamp","new":true}`:                             {Item: "lamp"},
		`{}`:                                                     {},
		`null`:                                                   {},
		" null\n":                                                {},
		``:                                                       {},
	} {
		got, called, err := runTyped[sale](t, args)
		if err != nil || !called {
			t.Errorf("args %s: called %t, error %v", args, called, err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("args %s (-want +got):\n%s", args, diff)
		}
	}

	if got, _, err := runTyped[*sale](t, `null`); got != nil || err != nil {
		t.Errorf("null as a pointer = %v, %v, want nil, nil", got, err)
	}
	if got, _, err := runTyped[[]string](t, `["a","b"]`); err != nil || !cmp.Equal(got, []string{"a", "b"}) {
		t.Errorf("list = %q, %v", got, err)
	}
	if got, _, err := runTyped[json.RawMessage](t, `{"n":12345678901234567}`); err != nil || string(got) != `{"n":12345678901234567}` {
		t.Errorf("raw args = %s, %v", got, err)
	}
	if got, _, err := runTyped[time.Time](t, `null`); err != nil || !got.IsZero() {
		t.Errorf("null as a time = %v, %v", got, err)
	}
}

func TestHandleFuncRefuses(t *testing.T) {
	for _, tt := range []struct{ name, args, want string }{
		{"a wrong type", `{"item":7}`, `args of "sell-item": field "item": want string, got number`},
		{"a fraction", `{"price":1.5}`, `args of "sell-item": field "price": want int, got number 1.5`},
		{"a nested field", `{"buyer":{"age":300}}`, `args of "sell-item": field "buyer.age": want uint8, got number 300`},
		{"a value that its own method refuses", `{"item":"lamp","at":"tomorrow"}`,
			`args of "sell-item": field "at": parsing time "tomorrow" as "2006-01-02T15:04:05Z07:00": cannot parse "tomorrow" as "2006"`},
		{"something else altogether", `[1]`, `args of "sell-item": want worker_test.sale, got array`},
		{"no JSON", `{"item":`, `args of "sell-item": unexpected end of JSON input`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, called, err := runTyped[sale](t, tt.args)
			if called {
				t.Error("the handler was called")
			}
			if err == nil || err.Error() != tt.want {
				t.Errorf("Run = %v\nwant  %s", err, tt.want)
			}
			if !job.IsPermanent(err) {
				t.Error("the error is not permanent")
			}
		})
	}

	_, _, err := runTyped[sale](t, `{"item":7}`)
	var typeErr *json.UnmarshalTypeError
	if !errors.As(err, &typeErr) {
		t.Error("the decoder's error is hidden")
	}
}
