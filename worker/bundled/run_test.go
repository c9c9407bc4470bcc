package bundled_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/google/go-cmp/cmp"
	"github.com/redis/go-redis/v9"
	"github.com/rs/zerolog"

	"github.com/bide-go/bide/job"
	"github.com/bide-go/bide/worker"
	"github.com/bide-go/bide/worker/bundled"
)

// registry returns one with the bundled handlers.
func registry(t *testing.T, opt bundled.Options) *worker.Registry {
	t.Helper()
	reg := worker.NewRegistry()
	bundled.Register(reg, opt)
	if err := reg.Err(); err != nil {
		t.Fatal(err)
	}
	return reg
}

func newJob(name, args string) *job.Job {
	return &job.Job{ID: "j1", Name: name, Args: json.RawMessage(args)}
}

func TestRegister(t *testing.T) {
	_, rdb := newRedis(t)
	for _, tt := range []struct {
		opt  bundled.Options
		want []string
	}{
		{bundled.Options{Redis: rdb, AllowExec: true}, bundled.Names()},
		{bundled.Options{Redis: rdb}, []string{"http", "log", "publish"}},
		{bundled.Options{}, []string{"http", "log"}},
	} {
		if diff := cmp.Diff(tt.want, registry(t, tt.opt).Names()); diff != "" {
			t.Errorf("registered names (-want +got):\n%s", diff)
		}
	}
	reg := worker.NewRegistry()
	bundled.Register(reg, bundled.Options{})
	bundled.Register(reg, bundled.Options{})
	if err := reg.Err(); err == nil {
		t.Error("Err after registering twice = nil, want a mistake")
	}
}

func TestBadArgsFailForGood(t *testing.T) {
	_, rdb := newRedis(t)
	reg := registry(t, bundled.Options{Redis: rdb})

	err := reg.Run(t.Context(), newJob("log", `{"levle":"info"}`))
	want := `args of "log": unknown field "levle" (did you mean "level"?); field "message" is missing`
	if err == nil || err.Error() != want || !job.IsPermanent(err) {
		t.Errorf("Run = %v\nwant a permanent %s", err, want)
	}

	if err := reg.Run(t.Context(), newJob("publish", `null`)); !job.IsPermanent(err) {
		t.Errorf("publish of null = %v, want a permanent error", err)
	}

	var many strings.Builder
	for i := range 50_000 {
		fmt.Fprintf(&many, `"x%d":1,`, i)
	}
	err = reg.Run(t.Context(), newJob("log", `{`+many.String()+`"message":"x"}`))
	if err == nil || len(err.Error()) > 2000 || !strings.HasSuffix(err.Error(), "; and 49990 more") {
		t.Errorf("Run with 50,000 unknown fields = %.3000v, want the first ten and the number of the others", err)
	}
}

func TestLog(t *testing.T) {
	t.Run("writes the message with the job's id and attempt", func(t *testing.T) {
		for _, level := range []string{"debug", "info", "warn", "error"} {
			var out bytes.Buffer
			reg := registry(t, bundled.Options{Log: zerolog.New(&out)})
			j := newJob("log", fmt.Sprintf(`{"message":"héllo","level":%q}`, level))
			j.Attempts = 2
			if err := reg.Run(t.Context(), j); err != nil {
				t.Fatalf("Run = %v, want nil", err)
			}
			want := fmt.Sprintf(`{"level":%q,"job_id":"j1","attempt":3,"message":"héllo"}`+"\n", level)
			if diff := cmp.Diff(want, out.String()); diff != "" {
				t.Errorf("line (-want +got):\n%s", diff)
			}
		}
	})

	t.Run("writes at info by default, and nothing to the zero logger", func(t *testing.T) {
		var out bytes.Buffer
		for _, log := range []zerolog.Logger{zerolog.New(&out), {}} {
			if err := registry(t, bundled.Options{Log: log}).Run(t.Context(), newJob("log", `{"message":"x"}`)); err != nil {
				t.Fatalf("Run = %v, want nil", err)
			}
		}
		want := `{"level":"info","job_id":"j1","attempt":1,"message":"x"}` + "\n"
		if diff := cmp.Diff(want, out.String()); diff != "" {
			t.Errorf("output (-want +got):\n%s", diff)
		}
	})

	t.Run("fails the first attempts", func(t *testing.T) {
		reg := registry(t, bundled.Options{})
		for attempts, want := range []string{"failed as asked (failAttempts: 2)", "failed as asked (failAttempts: 2)", "<nil>", "<nil>"} {
			j := newJob("log", `{"message":"x","failAttempts":2}`)
			j.Attempts = attempts
			err := reg.Run(t.Context(), j)
			if got := fmt.Sprint(err); got != want {
				t.Errorf("attempt %d = %s, want %s", j.Attempt(), got, want)
			}
			if job.IsPermanent(err) {
				t.Errorf("attempt %d failed for good", j.Attempt())
			}
		}
	})

	t.Run("sleeps as long as asked, then fails if asked", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			start := time.Now()
			err := registry(t, bundled.Options{}).Run(t.Context(), newJob("log", `{"message":"x","sleep":"1d","failAttempts":1}`))
			if err == nil {
				t.Error("Run = nil, want a failure")
			}
			if got := time.Since(start); got != 24*time.Hour {
				t.Errorf("Run took %v, want 24h", got)
			}
		})
	})

	t.Run("wakes early with the cause when its context ends", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancelCause(t.Context())
			time.AfterFunc(time.Second, func() { cancel(job.ErrCancelled) })
			start := time.Now()
			err := registry(t, bundled.Options{}).Run(ctx, newJob("log", `{"message":"x","sleep":"1h"}`))
			if !errors.Is(err, job.ErrCancelled) {
				t.Errorf("Run = %v, want %v", err, job.ErrCancelled)
			}
			if got := time.Since(start); got != time.Second {
				t.Errorf("Run took %v, want 1s", got)
			}
		})
	})
}

func newRedis(t *testing.T) (*miniredis.Miniredis, *redis.Client) {
	t.Helper()
	mini := miniredis.RunT(t)
	rdb := redis.NewClient(&redis.Options{Addr: mini.Addr(), MaxRetries: -1})
	t.Cleanup(func() {
		if err := rdb.Close(); err != nil {
			t.Errorf("close the client: %v", err)
		}
	})
	return mini, rdb
}

func TestPublish(t *testing.T) {
	t.Run("sends text as it is and other values encoded", func(t *testing.T) {
		mini, rdb := newRedis(t)
		reg := registry(t, bundled.Options{Redis: rdb})
		sub := mini.NewSubscriber()
		t.Cleanup(sub.Close)
		sub.Subscribe("beats")
		for _, tt := range []struct{ message, want string }{
			{`"hello"`, `hello`},
			{`"\"h\u00e9\"\n"`, "\"hé\"\n"},
			{`""`, ``},
			{`{ "b" : 12345678901234567,
				"a" : [ ], "html": "<&>" }`, `{"b":12345678901234567,"a":[],"html":"<&>"}`},
			{` 1.50 `, `1.50`},
			{`null`, `null`},
			{`true`, `true`},
		} {
			got := make(chan string, 1)
			go func() { got <- (<-sub.Messages()).Message }()
			if err := reg.Run(t.Context(), newJob("publish", `{"channel":"beats","message":`+tt.message+`}`)); err != nil {
				t.Fatalf("message %s: Run = %v, want nil", tt.message, err)
			}
			if m := <-got; m != tt.want {
				t.Errorf("message %s was sent as %q, want %q", tt.message, m, tt.want)
			}
		}
	})

	t.Run("without subscribers is fine", func(t *testing.T) {
		_, rdb := newRedis(t)
		if err := registry(t, bundled.Options{Redis: rdb}).Run(t.Context(), newJob("publish", `{"channel":"c","message":1}`)); err != nil {
			t.Errorf("Run = %v, want nil", err)
		}
	})

	t.Run("fails, not for good, without Redis", func(t *testing.T) {
		mini, rdb := newRedis(t)
		mini.SetError("LOADING Redis is loading the dataset in memory")
		err := registry(t, bundled.Options{Redis: rdb}).Run(t.Context(), newJob("publish", `{"channel":"beats","message":1}`))
		if err == nil || job.IsPermanent(err) || !strings.HasPrefix(err.Error(), `publish to channel "beats": `) {
			t.Errorf("Run = %v, want an error that names the channel and can be retried", err)
		}
		var redisErr redis.Error
		if !errors.As(err, &redisErr) {
			t.Errorf("Run = %v hides Redis' error", err)
		}
	})

	t.Run("heeds a cancelled context", func(t *testing.T) {
		_, rdb := newRedis(t)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		err := registry(t, bundled.Options{Redis: rdb}).Run(ctx, newJob("publish", `{"channel":"beats","message":1}`))
		if !errors.Is(err, context.Canceled) {
			t.Errorf("Run = %v, want %v", err, context.Canceled)
		}
	})
}
