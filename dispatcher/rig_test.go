package dispatcher_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/bide-go/bide/dispatcher"
	"github.com/bide-go/bide/internal/redistest"
	"github.com/bide-go/bide/job"
	"github.com/bide-go/bide/promoter"
	"github.com/bide-go/bide/scheduler"
	"github.com/bide-go/bide/scripts"
	"github.com/bide-go/bide/worker"
)

// patience is how long a test waits for what must happen. It is no promise of the
// service: where one is tested, the test measures it.
const patience = 30 * time.Second

// rig is a Redis with a client, on which tests run promoters and dispatchers.
type rig struct {
	t testing.TB
	*redistest.Server
	*scheduler.Client
	set *scripts.Set
	rdb *redis.Client
}

func newRig(t testing.TB, s *redistest.Server) *rig {
	rdb := s.Client()
	set, err := scripts.New(rdb, "")
	if err != nil {
		t.Fatal(err)
	}
	return &rig{t: t, Server: s, Client: scheduler.NewClient(rdb), set: set, rdb: rdb}
}

// each runs test on the embedded and on a real Redis.
func each(t *testing.T, test func(t *testing.T, r *rig)) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) { test(t, newRig(t, s)) })
}

// onRedis runs test on a real Redis only: it needs its process, or its speed.
func onRedis(t *testing.T, args ...string) *rig {
	t.Parallel()
	return newRig(t, redistest.NewReal(t, args...))
}

// role is a running role that a test can stop and wait for.
type role struct {
	t     testing.TB
	stop  context.CancelFunc
	ended chan struct{}
	err   error // set before ended
	at    time.Time
}

func run(t testing.TB, f func(context.Context) error) *role {
	ctx, stop := context.WithCancel(context.Background())
	r := &role{t: t, stop: stop, ended: make(chan struct{})}
	go func() {
		r.err = f(ctx)
		r.at = time.Now()
		close(r.ended)
	}()
	t.Cleanup(r.end)
	return r
}

// wait fails the test if the role does not end, or ends with an error.
func (r *role) wait() {
	r.t.Helper()
	select {
	case <-r.ended:
		if r.err != nil {
			r.t.Errorf("Run = %v, want nil", r.err)
		}
	case <-time.After(patience):
		r.t.Fatal("the role does not end")
	}
}

func (r *role) end() { r.t.Helper(); r.stop(); r.wait() }

// running reports that the role has not ended.
func (r *role) running() bool {
	select {
	case <-r.ended:
		return false
	default:
		return true
	}
}

// promote runs a promoter until the end of the test.
func (r *rig) promote() *role {
	return run(r.t, promoter.New(r.Server.Client(), promoter.Config{}).Run)
}

type handlers map[string]worker.Handler

func registry(hs handlers) *worker.Registry {
	reg := worker.NewRegistry()
	for name, h := range hs {
		reg.Handle(name, h)
	}
	return reg
}

// worker is one dispatcher that runs.
type workerRole struct {
	*role
	*dispatcher.Dispatcher
}

// work runs a dispatcher until the end of the test.
func (r *rig) work(cfg dispatcher.Config, hs handlers) *workerRole {
	return r.workOn(r.Server.Client(), cfg, hs)
}

func (r *rig) workOn(rdb redis.UniversalClient, cfg dispatcher.Config, hs handlers) *workerRole {
	d := dispatcher.New(rdb, registry(hs), cfg)
	return &workerRole{run(r.t, d.Run), d}
}

func (r *rig) ctx() context.Context { return context.Background() }

// add creates a job that is due now and kept when it has ended.
func (r *rig) add(queue, name string, opts ...scheduler.Option) string {
	r.t.Helper()
	return r.addLater(queue, name, 0, opts...)
}

func (r *rig) addLater(queue, name string, delay time.Duration, opts ...scheduler.Option) string {
	r.t.Helper()
	id, err := r.ExecuteLater(r.ctx(), queue, name, nil, delay, append([]scheduler.Option{scheduler.WithRetention(time.Hour)}, opts...)...)
	if err != nil {
		r.t.Fatal(err)
	}
	return id
}

// addMany creates n plain jobs with ids <prefix>0… that are due now.
func (r *rig) addMany(n int, queue, name, prefix string, opts ...scheduler.Option) []string {
	r.t.Helper()
	requests := make([]scheduler.Request, n)
	ids := make([]string, n)
	for i := range requests {
		ids[i] = fmt.Sprintf("%s%d", prefix, i)
		requests[i] = scheduler.Request{Queue: queue, Name: name, Options: append([]scheduler.Option{scheduler.WithID(ids[i])}, opts...)}
	}
	results, err := r.ExecuteMany(r.ctx(), requests)
	if err != nil {
		r.t.Fatal(err)
	}
	for _, res := range results {
		if res.Err != nil || res.Deduplicated {
			r.t.Fatalf("enqueue: %+v", res)
		}
	}
	return ids
}

func (r *rig) get(id string) *job.Job {
	r.t.Helper()
	j, err := r.Get(r.ctx(), id)
	if err != nil {
		r.t.Fatalf("get %s: %v", id, err)
	}
	return j
}

// eventually fails the test if ok does not come true.
func (r *rig) eventually(what string, ok func() bool) {
	r.t.Helper()
	for deadline := time.Now().Add(patience); !ok(); {
		if time.Now().After(deadline) {
			r.t.Fatalf("%s: not within %v; %+v", what, patience, r.sum())
		}
		time.Sleep(5 * time.Millisecond) // Redis tells nobody
	}
}

// lasting fails the test if ok does not come true for good: it may be true for a moment
// before what the test is about has begun.
func (r *rig) lasting(what string, ok func() bool) {
	r.t.Helper()
	inARow := 0
	r.eventually(what, func() bool {
		if inARow++; !ok() {
			inARow = 0
		}
		return inARow == 40
	})
}

// becomes waits until a job is in a state and returns it.
func (r *rig) becomes(id string, state job.State) *job.Job {
	r.t.Helper()
	var last *job.Job
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		j, err := r.Get(r.ctx(), id)
		if err == nil && j.State == state {
			return j
		}
		last = j
	}
	r.t.Fatalf("job %s is not %s within %v: %+v", id, state, patience, last)
	return nil
}

func (r *rig) sum() scripts.Sum {
	s, err := r.set.Audit(r.ctx())
	if err != nil {
		return scripts.Sum{}
	}
	return s
}

// completed waits until n jobs have completed, in all.
func (r *rig) completed(n int64) {
	r.t.Helper()
	r.eventually(fmt.Sprintf("%d jobs completed", n), func() bool { return r.sum().Completed >= n })
	if got := r.sum().Completed; got != n {
		r.t.Errorf("completed = %d, want %d", got, n)
	}
}

// now is Redis' time.
func (r *rig) now() time.Time {
	r.t.Helper()
	now, err := r.rdb.Time(r.ctx()).Result()
	if err != nil {
		r.t.Fatal(err)
	}
	return now
}

// diary notes what handlers do.
type diary struct {
	mu   sync.Mutex
	ids  []string
	news chan struct{}
}

func newDiary() *diary { return &diary{news: make(chan struct{}, 1)} }

func (d *diary) note(id string) {
	d.mu.Lock()
	d.ids = append(d.ids, id)
	d.mu.Unlock()
	select {
	case d.news <- struct{}{}:
	default:
	}
}

// handler notes the job and ends well.
func (d *diary) handler(_ context.Context, j *job.Job) error { d.note(j.ID); return nil }

func (d *diary) list() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.ids)
}

// wait returns the notes once there are n.
func (d *diary) wait(t testing.TB, n int) []string {
	t.Helper()
	deadline := time.After(patience)
	for {
		if list := d.list(); len(list) >= n {
			return list
		}
		select {
		case <-d.news:
		case <-deadline:
			t.Fatalf("%d notes within %v, want %d", len(d.list()), patience, n)
		}
	}
}

// stage is a handler that tells when it runs and goes on when it is told to.
type stage struct {
	t       testing.TB
	entered chan *play
}

// play is one attempt on a stage.
type play struct {
	job *job.Job
	ctx context.Context
	at  time.Time
	out chan error
}

func newStage(t testing.TB) *stage { return &stage{t: t, entered: make(chan *play, 1000)} }

// handler runs until its play is told how to end, whatever its context says.
func (s *stage) handler(ctx context.Context, j *job.Job) error {
	p := &play{job: j, ctx: ctx, at: time.Now(), out: make(chan error, 1)}
	s.entered <- p
	return <-p.out
}

// heeding runs until its play is told how to end, or its context ends.
func (s *stage) heeding(ctx context.Context, j *job.Job) error {
	p := &play{job: j, ctx: ctx, at: time.Now(), out: make(chan error, 1)}
	s.entered <- p
	select {
	case err := <-p.out:
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (s *stage) next() *play {
	s.t.Helper()
	select {
	case p := <-s.entered:
		s.t.Cleanup(func() { p.end(nil) }) // so that no handler outlives its test
		return p
	case <-time.After(patience):
		s.t.Fatal("no handler was started")
		return nil
	}
}

func (s *stage) nobody(d time.Duration) {
	s.t.Helper()
	select {
	case p := <-s.entered:
		p.end(nil)
		s.t.Fatalf("job %s was started and should not have been", p.job.ID)
	case <-time.After(d):
	}
}

func (p *play) end(err error) {
	select {
	case p.out <- err:
	default:
	}
}

// cause waits until the handler's context ends and returns why.
func (p *play) cause(t testing.TB) error {
	t.Helper()
	select {
	case <-p.ctx.Done():
		return context.Cause(p.ctx)
	case <-time.After(patience):
		t.Fatalf("the context of job %s does not end", p.job.ID)
		return nil
	}
}

func (p *play) wantCause(t testing.TB, want error) {
	t.Helper()
	if got := p.cause(t); !errors.Is(got, want) {
		t.Errorf("cause of job %s = %v, want %v", p.job.ID, got, want)
	}
}

func median(list []time.Duration) time.Duration {
	sorted := slices.Sorted(slices.Values(list))
	return sorted[len(sorted)/2]
}

func equal[T comparable](t testing.TB, what string, got, want T) {
	t.Helper()
	if got != want {
		t.Errorf("%s = %v, want %v", what, got, want)
	}
}

// prompt is how soon something happens at once, on a machine that has other things
// to do and, for the embedded Redis, with its slow Lua.
func (r *rig) prompt() time.Duration {
	if r.Mini != nil {
		return time.Second
	}
	return 200 * time.Millisecond
}
