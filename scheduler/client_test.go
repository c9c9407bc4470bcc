package scheduler

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/google/uuid"
	"github.com/redis/go-redis/v9"

	"github.com/bide-go/bide/internal/redistest"
	"github.com/bide-go/bide/job"
	"github.com/bide-go/bide/scripts"
)

// shop is a rig with a client.
type shop struct {
	*rig
	*Client
}

func eachShop(t *testing.T, test func(t *testing.T, s shop)) {
	t.Helper()
	redistest.Each(t, func(t *testing.T, server *redistest.Server) {
		r := newRig(t, server)
		test(t, shop{r, NewClient(r.rdb)})
	})
}

// now is Redis' time.
func (s shop) now() time.Time {
	s.t.Helper()
	now, err := s.rdb.Time(context.Background()).Result()
	if err != nil {
		s.t.Fatal(err)
	}
	return now
}

func (s shop) must(id string, err error) string {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
	return id
}

func (s shop) created() int64 { return s.sum().Created }

func TestExecuteNowLaterAndAt(t *testing.T) {
	t.Parallel()
	eachShop(t, func(t *testing.T, s shop) {
		ctx := context.Background()
		type sale struct {
			Item  string `json:"item"`
			Price int    `json:"price"`
		}
		before := s.now()
		at := before.Add(3 * time.Hour).Truncate(time.Millisecond)
		for name, tt := range map[string]struct {
			enqueue func() (string, error)
			state   job.State
			due     time.Time
		}{
			"now":      {func() (string, error) { return s.Execute(ctx, "high", "sell", sale{"hat", 3}) }, job.Waiting, before},
			"later":    {func() (string, error) { return s.ExecuteLater(ctx, "high", "sell", sale{"hat", 3}, time.Hour) }, job.Delayed, before.Add(time.Hour)},
			"no delay": {func() (string, error) { return s.ExecuteLater(ctx, "high", "sell", sale{"hat", 3}, 0) }, job.Waiting, before},
			"negative": {func() (string, error) { return s.ExecuteLater(ctx, "high", "sell", sale{"hat", 3}, -time.Hour) }, job.Waiting, before},
			"at":       {func() (string, error) { return s.ExecuteAt(ctx, "high", "sell", sale{"hat", 3}, at) }, job.Delayed, at},
			"at, in a zone": {func() (string, error) {
				return s.ExecuteAt(ctx, "high", "sell", sale{"hat", 3}, at.In(time.FixedZone("x", 7200)))
			}, job.Delayed, at},
			"at, rounded up": {func() (string, error) {
				return s.ExecuteAt(ctx, "high", "sell", sale{"hat", 3}, at.Add(time.Nanosecond))
			}, job.Delayed, at.Add(time.Millisecond)},
			"in the past": {func() (string, error) {
				return s.ExecuteAt(ctx, "high", "sell", sale{"hat", 3}, before.Add(-time.Hour))
			}, job.Waiting, before},
			"long ago":      {func() (string, error) { return s.ExecuteAt(ctx, "high", "sell", sale{"hat", 3}, time.Unix(-1e10, 0)) }, job.Waiting, before},
			"the zero time": {func() (string, error) { return s.ExecuteAt(ctx, "high", "sell", sale{"hat", 3}, time.Time{}) }, job.Waiting, before},
			"a thousand y": {func() (string, error) {
				return s.ExecuteAt(ctx, "high", "sell", sale{"hat", 3}, before.AddDate(1000, 0, 0))
			}, job.Delayed, before.AddDate(1000, 0, 0)},
		} {
			t.Run(name, func(t *testing.T) {
				id := s.must(tt.enqueue())
				if u, err := uuid.Parse(id); err != nil || u.Version() != 7 {
					t.Errorf("the id %q is no UUIDv7", id)
				}
				j, err := s.Get(ctx, id)
				if err != nil {
					t.Fatal(err)
				}
				want := &job.Job{
					ID: id, Queue: "high", Name: "sell", Args: json.RawMessage(`{"item":"hat","price":3}`), State: tt.state, Trigger: job.TriggerGo,
					MaxAttempts: 4, Timeout: 10 * time.Minute, MinBackoff: time.Second, MaxBackoff: time.Hour,
				}
				if diff := cmp.Diff(want, j, cmpopts.IgnoreFields(job.Job{}, "Created", "Due")); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
				// Redis' clock goes on between the two calls on a real server.
				if early, late := j.Due.Sub(tt.due), j.Due.Sub(tt.due)-s.now().Sub(before); early < -time.Millisecond || late > time.Millisecond {
					t.Errorf("due: want %v, got %v", tt.due, j.Due)
				}
			})
		}
	})
}

func TestEveryOption(t *testing.T) {
	t.Parallel()
	eachShop(t, func(t *testing.T, s shop) {
		ctx := context.Background()
		expiry := s.now().Add(2 * time.Hour).Truncate(time.Millisecond).UTC()
		c := NewClient(s.rdb, WithTrigger(job.TriggerCLI))
		id := s.must(c.ExecuteLater(ctx, "low", "sell", nil, time.Hour, WithID("order-17:a.b_c"), WithUnique("order 17"), WithTimeout(90*time.Second),
			WithMaxAttempts(7), WithBackoff(2*time.Second, time.Minute), WithExpiry(expiry), WithRetention(time.Hour), WithHeaders(map[string]string{"traceparent": "00-ü-01", "empty": ""})))
		j, err := c.Get(ctx, id)
		if err != nil {
			t.Fatal(err)
		}
		want := &job.Job{
			ID: "order-17:a.b_c", Queue: "low", Name: "sell", Args: json.RawMessage("null"), State: job.Delayed, Trigger: job.TriggerCLI,
			Unique: "order 17", Timeout: 90 * time.Second, MaxAttempts: 7, MinBackoff: 2 * time.Second, MaxBackoff: time.Minute, Expiry: expiry,
			Retention: time.Hour, Headers: map[string]string{"traceparent": "00-ü-01", "empty": ""},
		}
		if diff := cmp.Diff(want, j, cmpopts.IgnoreFields(job.Job{}, "Created", "Due")); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		id = s.must(c.Execute(ctx, "", "sell", nil, WithExpiryIn(time.Minute)))
		if j, err = c.Get(ctx, id); err != nil {
			t.Fatal(err)
		}
		if got := j.Expiry.Sub(j.Created); got < time.Minute || got > time.Minute+5*time.Millisecond {
			t.Errorf("expiry counted from Redis' now: want 1m, got %v", got)
		}
		if j.Queue != job.DefaultQueue {
			t.Errorf("queue: want %q, got %q", job.DefaultQueue, j.Queue)
		}
	})
}

func TestBadRequestsAreRefusedBeforeAnythingIsSent(t *testing.T) {
	t.Parallel()
	s := shop{mini(t), nil}
	s.Client = NewClient(s.rdb)
	ctx := context.Background()
	for name, tt := range map[string]struct {
		queue, name string
		args        any
		opts        []Option
		says        string
	}{
		"queue":             {"Bad Queue", "n", nil, nil, `"Bad Queue"`},
		"queue of a lane":   {"high-delayed", "n", nil, nil, "-delayed"},
		"no name":           {"high", "", nil, nil, "job name is missing"},
		"name":              {"high", "no blanks", nil, nil, `"no blanks"`},
		"name too long":     {"high", strings.Repeat("n", 201), nil, nil, "at most 200"},
		"id":                {"high", "n", nil, []Option{WithID("a b")}, `"a b"`},
		"id of a tick":      {"high", "n", nil, []Option{WithID("s@2026-01-01T00:00:00Z")}, `"@"`},
		"no id":             {"high", "n", nil, []Option{WithID("")}, "job id"},
		"unique":            {"high", "n", nil, []Option{WithUnique("a\tb")}, "unique key"},
		"unique too long":   {"high", "n", nil, []Option{WithUnique(strings.Repeat("u", 257))}, "257"},
		"timeout":           {"high", "n", nil, []Option{WithTimeout(0)}, "timeout"},
		"attempts":          {"high", "n", nil, []Option{WithMaxAttempts(0)}, `"0"`},
		"too many":          {"high", "n", nil, []Option{WithMaxAttempts(job.MaxMaxAttempts + 1)}, "100001"},
		"back-off":          {"high", "n", nil, []Option{WithBackoff(2*time.Second, time.Second)}, "below the minimum"},
		"no back-off":       {"high", "n", nil, []Option{WithBackoff(0, time.Second)}, "back-off"},
		"expiry":            {"high", "n", nil, []Option{WithExpiryIn(-1)}, "expiry"},
		"retention":         {"high", "n", nil, []Option{WithRetention(-time.Second)}, "retention"},
		"headers":           {"high", "n", nil, []Option{WithHeaders(map[string]string{"a": strings.Repeat("h", 65<<10)})}, "headers"},
		"header name":       {"high", "n", nil, []Option{WithHeaders(map[string]string{"a\nb": ""})}, "header name"},
		"args no JSON":      {"high", "n", json.RawMessage(`{"a":`), nil, "not valid JSON"},
		"args two values":   {"high", "n", json.RawMessage(`1 2`), nil, "not valid JSON"},
		"args bad UTF-8":    {"high", "n", json.RawMessage("\"\xff\""), nil, "UTF-8"},
		"args a channel":    {"high", "n", make(chan int), nil, "args"},
		"args too long":     {"high", "n", json.RawMessage(`"` + strings.Repeat("x", 1<<20-1) + `"`), nil, "have 1048577 bytes, 1048576 are allowed"},
		"value too long":    {"high", "n", strings.Repeat("x", 1<<20-1), nil, "have 1048577 bytes, 1048576 are allowed"},
		"the first is told": {"high", "n", nil, []Option{WithTimeout(-1), WithMaxAttempts(0)}, "timeout"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := s.Execute(ctx, tt.queue, tt.name, tt.args, tt.opts...)
			if err == nil || !strings.Contains(err.Error(), tt.says) {
				t.Errorf("want an error with %q, got %v", tt.says, err)
			}
			if errors.Is(err, job.ErrUnavailable) || errors.Is(err, job.ErrOutcomeUnknown) {
				t.Errorf("a bad request is taken for trouble with Redis: %v", err)
			}
		})
	}
	if _, err := s.Enqueue(ctx, Request{Name: "n", Delay: time.Second, At: time.Now()}); err == nil {
		t.Error("a delay and an instant are accepted together")
	}
	if _, err := s.ExecuteAt(ctx, "high", "n", nil, time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC)); err == nil {
		t.Error("the year 10000 is accepted")
	}
	if keys := s.Mini.Keys(); len(keys) != 0 {
		t.Errorf("something was written: %v", keys)
	}
}

func TestTheLargestArgsArriveWhole(t *testing.T) {
	t.Parallel()
	eachShop(t, func(t *testing.T, s shop) {
		args := json.RawMessage(`"` + strings.Repeat("x", job.MaxArgs-2) + `"`)
		id := s.must(s.Execute(context.Background(), "high", "n", args))
		j, err := s.Get(context.Background(), id)
		if err != nil || !bytes.Equal(j.Args, args) {
			t.Errorf("%d bytes arrived, %v", len(j.Args), err)
		}
	})
}

func TestRawArgsArriveByteForByte(t *testing.T) {
	t.Parallel()
	eachShop(t, func(t *testing.T, s shop) {
		for _, text := range []string{
			`12345678901234567890`, `{"n":12345678901234567}`, `[]`, `{}`, `{"a":[],"b":{}}`, ` { "b" : 1 ,
	"a" : 2 } `, `1e400`, `-0`, `1.10`, `"\u003c<>&\ud83d\ude00 ü"`, `null`, `false`, `""`, `{"a":1,"a":2}`, "\"\u2028\"",
		} {
			id := s.must(s.ExecuteLater(context.Background(), "high", "n", json.RawMessage(text), time.Hour, WithHeaders(map[string]string{"h": "v"})))
			if j, err := s.Get(context.Background(), id); err != nil || string(j.Args) != text {
				t.Errorf("want %q, got %q, %v", text, j.Args, err)
			}
		}
		for _, args := range []any{nil, json.RawMessage(nil), json.RawMessage("")} {
			id := s.must(s.Execute(context.Background(), "high", "n", args))
			if j, err := s.Get(context.Background(), id); err != nil || string(j.Args) != "null" {
				t.Errorf("%#v: want null, got %q, %v", args, j.Args, err)
			}
		}
		id := s.must(s.Execute(context.Background(), "high", "n", struct{ N int64 }{1<<62 + 1}))
		if j, err := s.Get(context.Background(), id); err != nil || string(j.Args) != `{"N":4611686018427387905}` {
			t.Errorf("got %q, %v", j.Args, err)
		}
	})
}

func TestDuplicatesAreNoErrorAndWriteNothing(t *testing.T) {
	t.Parallel()
	eachShop(t, func(t *testing.T, s shop) {
		ctx := context.Background()
		first := s.must(s.ExecuteLater(ctx, "high", "n", 1, time.Hour, WithID("one"), WithUnique("key")))
		due := s.get(first).Due

		res, err := s.Enqueue(ctx, Request{Queue: "low", Name: "other", Args: 2, Options: []Option{WithID("one")}})
		want := Result{ID: "one", State: job.Delayed, Due: due, Deduplicated: true}
		if diff := cmp.Diff(want, res, cmpopts.EquateApproxTime(0)); diff != "" || err != nil {
			t.Errorf("the same id (-want +got):\n%s%v", diff, err)
		}
		res, err = s.Enqueue(ctx, Request{Name: "other", Options: []Option{WithUnique("key")}})
		if diff := cmp.Diff(want, res, cmpopts.EquateApproxTime(0)); diff != "" || err != nil {
			t.Errorf("the same unique key (-want +got):\n%s%v", diff, err)
		}
		if id, err := s.Execute(ctx, "high", "n", nil, WithID("two"), WithUnique("key")); id != "one" || err != nil {
			t.Errorf("another id and the same unique key: %q, %v", id, err)
		}
		if j := s.get("one"); j.Name != "n" || string(j.Args) != "1" || j.Queue != "high" || s.created() != 1 {
			t.Errorf("it was written: %+v", j)
		}
		if _, err := s.Cancel(ctx, "one"); err != nil {
			t.Fatal(err)
		}
		res, err = s.Enqueue(ctx, Request{Queue: "high", Name: "tick", Options: []Option{WithID("one"), WithUnique("key"), WithRetention(time.Hour)}})
		if err != nil || res.Deduplicated || res.State != job.Waiting {
			t.Errorf("id and key are free again: %+v, %v", res, err)
		}
		if got := idsOf(s.work()); len(got) != 1 {
			t.Fatalf("run: %v", got)
		}
		// The id stays taken while the finished job is retained; the key is free.
		res, err = s.Enqueue(ctx, Request{Queue: "high", Name: "n", Options: []Option{WithID("one")}})
		if err != nil || !res.Deduplicated || res.State != job.Completed {
			t.Errorf("the id of a retained job: %+v, %v", res, err)
		}
		res, err = s.Enqueue(ctx, Request{Queue: "high", Name: "n", Options: []Option{WithUnique("key")}})
		if err != nil || res.Deduplicated {
			t.Errorf("the unique key of a finished job: %+v, %v", res, err)
		}
	})
}

func TestExecuteManyAnswersForEachItem(t *testing.T) {
	t.Parallel()
	eachShop(t, func(t *testing.T, s shop) {
		ctx := context.Background()
		res, err := s.ExecuteMany(ctx, []Request{
			{Queue: "high", Name: "n", Options: []Option{WithID("a")}},
			{Queue: "NO", Name: "n", Options: []Option{WithID("b")}},
			{Queue: "low", Name: "n", Delay: time.Hour, Options: []Option{WithID("c"), WithUnique("u")}},
			{Queue: "low", Name: "n", Args: json.RawMessage("{"), Options: []Option{WithID("d")}},
			{Queue: "low", Name: "n", Options: []Option{WithID("e"), WithUnique("u")}},
			{Queue: "low", Name: "n", Options: []Option{WithID("a")}},
			{Name: "n"},
		})
		if err != nil || len(res) != 7 {
			t.Fatalf("%d results, %v", len(res), err)
		}
		type short struct {
			id    string
			state job.State
			dup   bool
			bad   bool
		}
		var got []short
		for i, r := range res {
			if i == 6 {
				r.ID = "generated"
			}
			got = append(got, short{r.ID, r.State, r.Deduplicated, r.Err != nil})
		}
		want := []short{
			{"a", job.Waiting, false, false}, {"b", "", false, true}, {"c", job.Delayed, false, false}, {"d", "", false, true},
			{"c", job.Delayed, true, false}, {"a", job.Waiting, true, false}, {"generated", job.Waiting, false, false},
		}
		if diff := cmp.Diff(want, got, cmp.AllowUnexported(short{})); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		if n := s.created(); n != 3 {
			t.Errorf("created: want 3, got %d", n)
		}
		if res, err := s.ExecuteMany(ctx, nil); err != nil || len(res) != 0 {
			t.Errorf("nothing: %v, %v", res, err)
		}
	})
}

func TestExecuteManyIsCutIntoBoundedCalls(t *testing.T) {
	t.Parallel()
	t.Run("by number", func(t *testing.T) {
		t.Parallel()
		eachShop(t, func(t *testing.T, s shop) {
			const n = 2*scripts.EnqueueJobs + 17
			requests := make([]Request, n)
			for i := range requests {
				requests[i] = Request{Queue: "high", Name: "tick", Args: i}
			}
			requests[700].Name = ""
			res, err := s.ExecuteMany(context.Background(), requests)
			if err != nil {
				t.Fatal(err)
			}
			if res[700].Err == nil {
				t.Error("the bad one is accepted")
			}
			jobs := s.work()
			if len(jobs) != n-1 {
				t.Fatalf("run: want %d, got %d", n-1, len(jobs))
			}
			i := 0
			for _, j := range jobs { // in the order of the requests
				if i == 700 {
					i++
				}
				if string(j.Args) != fmt.Sprint(i) || j.ID != res[i].ID {
					t.Fatalf("place %d holds %s, id %q; the result has %q", i, j.Args, j.ID, res[i].ID)
				}
				i++
			}
		})
	})
	t.Run("by bytes", func(t *testing.T) {
		t.Parallel()
		eachShop(t, func(t *testing.T, s shop) {
			args := json.RawMessage(`"` + strings.Repeat("x", 1<<20-2) + `"`)
			requests := make([]Request, 10)
			for i := range requests {
				requests[i] = Request{Queue: "high", Name: "tick", Args: args}
			}
			res, err := s.ExecuteMany(context.Background(), requests)
			if err != nil {
				t.Fatal(err)
			}
			for i, r := range res {
				if r.Err != nil || r.State != job.Waiting {
					t.Errorf("result %d: %+v", i, r)
				}
			}
			if got := len(s.work()); got != 10 {
				t.Errorf("run: want 10, got %d", got)
			}
		})
	})
}

func TestAMistakeInTheClientIsReturnedByEveryCall(t *testing.T) {
	t.Parallel()
	rdb := redis.NewClient(&redis.Options{Addr: "127.0.0.1:1"})
	defer rdb.Close()
	c := NewClient(rdb, WithNamespace("NOT legal"))
	ctx := context.Background()
	calls := map[string]func() error{
		"Execute":     func() error { _, err := c.Execute(ctx, "high", "n", nil); return err },
		"ExecuteMany": func() error { _, err := c.ExecuteMany(ctx, nil); return err },
		"Get":         func() error { _, err := c.Get(ctx, "x"); return err },
		"Cancel":      func() error { _, err := c.Cancel(ctx, "x"); return err },
		"Retry":       func() error { _, err := c.Retry(ctx, "x"); return err },
		"Reschedule":  func() error { _, err := c.Reschedule(ctx, "x", time.Now()); return err },
	}
	for name, call := range calls {
		var invalid *job.InvalidError
		if err := call(); !errors.As(err, &invalid) || invalid.Field != "namespace" {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestNamespacesAreApart(t *testing.T) {
	t.Parallel()
	eachShop(t, func(t *testing.T, s shop) {
		ctx := context.Background()
		other := NewClient(s.rdb, WithNamespace("other"))
		s.must(s.Execute(ctx, "high", "n", 1, WithID("same")))
		if res, err := other.Enqueue(ctx, Request{Name: "n", Args: 2, Options: []Option{WithID("same")}}); err != nil || res.Deduplicated {
			t.Errorf("%+v, %v", res, err)
		}
		if j, err := other.Get(ctx, "same"); err != nil || string(j.Args) != "2" {
			t.Errorf("%+v, %v", j, err)
		}
	})
}
