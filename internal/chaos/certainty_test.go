package chaos_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/bide-go/bide/internal/chaos/faultnet"
	"github.com/bide-go/bide/internal/redistest"
	"github.com/bide-go/bide/job"
	"github.com/bide-go/bide/scheduler"
	"github.com/bide-go/bide/scripts"
)

// certainty is a producer behind a network that cuts replies in their middle.
type certainty struct {
	*testing.T
	set    *scripts.Set // past the network
	rdb    *redis.Client
	client *scheduler.Client
	net    *faultnet.Proxy
	seen   atomic.Int64 // scripts that went through while replies are cut
}

const producerName = "faultnet-producer"

func newCertainty(t *testing.T) *certainty {
	s := redistest.NewReal(t)
	p, err := faultnet.New("127.0.0.1:0", s.Addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	// The driver would send again by itself, five times.
	rdb := redis.NewClient(&redis.Options{Addr: p.Addr(), ClientName: producerName, MaxRetries: 5, MinRetryBackoff: time.Millisecond, MaxRetryBackoff: time.Millisecond})
	t.Cleanup(func() { _ = rdb.Close() })
	c := &certainty{T: t, set: s.Scripts(), rdb: rdb, client: scheduler.NewClient(rdb), net: p}
	_, err = c.client.Execute(context.Background(), "low", "warm", nil) // loads the script
	c.must(err)
	return c
}

func (c *certainty) must(err error) {
	c.Helper()
	if err != nil {
		c.Fatal(err)
	}
}

// cut has the replies to scripts cut in their middle from now on, and counts them.
func (c *certainty) cut(marks ...string) {
	c.seen.Store(0)
	if marks == nil {
		marks = []string{"\r\neval"}
	}
	c.net.CutReplies(producerName, 1_000_000, func(request []byte) bool {
		n := 0
		for _, mark := range marks {
			n += bytes.Count(bytes.ToLower(request), []byte(mark))
		}
		c.seen.Add(int64(n))
		return n > 0
	})
}

func (c *certainty) heal() { c.net.CutReplies(producerName, 0, nil) }

func (c *certainty) created() int64 {
	c.Helper()
	sum, err := c.set.Audit(context.Background())
	c.must(err)
	if sum.Gap() != 0 {
		c.Errorf("gap %d: %+v", sum.Gap(), sum)
	}
	return sum.Created - 1 // the warm one
}

// lease takes the job a.
func (c *certainty) lease() scripts.Lease {
	c.Helper()
	r, err := c.set.Reserve(context.Background(), scripts.ReserveArgs{
		Token: "w-1:1", Lease: time.Minute, Limit: 1, Names: []string{"test"}, Offers: []scripts.Offer{{Queue: "high", Slots: 1}},
	})
	c.must(err)
	if len(r.Jobs) != 1 {
		c.Fatalf("reserved %d jobs, want 1", len(r.Jobs))
	}
	return r.Jobs[0].Lease
}

// The reply to an enqueue is cut in its middle. The call says that its outcome is
// unknown, it was sent once, and repeating it with the id that the error carries
// makes no second job, whatever has become of the first one by then.
func TestARepeatedEnqueueMakesOneJob(t *testing.T) {
	ctx := context.Background()
	for name, tt := range map[string]struct {
		delay   time.Duration
		options []scheduler.Option
		becomes func(c *certainty)
		state   job.State
	}{
		"delayed": {time.Hour, nil, func(*certainty) {}, job.Delayed},
		"waiting": {0, nil, func(*certainty) {}, job.Waiting},
		"active":  {0, nil, func(c *certainty) { c.lease() }, job.Active},
		"retained": {0, []scheduler.Option{scheduler.WithRetention(time.Hour)}, func(c *certainty) {
			_, err := c.set.Complete(ctx, []scripts.Lease{c.lease()})
			c.must(err)
		}, job.Completed},
		"dead": {0, nil, func(c *certainty) {
			_, err := c.set.Fail(ctx, []scripts.Verdict{{Lease: c.lease(), Reason: job.ReasonPermanent, Kind: job.KindFailed, Error: "boom"}})
			c.must(err)
		}, job.Dead},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newCertainty(t)
			c.cut()
			id, err := c.client.ExecuteLater(ctx, "high", "test", nil, tt.delay, tt.options...)
			if !errors.Is(err, job.ErrOutcomeUnknown) || id == "" {
				t.Fatalf("id %q, %v, want an unknown outcome that carries the id", id, err)
			}
			if n := c.seen.Load(); n != 1 {
				t.Errorf("the call was sent %d times, want once", n)
			}
			// It may be cut again, any number of times.
			_, err = c.client.ExecuteLater(ctx, "high", "test", nil, tt.delay, append(tt.options, scheduler.WithID(id))...)
			if !errors.Is(err, job.ErrOutcomeUnknown) {
				t.Errorf("repeated while replies are cut: %v", err)
			}
			c.heal()
			tt.becomes(c)
			res, err := c.client.Enqueue(ctx, scheduler.Request{Queue: "high", Name: "test", Delay: tt.delay, Options: append(tt.options, scheduler.WithID(id))})
			c.must(err)
			if !res.Deduplicated || res.ID != id || res.State != tt.state {
				t.Errorf("repeated: %+v, want the %s job that is there", res, tt.state)
			}
			if n := c.created(); n != 1 {
				t.Errorf("%d jobs were created, want 1", n)
			}
		})
	}
}

// Nothing is kept of a completed job without a retention: a repetition that comes
// after its end is a new job. This is why a retention should outlast one's retries.
func TestARepetitionAfterTheEndIsANewJob(t *testing.T) {
	ctx := context.Background()
	c := newCertainty(t)
	c.cut()
	id, err := c.client.Execute(ctx, "high", "test", nil)
	if !errors.Is(err, job.ErrOutcomeUnknown) {
		t.Fatal(err)
	}
	c.heal()
	_, err = c.set.Complete(ctx, []scripts.Lease{c.lease()})
	c.must(err)
	res, err := c.client.Enqueue(ctx, scheduler.Request{Queue: "high", Name: "test", Options: []scheduler.Option{scheduler.WithID(id)}})
	c.must(err)
	if n := c.created(); res.Deduplicated || n != 2 {
		t.Errorf("%+v, %d jobs were created, want a second one", res, n)
	}
}

// Many at once: each is there once.
func TestARepeatedBatchMakesEachJobOnce(t *testing.T) {
	ctx := context.Background()
	c := newCertainty(t)
	var requests []scheduler.Request
	for i := range 50 {
		requests = append(requests, scheduler.Request{Queue: "high", Name: "test", Options: []scheduler.Option{scheduler.WithID(fmt.Sprint("j", i))}})
	}
	c.cut()
	results, err := c.client.ExecuteMany(ctx, requests)
	if !errors.Is(err, job.ErrOutcomeUnknown) {
		t.Fatal(err)
	}
	for i, r := range results {
		if r.ID != fmt.Sprint("j", i) || !errors.Is(r.Err, job.ErrOutcomeUnknown) {
			t.Errorf("%+v, want an unknown outcome with the id", r)
		}
	}
	c.heal()
	results, err = c.client.ExecuteMany(ctx, requests)
	c.must(err)
	for _, r := range results {
		if r.Err != nil || !r.Deduplicated {
			t.Errorf("repeated: %+v", r)
		}
	}
	if n := c.created(); n != 50 {
		t.Errorf("%d jobs were created, want 50", n)
	}
}

// The same in the caller's own transaction, whose data is idempotent as well.
func TestARepeatedTransactionMakesOneJob(t *testing.T) {
	ctx := context.Background()
	c := newCertainty(t)
	commit := func() error {
		_, err := c.rdb.TxPipelined(ctx, func(pipe redis.Pipeliner) error {
			pipe.Set(ctx, "{bide}:order:1", "paid", 0)
			_, err := c.client.ExecuteLaterTx(ctx, pipe, "high", "test", nil, time.Hour, scheduler.WithID("order-1"))
			return err
		})
		return err
	}
	c.cut("\r\nexec")
	if err := commit(); err == nil {
		t.Fatal("a transaction whose reply was cut says that all is well")
	}
	c.heal()
	c.must(commit())
	if n := c.created(); n != 1 {
		t.Errorf("%d jobs were created, want 1", n)
	}
}

// The driver does send a plain script again by itself: were bide's calls not marked,
// the tests above would see it.
func TestTheDriverSendsAgain(t *testing.T) {
	c := newCertainty(t)
	c.cut()
	c.rdb.Eval(context.Background(), "return redis.call('INCR', KEYS[1])", []string{"{bide}:other"})
	if n := c.seen.Load(); n < 2 {
		t.Errorf("a plain script was sent %d times: the network cuts nothing, or the driver has changed", n)
	}
}
