package scripts_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/bide-go/bide/internal/redistest"
	"github.com/bide-go/bide/job"
	"github.com/bide-go/bide/scripts"
)

// proxy passes bytes on to a Redis. While cut, it drops the connection instead of
// the answer to a script.
type proxy struct {
	listener net.Listener
	target   string
	cut      atomic.Bool
	scripts  atomic.Int64 // scripts that were passed on
}

func newProxy(t *testing.T, target string) *proxy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{listener: l, target: target}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go p.serve(c)
		}
	}()
	return p
}

func (p *proxy) serve(client net.Conn) {
	defer client.Close()
	server, err := net.Dial("tcp", p.target)
	if err != nil {
		return
	}
	defer server.Close()
	var script atomic.Bool // the last request was one
	go func() {
		defer server.Close()
		buf := make([]byte, 1<<16)
		for {
			n, err := client.Read(buf)
			if n := bytes.Count(buf[:n], []byte("\r\neval")); n > 0 {
				script.Store(true)
				p.scripts.Add(int64(n))
			}
			if err != nil {
				return
			}
			if _, err := server.Write(buf[:n]); err != nil {
				return
			}
		}
	}()
	buf := make([]byte, 1<<16)
	for {
		n, err := server.Read(buf)
		if err != nil && !errors.Is(err, io.EOF) || n == 0 {
			return
		}
		if script.Load() && p.cut.Load() {
			return
		}
		if _, err := client.Write(buf[:n]); err != nil {
			return
		}
	}
}

// With its answer lost a call has an unknown outcome: it ran once, and repeating
// it with the same id finds the job.
func TestALostAnswer(t *testing.T) {
	each(t, func(b *bench) {
		p := newProxy(b.t, b.Addr)
		var rdb redis.UniversalClient = redis.NewClient(&redis.Options{Addr: p.listener.Addr().String(), MaxRetries: 5})
		if _, ok := b.Universal().(*redis.ClusterClient); ok {
			// As a cluster client sees it: the proxy is the owner of every slot.
			rdb = redis.NewClusterClient(&redis.ClusterOptions{MaxRedirects: 5, ClusterSlots: func(context.Context) ([]redis.ClusterSlot, error) {
				return []redis.ClusterSlot{{Start: 0, End: 16383, Nodes: []redis.ClusterNode{{Addr: p.listener.Addr().String()}}}}, nil
			}})
		}
		defer rdb.Close()
		set, err := scripts.New(rdb, "")
		b.must(err)
		_, err = enqueue(set, b.ctx(), []scripts.NewJob{{ID: "warm", Queue: "high", Name: "test"}})
		b.must(err)
		turn := scripts.Turn{
			Complete: []scripts.Lease{{ID: "x", Token: "y"}},
			Reserve:  &scripts.ReserveArgs{Token: "w1:1", Lease: time.Minute, Names: []string{"test"}, Offers: []scripts.Offer{{"high", 1}}},
		}
		failing := []scripts.Verdict{{Lease: scripts.Lease{ID: "x", Token: "y"}, Reason: job.ReasonAttempts}}
		for _, turn.Fail = range [][]scripts.Verdict{nil, failing} {
			if r := set.Turn(b.ctx(), turn); r.CompleteErr != nil || r.FailErr != nil || r.ReserveErr != nil {
				b.t.Fatalf("%+v", r) // loads the scripts
			}
		}

		p.cut.Store(true)
		p.scripts.Store(0)
		n := scripts.NewJob{ID: "a", Queue: "low", Name: "test"}
		_, err = enqueue(set, b.ctx(), []scripts.NewJob{n})
		if !errors.Is(err, job.ErrOutcomeUnknown) || errors.Is(err, job.ErrUnavailable) {
			b.t.Errorf("enqueue: %v", err)
		}
		b.same("sent", int64(1), p.scripts.Load())
		b.sum(scripts.Sum{Created: 2, Waiting: 2})

		token := "w1:77"
		turn.Reserve.Token, turn.Reserve.Limit = token, 1
		r := set.Turn(b.ctx(), turn) // three scripts one after the other
		for _, err := range []error{r.CompleteErr, r.FailErr, r.ReserveErr} {
			if !errors.Is(err, job.ErrOutcomeUnknown) {
				b.t.Errorf("turn: %+v", r)
			}
		}
		b.same("sent", int64(4), p.scripts.Load())
		turn.Fail, turn.Reserve.Token, turn.Reserve.Limit = nil, "w1:78", 0
		r = set.Turn(b.ctx(), turn) // one script
		if !errors.Is(r.CompleteErr, job.ErrOutcomeUnknown) || !errors.Is(r.ReserveErr, job.ErrOutcomeUnknown) {
			b.t.Errorf("turn: %+v", r)
		}
		b.same("sent", int64(5), p.scripts.Load())

		p.cut.Store(false)
		created, err := enqueue(set, b.ctx(), []scripts.NewJob{n})
		b.must(err)
		if !created[0].Deduplicated || created[0].ID != "a" {
			b.t.Errorf("repeated: %+v", created)
		}
		found, err := set.Recover(b.ctx(), token, time.Minute)
		b.must(err)
		if b.Mini != nil {
			return // it may drop the rest of a pipeline whose first answer it cannot write
		}
		b.same("leased to nobody", []string{"warm"}, ids(found))
		b.complete(found...)
		b.sum(scripts.Sum{Created: 2, Waiting: 1, Completed: 1})
	})
}

// A caller's deadline holds on a server that says nothing, whatever the client's
// options are.
func TestAFrozenServer(t *testing.T) {
	t.Parallel()
	s := redistest.NewReal(t)
	for _, heeds := range []bool{true, false} {
		rdb := redis.NewClient(&redis.Options{Addr: s.Addr, ContextTimeoutEnabled: heeds, ReadTimeout: time.Minute})
		defer rdb.Close()
		set, err := scripts.New(rdb, "")
		if err != nil {
			t.Fatal(err)
		}
		if err := set.Probe(context.Background()); err != nil {
			t.Fatal(err)
		}
		s.Freeze()
		calls := map[string]func(ctx context.Context) error{
			"enqueue": func(ctx context.Context) error {
				_, err := enqueue(set, ctx, []scripts.NewJob{{ID: "a", Queue: "low", Name: "test"}})
				return err
			},
			"turn": func(ctx context.Context) error {
				l := []scripts.Lease{{ID: "x", Token: "y"}}
				r := set.Turn(ctx, scripts.Turn{Complete: l, Fail: []scripts.Verdict{{Lease: l[0]}}})
				return errors.Join(r.CompleteErr, r.FailErr)
			},
		}
		for name, call := range calls {
			ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
			err := call(ctx) // within the client's minute, or the test runs into its own limit
			cancel()
			if !errors.Is(err, job.ErrOutcomeUnknown) {
				t.Errorf("%s, heeding %v: %v", name, heeds, err)
			}
			ctx, cancel = context.WithCancel(context.Background())
			cancel()
			if err := call(ctx); !errors.Is(err, job.ErrUnavailable) || !errors.Is(err, context.Canceled) {
				t.Errorf("%s under an ended context: %v", name, err)
			}
		}
		s.Thaw()
	}
	s.WaitUp()
}

// What was not sent is reported so: nothing will appear later.
func TestNothingSent(t *testing.T) {
	t.Parallel()
	s := redistest.NewReal(t)
	nowhere := redis.NewClient(&redis.Options{Addr: "127.0.0.1:1", MaxRetries: -1, DialTimeout: time.Second})
	defer nowhere.Close()
	closed := redis.NewClient(&redis.Options{Addr: s.Addr})
	_ = closed.Close()
	// The driver's pool may still find a connection when it is told to have none to
	// spare, so its answers are judged by themselves.
	for _, empty := range []error{redis.ErrPoolTimeout, redis.ErrPoolExhausted} {
		if err := scripts.Classify(empty); !errors.Is(err, job.ErrUnavailable) || !errors.Is(err, empty) {
			t.Errorf("an empty pool: %v", err)
		}
	}
	replica := s.Client()
	for name, rdb := range map[string]*redis.Client{"nowhere": nowhere, "closed": closed, "a replica": replica} {
		if name == "a replica" {
			if err := rdb.Do(context.Background(), "REPLICAOF", "127.0.0.1", "1").Err(); err != nil {
				t.Fatal(err)
			}
		}
		set, err := scripts.New(rdb, "")
		if err != nil {
			t.Fatal(err)
		}
		_, err = enqueue(set, context.Background(), []scripts.NewJob{{ID: "a", Queue: "low", Name: "test"}})
		if !errors.Is(err, job.ErrUnavailable) || errors.Is(err, job.ErrOutcomeUnknown) || !scripts.Away(err) {
			t.Errorf("%s: %v", name, err)
		}
		l := []scripts.Lease{{ID: "x", Token: "y"}}
		r := set.Turn(context.Background(), scripts.Turn{Complete: l, Fail: []scripts.Verdict{{Lease: l[0]}}})
		if name != "a replica" && (!errors.Is(r.CompleteErr, job.ErrUnavailable) || !errors.Is(r.FailErr, job.ErrUnavailable)) {
			t.Errorf("%s: turn %+v", name, r)
		}
		if name == "a replica" {
			if err := rdb.Do(context.Background(), "REPLICAOF", "NO", "ONE").Err(); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func TestClientsThatCannotHoldANamespace(t *testing.T) {
	t.Parallel()
	ring := redis.NewRing(&redis.RingOptions{Addrs: map[string]string{"a": "127.0.0.1:1"}})
	defer ring.Close()
	if _, err := scripts.New(ring, ""); err == nil {
		t.Error("a ring is allowed")
	}
	rdb := redis.NewClient(&redis.Options{Addr: "127.0.0.1:1"})
	defer rdb.Close()
	if _, err := scripts.New(rdb, "{x}"); err == nil {
		t.Error("a namespace with a hash tag of its own is allowed")
	}
}
