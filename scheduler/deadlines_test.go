package scheduler

import (
	"context"
	"errors"
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/bide-go/bide/internal/redistest"
	"github.com/bide-go/bide/internal/timely"
	"github.com/bide-go/bide/job"
	"github.com/bide-go/bide/scripts"
)

func TestDeadlines(t *testing.T) {
	t.Parallel()
	t.Run("over before the call", func(t *testing.T) {
		t.Parallel()
		s := shop{mini(t), nil}
		s.Client = NewClient(s.rdb)
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		_, err := s.Execute(ctx, "high", "n", nil)
		if !errors.Is(err, job.ErrUnavailable) || !errors.Is(err, context.Canceled) || errors.Is(err, job.ErrOutcomeUnknown) {
			t.Errorf("want ErrUnavailable and Canceled, got %v", err)
		}
		if s.created() != 0 {
			t.Error("a job was created")
		}
	})
	t.Run("nobody listens", func(t *testing.T) {
		t.Parallel()
		rdb := redis.NewClient(&redis.Options{Addr: fmt.Sprintf("127.0.0.1:%d", redistest.FreePort(t)), DialerRetries: 1})
		defer rdb.Close()
		ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
		defer cancel()
		_, err := NewClient(rdb).Execute(ctx, "high", "n", nil)
		if !errors.Is(err, job.ErrUnavailable) {
			t.Errorf("want ErrUnavailable, got %v", err)
		}
	})
	for _, heeds := range []bool{true, false} {
		t.Run(fmt.Sprint("silent Redis, the client heeds deadlines: ", heeds), func(t *testing.T) {
			t.Parallel()
			server := redistest.NewReal(t)
			rdb := redis.NewClient(&redis.Options{Addr: server.Addr, ContextTimeoutEnabled: heeds})
			defer rdb.Close()
			c := NewClient(rdb)
			if _, err := c.Execute(context.Background(), "high", "n", nil); err != nil {
				t.Fatal(err)
			}
			server.Freeze()
			ctx, cancel := context.WithTimeout(context.Background(), 300*time.Millisecond)
			defer cancel()
			began := time.Now()
			id, err := c.Execute(ctx, "high", "n", nil)
			took := time.Since(began)
			server.Thaw()
			var unknown *job.OutcomeUnknownError
			if !errors.Is(err, job.ErrOutcomeUnknown) || !errors.As(err, &unknown) || len(unknown.IDs) != 1 || unknown.IDs[0] != id || id == "" {
				t.Errorf("want ErrOutcomeUnknown with the id %q, got %v", id, err)
			}
			if took > timely.Limit(time.Second) {
				t.Errorf("it took %v", took)
			}
			// The repetition with the same id is safe, whatever became of the first.
			res, err := c.Enqueue(context.Background(), Request{Queue: "high", Name: "n", Options: []Option{WithID(id)}})
			if err != nil || res.ID != id {
				t.Errorf("the repetition: %+v, %v", res, err)
			}
			sum, err := server.Scripts().Audit(context.Background())
			if err != nil || sum.Created != 2 {
				t.Errorf("created: want 2, got %+v, %v", sum, err)
			}
		})
	}
	t.Run("many, cut off between two calls", func(t *testing.T) {
		t.Parallel()
		r := mini(t)
		rdb := r.Server.Client()
		calls := 0
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		rdb.AddHook(before{"{bide}:counts", func() {
			if calls++; calls == 3 { // the first is sent twice, since the script is new
				cancel()
			}
		}})
		requests := make([]Request, 3*scripts.EnqueueJobs)
		perCall := len(requests) / 4
		for i := range requests {
			requests[i] = Request{Name: "n"}
		}
		res, err := NewClient(rdb).ExecuteMany(ctx, requests)
		if err == nil {
			t.Fatal("no error")
		}
		created := 0
		for i, r := range res {
			switch {
			case r.Err == nil && i < perCall:
				created++
			case r.Err == nil:
				t.Fatalf("result %d has no error", i)
			case i >= 2*perCall && !errors.Is(r.Err, job.ErrUnavailable):
				t.Fatalf("result %d, which was not sent: %v", i, r.Err)
			}
		}
		if created != perCall {
			t.Errorf("created: want %d, got %d", perCall, created)
		}
	})
}

func TestInstantsBeyondTheYear9999AreRefused(t *testing.T) {
	t.Parallel()
	r := newRig(t, redistest.NewMini(t))
	c, ctx := NewClient(r.Client()), context.Background()
	far := time.Unix(1<<55, 0)
	if _, err := c.ExecuteAt(ctx, "high", "n", nil, far); err == nil {
		t.Error("ExecuteAt takes it")
	}
	if _, err := c.Execute(ctx, "high", "n", nil, WithExpiry(far)); err == nil {
		t.Error("WithExpiry takes it")
	}
	id, err := c.ExecuteLater(ctx, "high", "n", nil, time.Hour, WithTimeout(math.MaxInt64), WithRetention(math.MaxInt64), WithBackoff(time.Second, math.MaxInt64))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Reschedule(ctx, id, far); err == nil {
		t.Error("Reschedule takes it")
	}
	j, err := c.Get(ctx, id)
	if err != nil || j.Timeout < 200*365*24*time.Hour || j.Retention < 200*365*24*time.Hour || j.MaxBackoff < 200*365*24*time.Hour {
		t.Errorf("the longest spans come back as %+v, %v", j, err)
	}
}
