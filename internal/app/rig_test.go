package app

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/rs/zerolog"
	"go.uber.org/goleak"

	"github.com/bide-go/bide/dispatcher"
	"github.com/bide-go/bide/internal/redistest"
	"github.com/bide-go/bide/internal/timely"
)

func TestMain(m *testing.M) {
	// Most tests wait more than they compute. A flag on the command line wins.
	if err := flag.Set("test.parallel", "8"); err != nil {
		panic(err)
	}
	redis.SetLogger(silent{})
	goleak.VerifyTestMain(m)
}

// silent keeps the driver from printing between the tests that a server is away.
type silent struct{}

func (silent) Printf(context.Context, string, ...any) {}

// text collects output. It is safe for concurrent use.
type text struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *text) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *text) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}

func (b *text) has(part string) bool { return strings.Contains(b.String(), part) }

// count counts the log entries with this message.
func (b *text) count(message string) int {
	n := 0
	for line := range strings.Lines(b.String()) {
		var entry map[string]any
		if json.Unmarshal([]byte(line), &entry) == nil && entry["message"] == message {
			n++
		}
	}
	return n
}

// eventually polls ok until it holds.
func eventually(t testing.TB, limit time.Duration, what string, ok func() bool) {
	t.Helper()
	limit = timely.Limit(limit)
	deadline := time.Now().Add(limit)
	for !ok() {
		if time.Now().After(deadline) {
			t.Fatalf("not within %v: %s", limit, what)
		}
		time.Sleep(10 * time.Millisecond) // between two looks
	}
}

// rig is a Redis, a folder for files, and the options of a service on them.
type rig struct {
	t testing.TB
	*redistest.Server
	rdb    *redis.Client
	dir    string
	opts   Options
	log    *text
	told   *text // the problems of files
	reload chan struct{}
	hard   chan struct{}
}

func newRig(t testing.TB, server *redistest.Server) *rig {
	r := &rig{t: t, Server: server, rdb: server.Client(), dir: t.TempDir(), log: &text{}, told: &text{}, reload: make(chan struct{}), hard: make(chan struct{})}
	r.opts = Options{
		Redis: r.rdb, Namespace: "bide", Log: zerolog.New(r.log), Version: "test", Roles: Roles,
		Problems: r.told, Concurrency: 10, Lease: 5 * time.Second, Grace: 5 * time.Second, MaxLost: 5,
		Queues: []string{"high", "medium", "low"}, Listen: "127.0.0.1:0", Reload: r.reload, Hard: r.hard,
	}
	return r
}

func mini(t testing.TB) *rig { return newRig(t, redistest.NewMini(t)) }

// write writes a schedules file and makes it the only one.
func (r *rig) write(content string) string {
	r.t.Helper()
	path := filepath.Join(r.dir, "schedules.yaml")
	// As editors and ConfigMaps do it: a new file in place of the old one.
	if err := os.WriteFile(path+".new", []byte(content), 0o600); err != nil {
		r.t.Fatal(err)
	}
	if err := os.Rename(path+".new", path); err != nil {
		r.t.Fatal(err)
	}
	r.opts.Files = []string{path}
	return path
}

// applied lists the applied schedules, sorted.
func (r *rig) applied() []string {
	names := r.rdb.HKeys(context.Background(), "{bide}:schedules").Val()
	slices.Sort(names)
	return names
}

func (r *rig) definition(name string) string {
	return r.rdb.HGet(context.Background(), "{bide}:schedules", name).Val()
}

// app is a running service.
type app struct {
	t       testing.TB
	r       *rig
	stop    context.CancelFunc
	done    chan error
	started chan struct{}
	address string
	ended   bool
}

// begin starts a service, which is ended with the test at the latest.
func (r *rig) begin() *app {
	r.t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	a := &app{t: r.t, r: r, stop: stop, done: make(chan error, 1), started: make(chan struct{})}
	opts := r.opts
	opts.started = func(_ *service, l net.Listener) {
		if l != nil {
			a.address = l.Addr().String()
		}
		close(a.started)
	}
	go func() { a.done <- Run(ctx, opts) }()
	r.t.Cleanup(func() {
		if !a.ended {
			a.end()
		}
	})
	return a
}

// serve starts a service and returns when it has begun.
func (r *rig) serve() *app {
	r.t.Helper()
	a := r.begin()
	select {
	case <-a.started:
	case err := <-a.done:
		a.ended = true
		r.t.Fatalf("it did not start: %v", err)
	case <-time.After(10 * time.Second):
		r.t.Fatal("it does not start")
	}
	return a
}

// wait returns what Run returned.
func (a *app) wait(limit time.Duration) error {
	a.t.Helper()
	a.ended = true
	limit = timely.Limit(limit)
	select {
	case err := <-a.done:
		return err
	case <-time.After(limit):
		a.t.Fatalf("it does not end within %v", limit)
		return nil
	}
}

// end stops it, which must succeed.
func (a *app) end() {
	a.t.Helper()
	a.stop()
	if err := a.wait(15 * time.Second); err != nil {
		a.t.Errorf("it ended with %v", err)
	}
}

// ask gets one of the health endpoints.
func (a *app) ask(path string) (status int, h health, took time.Duration) {
	a.t.Helper()
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: 5 * time.Second}
	began := time.Now()
	resp, err := client.Get("http://" + a.address + path)
	if err != nil {
		a.t.Fatal(err)
	}
	defer resp.Body.Close()
	took = time.Since(began)
	var keys map[string]json.RawMessage
	var body bytes.Buffer
	if _, err := body.ReadFrom(resp.Body); err != nil {
		a.t.Fatal(err)
	}
	if err := errors.Join(json.Unmarshal(body.Bytes(), &h), json.Unmarshal(body.Bytes(), &keys)); err != nil {
		a.t.Fatalf("%s: %v in %q", path, err, body.String())
	}
	for _, key := range []string{"live", "ready", "problems"} {
		if string(keys[key]) == "null" || keys[key] == nil {
			a.t.Errorf("%s: the key %q is missing or null: %s", path, key, body.String())
		}
	}
	return resp.StatusCode, h, took
}

// readyWithin polls until the service is ready.
func (a *app) readyWithin(limit time.Duration) {
	a.t.Helper()
	var last health
	limit = timely.Limit(limit)
	deadline := time.Now().Add(limit)
	for {
		status, h, _ := a.ask("/-/ready")
		if last = h; status == http.StatusOK {
			return
		}
		if time.Now().After(deadline) {
			a.t.Fatalf("not ready within %v: %v", limit, last.Problems)
		}
		time.Sleep(20 * time.Millisecond) // between two looks
	}
}

// outcomes collects how attempts ended.
type outcomes struct {
	mu  sync.Mutex
	all []dispatcher.Outcome
}

func (o *outcomes) add(out dispatcher.Outcome) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.all = append(o.all, out)
}

func (o *outcomes) count(ok func(dispatcher.Outcome) bool) int {
	o.mu.Lock()
	defer o.mu.Unlock()
	n := 0
	for _, out := range o.all {
		if ok(out) {
			n++
		}
	}
	return n
}
