package scheduler

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/bide-go/bide/dispatcher"
	"github.com/bide-go/bide/internal/redistest"
	"github.com/bide-go/bide/internal/timely"
	"github.com/bide-go/bide/job"
	"github.com/bide-go/bide/promoter"
	"github.com/bide-go/bide/scripts"
	"github.com/bide-go/bide/worker"
)

// order writes data of the caller's and creates a job, in one transaction on rdb.
func (s shop) order(rdb redis.UniversalClient, data, id string, delay time.Duration) error {
	ctx := context.Background()
	_, err := rdb.TxPipelined(ctx, func(pipe redis.Pipeliner) error {
		pipe.Incr(ctx, "{bide}:orders")
		pipe.Set(ctx, "{bide}:stock", data, 0)
		_, err := s.ExecuteLaterTx(ctx, pipe, "high", "tick", nil, delay, WithID(id))
		return err
	})
	return err
}

// orders reads what order wrote: how often, and the data of the last time.
func (s shop) orders() string {
	ctx := context.Background()
	return s.rdb.Get(ctx, "{bide}:orders").Val() + " " + s.rdb.Get(ctx, "{bide}:stock").Val()
}

// committed fails the test unless order has been carried out n times, the last
// time with data, and created jobs were made of it.
func (s shop) committed(n int, data string, created int64) {
	s.t.Helper()
	want := " "
	if n > 0 {
		want = fmt.Sprintf("%d %s", n, data)
	}
	if got, jobs := s.orders(), s.created(); got != want || jobs != created {
		s.t.Errorf("orders %q and %d jobs, want %q and %d", got, jobs, want, created)
	}
}

func realShop(t *testing.T) shop {
	r := newRig(t, redistest.NewReal(t))
	return shop{r, NewClient(r.rdb)}
}

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

// One transaction may create many jobs, with every option that ExecuteLater has.
func TestATransactionOfManyJobs(t *testing.T) {
	t.Parallel()
	eachShop(t, func(t *testing.T, s shop) {
		ctx := context.Background()
		_, err := s.rdb.TxPipelined(ctx, func(pipe redis.Pipeliner) error {
			for i := range 20 {
				if _, err := s.ExecuteLaterTx(ctx, pipe, "medium", "tick", i, 0, WithID(fmt.Sprint("now-", i))); err != nil {
					return err
				}
				if _, err := s.ExecuteLaterTx(ctx, pipe, "low", "tick", i, time.Hour, WithID(fmt.Sprint("later-", i)), WithExpiryIn(2*time.Hour), WithRetention(time.Minute)); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		for i, id := range idsOf(s.work()) {
			if want := fmt.Sprint("now-", i); id != want {
				t.Errorf("run number %d is %s, want %s", i, id, want)
			}
		}
		for i, id := range s.planned() {
			if want := fmt.Sprint("later-", i); id != want {
				t.Errorf("planned number %d is %s, want %s", i, id, want)
			}
		}
		if j := s.get("later-7"); j.Expiry.Sub(j.Due) != time.Hour || j.Retention != time.Minute || string(j.Args) != "7" {
			t.Errorf("job: %+v", j)
		}
		if sum := s.sum(); sum.Completed != 20 || sum.Delayed != 20 {
			t.Errorf("sum: %+v", sum)
		}
	})
}

func TestExecuteLaterTxQueuesNothingWithAnError(t *testing.T) {
	t.Parallel()
	s := shop{mini(t), nil}
	s.Client = NewClient(s.rdb)
	ctx := context.Background()
	pipe := s.rdb.TxPipeline()
	for name, call := range map[string]func() (string, error){
		"a bad queue":   func() (string, error) { return s.ExecuteLaterTx(ctx, pipe, "NO", "n", nil, 0) },
		"a bad name":    func() (string, error) { return s.ExecuteLaterTx(ctx, pipe, "high", "n n", nil, 0) },
		"a bad id":      func() (string, error) { return s.ExecuteLaterTx(ctx, pipe, "high", "n", nil, 0, WithID("a@b")) },
		"no JSON":       func() (string, error) { return s.ExecuteLaterTx(ctx, pipe, "high", "n", json.RawMessage("{"), 0) },
		"not encodable": func() (string, error) { return s.ExecuteLaterTx(ctx, pipe, "high", "n", func() {}, 0) },
		"too long": func() (string, error) {
			return s.ExecuteLaterTx(ctx, pipe, "high", "n", strings.Repeat("x", job.MaxArgs), 0)
		},
		"a negative time": func() (string, error) { return s.ExecuteLaterTx(ctx, pipe, "high", "n", nil, 0, WithTimeout(-1)) },
		"a unique key":    func() (string, error) { return s.ExecuteLaterTx(ctx, pipe, "high", "n", nil, 0, WithUnique("u")) },
		"a bad name space": func() (string, error) {
			return NewClient(s.rdb, WithNamespace("NO")).ExecuteLaterTx(ctx, pipe, "high", "n", nil, 0)
		},
	} {
		id, err := call()
		if err == nil || id != "" {
			t.Errorf("%s: id %q, %v; want no id and an error", name, id, err)
		}
		if name == "a unique key" && !strings.Contains(err.Error(), "use WithID") {
			t.Errorf("%s: the error does not say what to do instead: %v", name, err)
		}
	}
	if n := pipe.Len(); n != 0 {
		t.Errorf("%d commands are queued", n)
	}
	if _, err := pipe.Exec(ctx); err != nil || s.created() != 0 {
		t.Errorf("exec: %v, %d jobs", err, s.created())
	}
}

// The delay counts from the moment EXEC runs, not from the call.
func TestTheDelayOfATransactionCountsFromExec(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	t.Run("miniredis", func(t *testing.T) {
		t.Parallel()
		s := shop{mini(t), nil}
		s.Client = NewClient(s.rdb)
		pipe := s.rdb.TxPipeline()
		id := s.must(s.ExecuteLaterTx(ctx, pipe, "high", "tick", nil, time.Minute))
		s.after(time.Hour)
		if _, err := pipe.Exec(ctx); err != nil {
			t.Fatal(err)
		}
		if due, want := s.get(id).Due, nine.Add(time.Hour+time.Minute); !due.Equal(want) {
			t.Errorf("due %v, want %v", due, want)
		}
	})
	t.Run("redis", func(t *testing.T) {
		t.Parallel()
		s := realShop(t)
		pipe := s.rdb.TxPipeline()
		id := s.must(s.ExecuteLaterTx(ctx, pipe, "high", "tick", nil, time.Minute))
		time.Sleep(50 * time.Millisecond) // Redis' clock goes on
		from := s.now()
		if _, err := pipe.Exec(ctx); err != nil {
			t.Fatal(err)
		}
		if due := s.get(id).Due; due.Before(from.Add(time.Minute)) || due.After(s.now().Add(time.Minute+time.Millisecond)) {
			t.Errorf("due %v, want a minute after %v", due, from)
		}
	})
}

// What a transaction creates wakes the roles as any other job does.
func TestATransactionWakesTheRoles(t *testing.T) {
	t.Parallel()
	s := realShop(t)
	type start struct {
		id string
		at time.Time
	}
	started := make(chan start, 10)
	reg := worker.NewRegistry()
	reg.Handle("tick", func(_ context.Context, j *job.Job) error {
		started <- start{j.ID, s.now()}
		return nil
	})
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 2)
	d, p := dispatcher.New(s.Server.Client(), reg, dispatcher.Config{}), promoter.New(s.Server.Client(), promoter.Config{})
	go func() { done <- d.Run(ctx) }()
	go func() { done <- p.Run(ctx) }()
	defer func() {
		stop()
		for range 2 {
			if err := <-done; err != nil {
				t.Error(err)
			}
		}
	}()
	eventually(t, 10*time.Second, "both work", func() bool { return !d.LastPass().IsZero() && !p.LastPass().IsZero() })
	for i, delay := range []time.Duration{0, 250 * time.Millisecond, 0, 40 * time.Millisecond} {
		id := fmt.Sprint("job-", i)
		before := s.now()
		if err := s.order(s.rdb, "x", id, delay); err != nil {
			t.Fatal(err)
		}
		select {
		case got := <-started:
			took := got.at.Sub(before)
			// Without a wake-up the dispatcher would look once a second.
			if got.id != id || took < delay || took > delay+timely.Limit(800*time.Millisecond) {
				t.Errorf("%s with a delay of %v: %s started after %v", id, delay, got.id, took)
			}
		case <-time.After(10 * time.Second):
			t.Fatalf("%s did not start", id)
		}
	}
}

// startCluster starts three masters that share the slots, and returns their addresses.
func startCluster(t *testing.T) []string {
	for _, binary := range []string{"redis-server", "redis-cli"} {
		if _, err := exec.LookPath(binary); err != nil {
			if os.Getenv("BIDE_NEED_REDIS") != "" {
				t.Fatal(binary + " is not installed and BIDE_NEED_REDIS is set")
			}
			t.Skip("left out: " + binary + " is not installed")
		}
	}
	var addrs []string
	for range 3 {
		port, bus := redistest.FreePort(t), redistest.FreePort(t)
		cmd := exec.Command("redis-server", "--port", fmt.Sprint(port), "--bind", "127.0.0.1", "--dir", t.TempDir(), "--save", "",
			"--loglevel", "warning", "--cluster-enabled", "yes", "--cluster-port", fmt.Sprint(bus), "--cluster-config-file", "nodes.conf")
		cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
		addr := fmt.Sprintf("127.0.0.1:%d", port)
		rdb := redis.NewClient(&redis.Options{Addr: addr})
		eventually(t, 10*time.Second, "a node answers", func() bool { return rdb.Ping(context.Background()).Err() == nil })
		_ = rdb.Close()
		addrs = append(addrs, addr)
	}
	out, err := exec.Command("redis-cli", append([]string{"--cluster-yes", "--cluster", "create"}, addrs...)...).CombinedOutput()
	if err != nil {
		t.Fatalf("redis-cli --cluster create: %v\n%s", err, out)
	}
	return addrs
}

// On a cluster the caller's keys carry the namespace as hash tag.
func TestATransactionOnACluster(t *testing.T) {
	t.Parallel()
	addrs := startCluster(t)
	ctx := context.Background()
	rdb := redis.NewClusterClient(&redis.ClusterOptions{Addrs: addrs})
	defer rdb.Close()
	eventually(t, 30*time.Second, "the cluster is up", func() bool {
		up := true
		for _, addr := range addrs {
			node := redis.NewClient(&redis.Options{Addr: addr})
			up = up && strings.Contains(node.ClusterInfo(ctx).Val(), "cluster_state:ok")
			_ = node.Close()
		}
		return up
	})
	set, err := scripts.New(rdb, "")
	if err != nil {
		t.Fatal(err)
	}
	// More than one namespace, so that more than one node is asked.
	for _, ns := range []string{"bide", "a", "b", "c", "d", "e"} {
		c := NewClient(rdb, WithNamespace(ns))
		stock := "{" + ns + "}:stock"
		if _, err := rdb.TxPipelined(ctx, func(pipe redis.Pipeliner) error {
			pipe.Set(ctx, stock, "1", 0)
			_, err := c.ExecuteLaterTx(ctx, pipe, "high", "tick", nil, time.Hour, WithID("a"))
			return err
		}); err != nil {
			t.Fatalf("%s: %v", ns, err)
		}
		if j, err := c.Get(ctx, "a"); err != nil || j.State != job.Delayed || rdb.Get(ctx, stock).Val() != "1" {
			t.Errorf("%s: %+v, %v", ns, j, err)
		}
		err := rdb.Watch(ctx, func(tx *redis.Tx) error {
			rdb.Set(ctx, stock, "2", 0)
			_, err := tx.TxPipelined(ctx, func(pipe redis.Pipeliner) error {
				pipe.Set(ctx, stock, "3", 0)
				_, err := c.ExecuteLaterTx(ctx, pipe, "high", "tick", nil, 0, WithID("b"))
				return err
			})
			return err
		}, stock)
		if _, missing := c.Get(ctx, "b"); !errors.Is(err, redis.TxFailedErr) || !errors.Is(missing, job.ErrNotFound) {
			t.Errorf("%s: a lost race: %v, then %v", ns, err, missing)
		}
	}
	// Keys of another slot are refused before anything is sent.
	_, err = rdb.TxPipelined(ctx, func(pipe redis.Pipeliner) error {
		pipe.Set(ctx, "elsewhere", "1", 0)
		_, err := NewClient(rdb).ExecuteLaterTx(ctx, pipe, "high", "tick", nil, 0, WithID("c"))
		return err
	})
	if sum, auditErr := set.Audit(ctx); err == nil || auditErr != nil || sum.Created != 1 || sum.Gap() != 0 {
		t.Errorf("keys of two slots: %v, then %+v, %v; want a refusal and one job", err, sum, auditErr)
	}
}

// What only the script can refuse is an error of EXEC's: a job that silently was not
// created would be a lost one.
func TestATransactionWhoseJobIsRefusedSaysSo(t *testing.T) {
	t.Parallel()
	eachShop(t, func(t *testing.T, s shop) {
		ctx := context.Background()
		s.rdb.Set(ctx, "{bide}:queue:high", "foreign", 0)
		if err := s.order(s.rdb, "bread", "a", 0); err == nil || !strings.Contains(err.Error(), "{bide}:queue:high") {
			t.Errorf("beside something foreign: %v, want an error that names the key", err)
		}
		s.rdb.Del(ctx, "{bide}:queue:high")
		for i := range 1000 {
			s.rdb.HSet(ctx, "{bide}:queues", fmt.Sprint("q", i), "")
		}
		if err := s.order(s.rdb, "bread", "a", 0); err == nil || !strings.Contains(err.Error(), "1,000 queues") {
			t.Errorf("the 1,001st queue: %v, want an error about it", err)
		}
		s.rdb.Del(ctx, "{bide}:queues")
		s.committed(2, "bread", 0)
		if err := s.order(s.rdb, "bread", "a", 0); err != nil {
			t.Error(err)
		}
		s.committed(3, "bread", 1)
	})
}
