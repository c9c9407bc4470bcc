package scheduler

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/bide-go/bide/job"
)

func TestExecuteLaterTx(t *testing.T) {
	t.Parallel()
	eachShop(t, func(t *testing.T, s shop) {
		ctx := context.Background()
		stock := func() string { return s.rdb.Get(ctx, "{bide}:stock").Val() }

		// Committed together.
		var id string
		_, err := s.rdb.TxPipelined(ctx, func(pipe redis.Pipeliner) (err error) {
			pipe.Set(ctx, "{bide}:stock", "1", 0)
			id, err = s.ExecuteLaterTx(ctx, pipe, "high", "sell", map[string]int{"n": 1}, time.Hour, WithHeaders(map[string]string{"h": "v"}))
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		if j, err := s.Get(ctx, id); err != nil || j.State != job.Delayed || string(j.Args) != `{"n":1}` || j.Headers["h"] != "v" || stock() != "1" {
			t.Errorf("committed: %+v, %v, stock %q", j, err, stock())
		}

		// With the scripts forgotten, too.
		s.rdb.ScriptFlush(ctx)
		now := ""
		if _, err := s.rdb.TxPipelined(ctx, func(pipe redis.Pipeliner) (err error) {
			now, err = s.ExecuteLaterTx(ctx, pipe, "high", "tick", nil, 0, WithID("now"))
			return err
		}); err != nil {
			t.Fatal(err)
		}
		if got := idsOf(s.work()); len(got) != 1 || got[0] != now {
			t.Errorf("run: %v", got)
		}

		// Neither, when the caller gives up or somebody was faster.
		pipe := s.rdb.TxPipeline()
		pipe.Set(ctx, "{bide}:stock", "2", 0)
		if _, err := s.ExecuteLaterTx(ctx, pipe, "high", "sell", nil, time.Hour, WithID("given-up")); err != nil {
			t.Fatal(err)
		}
		pipe.Discard()
		err = s.rdb.Watch(ctx, func(tx *redis.Tx) error {
			s.rdb.Set(ctx, "{bide}:stock", "3", 0)
			_, err := tx.TxPipelined(ctx, func(pipe redis.Pipeliner) error {
				pipe.Set(ctx, "{bide}:stock", "4", 0)
				_, err := s.ExecuteLaterTx(ctx, pipe, "high", "sell", nil, time.Hour, WithID("too-slow"))
				return err
			})
			return err
		}, "{bide}:stock")
		if !errors.Is(err, redis.TxFailedErr) || stock() != "3" {
			t.Errorf("want a failed transaction, got %v, stock %q", err, stock())
		}
		for _, id := range []string{"given-up", "too-slow"} {
			if _, err := s.Get(ctx, id); !errors.Is(err, job.ErrNotFound) {
				t.Errorf("%s: %v", id, err)
			}
		}

		// The same id again writes nothing and fails nothing.
		created := s.created()
		if _, err := s.rdb.TxPipelined(ctx, func(pipe redis.Pipeliner) error {
			_, err := s.ExecuteLaterTx(ctx, pipe, "low", "other", nil, 0, WithID(id))
			return err
		}); err != nil || s.created() != created {
			t.Errorf("a repetition: %v, %d created", err, s.created()-created)
		}
	})
}

func TestExecuteLaterTxQueuesNothingWithAnError(t *testing.T) {
	t.Parallel()
	s := shop{mini(t), nil}
	s.Client = NewClient(s.rdb)
	ctx := context.Background()
	pipe := s.rdb.TxPipeline()
	if _, err := s.ExecuteLaterTx(ctx, pipe, "high", "n", nil, 0, WithUnique("u")); err == nil || !strings.Contains(err.Error(), "WithID") {
		t.Errorf("a unique key: %v", err)
	}
	if _, err := s.ExecuteLaterTx(ctx, pipe, "NO", "n", nil, 0); err == nil {
		t.Error("a bad queue is accepted")
	}
	if _, err := NewClient(s.rdb, WithNamespace("NO")).ExecuteLaterTx(ctx, pipe, "high", "n", nil, 0); err == nil {
		t.Error("a bad namespace is accepted")
	}
	if n := pipe.Len(); n != 0 {
		t.Errorf("%d commands are queued", n)
	}
}
