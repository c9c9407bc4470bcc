// Package dispatcher leases waiting jobs, has their handlers run, and settles how
// each attempt ended. It also takes back the jobs of processes that died.
//
// It owns a job only as long as its lease: every change it makes carries the
// lease's token, and its own monotonic clock cancels a handler whose lease has run
// out even when Redis cannot be asked. It never decides when a job is due.
package dispatcher

import (
	"context"
	"crypto/rand"
	"encoding/base32"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/rs/zerolog"

	"github.com/bide-go/bide/internal/clock"
	"github.com/bide-go/bide/internal/trouble"
	"github.com/bide-go/bide/job"
	"github.com/bide-go/bide/scripts"
)

// Handlers is what the dispatcher needs of a registry; *worker.Registry is one.
type Handlers interface {
	// Names lists the job names that Run can handle.
	Names() []string
	// Err reports mistakes made in registering them.
	Err() error
	// RunHere makes one attempt at j on this goroutine and calls ended, once, with
	// how it went, even if the handler ends the goroutine instead of returning.
	RunHere(ctx context.Context, j *job.Job, ended func(error))
}

// Defaults of Config.
const (
	DefaultConcurrency = 50
	DefaultLease       = 15 * time.Second
	DefaultGrace       = 25 * time.Second
	DefaultMaxLost     = 5
)

// Config is how a dispatcher works. The zero value is good.
type Config struct {
	// Namespace is "bide" if empty.
	Namespace string
	// Queues are served in this order, each only while those before it are
	// empty; high, medium and low if nil.
	Queues []string
	// Weights, if set, shares the slots among the queues instead: a queue of
	// weight 6 gets twice as many as one of 3 while both have work. A queue
	// without a weight has 1.
	Weights map[string]int
	// Concurrency is how many handlers run at a time, 50 if zero.
	Concurrency int
	// Lease is how long a job stays this process' without a renewal, 15 s if
	// zero, at least 1 s. A killed process' jobs run again within 1.5 leases.
	Lease time.Duration
	// Grace is how long running handlers may go on after the end of Run's
	// context, 25 s if zero; negative means not at all.
	Grace time.Duration
	// MaxLost is how many lost leases make a job dead, 5 if zero.
	MaxLost int
	// Log gets what an operator wants to know; the zero value is silent.
	Log zerolog.Logger
	// Presence is shown of this process in the list of workers.
	Presence map[string]string
	// Notes, if set, is asked for more to show with every heartbeat. It must
	// return soon.
	Notes func() map[string]string
	// Observe, if set, is called after each attempt has been settled. It must
	// return soon.
	Observe func(Outcome)
}

// Outcome is how one attempt ended.
type Outcome struct {
	Job *job.Job
	// State is the job's state after the attempt, empty if its lease was lost.
	State job.State
	// Err is the handler's error.
	Err error
	// Took is how long the handler ran.
	Took time.Duration
	// Pause is how long a failed job waits for its next attempt.
	Pause time.Duration
}

// Dispatcher is one dispatcher. Make it with New; it runs once.
type Dispatcher struct {
	cfg      Config
	set      *scripts.Set
	handlers Handlers
	names    []string
	err      error
	id       string
	shares   *shares
	hard     chan struct{}
	hardOnce sync.Once
	lastPass atomic.Int64
	nonce    atomic.Int64
	ran      atomic.Bool
	base     context.Context // what handlers' contexts come from
	work     context.Context // of the calls that settle and renew; ends with Run

	// renew asks the lease loop for a round at once.
	renew chan struct{}

	mu   sync.Mutex
	cond *sync.Cond // signalled on every change of what follows
	// held are the attempts whose lease has not been settled.
	held map[*attempt]struct{}
	// done are finished attempts that wait for a turn.
	done []*attempt
	// free counts the slots that are neither running a handler nor promised to
	// a reserve in flight; below zero if that may bring jobs that have to wait.
	free int
	// ahead are leased jobs that wait for a slot, in order.
	ahead    []*attempt
	patience *time.Timer // gives them back
	// returning says that they are about to be, or are on their way.
	returning bool
	tempo     tempo
	// hungry says that a lane may have something for this process.
	hungry bool
	// woken is the wake-up call that the next reserve answers.
	woken *wakeUp
	// unanswered are tokens of reserves whose outcome is unknown.
	unanswered []unanswered
	// inFlight counts the turns that have not been acted on, reserving those of them
	// that may lease jobs; away and asking count those whose answer has not come.
	inFlight, reserving int
	away, asking        int
	called              bool // a turn has been called for that nobody has begun
	// arrived counts the answers to reserves, placed those whose jobs can start.
	arrived, placed int64
	intake          bool // jobs may be taken
	stopped         bool // the turns end
	order           int64
}

type wakeUp struct {
	queue, call string
	// passed gets one value when the turn that answers the call is through:
	// whether the call was passed on, since what waits is for others.
	passed chan bool
}

type unanswered struct {
	token string
	sent  time.Time
	slots int
}

// New returns a dispatcher on rdb for the jobs that handlers can run. A mistake in
// the configuration or the registry is returned by Run.
func New(rdb redis.UniversalClient, handlers Handlers, cfg Config) *Dispatcher {
	if cfg.Queues == nil {
		cfg.Queues = []string{"high", "medium", "low"}
	}
	if cfg.Concurrency == 0 {
		cfg.Concurrency = DefaultConcurrency
	}
	if cfg.Lease == 0 {
		cfg.Lease = DefaultLease
	}
	if cfg.Grace == 0 {
		cfg.Grace = DefaultGrace
	}
	if cfg.MaxLost == 0 {
		cfg.MaxLost = DefaultMaxLost
	}
	d := &Dispatcher{
		cfg: cfg, handlers: handlers, id: newID(), shares: newShares(cfg.Queues, cfg.Weights),
		hard: make(chan struct{}), renew: make(chan struct{}, 1),
		held: make(map[*attempt]struct{}), free: cfg.Concurrency, hungry: true, intake: true,
	}
	d.cond = sync.NewCond(&d.mu)
	var err error
	d.set, err = scripts.New(rdb, cfg.Namespace)
	d.err = errors.Join(err, check(cfg, handlers))
	return d
}

func check(cfg Config, handlers Handlers) error {
	var errs []error
	if handlers == nil {
		return errors.New("dispatcher: no handlers were given")
	}
	errs = append(errs, handlers.Err())
	if len(handlers.Names()) == 0 {
		errs = append(errs, errors.New("dispatcher: no handler is registered"))
	}
	if len(cfg.Queues) == 0 {
		errs = append(errs, errors.New("dispatcher: no queues were given"))
	}
	for i, queue := range cfg.Queues {
		errs = append(errs, job.CheckQueue(queue))
		if slices.Contains(cfg.Queues[:i], queue) {
			errs = append(errs, fmt.Errorf("dispatcher: queue %q was given twice", queue))
		}
	}
	for queue, weight := range cfg.Weights {
		if !slices.Contains(cfg.Queues, queue) {
			errs = append(errs, fmt.Errorf("dispatcher: weight of queue %q, which is not among the queues", queue))
		}
		if weight < 1 || weight > 1000 {
			errs = append(errs, fmt.Errorf("dispatcher: weight %d of queue %q is not 1 to 1000", weight, queue))
		}
	}
	if cfg.Concurrency < 1 || cfg.Concurrency > 100_000 {
		errs = append(errs, fmt.Errorf("dispatcher: concurrency %d is not 1 to 100000", cfg.Concurrency))
	}
	if cfg.Lease < time.Second {
		errs = append(errs, fmt.Errorf("dispatcher: lease %v is below 1s", cfg.Lease))
	}
	if cfg.MaxLost < 1 {
		errs = append(errs, fmt.Errorf("dispatcher: at least one lost lease must be allowed, not %d", cfg.MaxLost))
	}
	return errors.Join(errs...)
}

// newID makes a process id that never repeats: a token made of a host name and a
// process number would, after a restart in a container.
func newID() string {
	var b [10]byte
	_, _ = rand.Read(b[:]) // never fails
	return "w-" + strings.ToLower(base32.StdEncoding.EncodeToString(b[:]))
}

// ID is the worker id under which this dispatcher takes jobs.
func (d *Dispatcher) ID() string { return d.id }

// Abort ends the grace period of a Run that is draining, or will be.
func (d *Dispatcher) Abort() { d.hardOnce.Do(func() { close(d.hard) }) }

// LastPass is when the dispatcher last had an answer from Redis, by this machine's
// clock; zero if it never had.
func (d *Dispatcher) LastPass() time.Time {
	ns := d.lastPass.Load()
	if ns == 0 {
		return time.Time{}
	}
	return time.Unix(0, ns)
}

func (d *Dispatcher) passed() { d.lastPass.Store(clock.Now().UnixNano()) }

// Run takes and settles jobs until ctx ends, through any trouble of Redis, and
// then drains: nothing new is taken, leases stay renewed, and running handlers
// may finish within the grace period. At its end, or on Abort, their contexts are
// cancelled and the jobs that are left go back to the front of their lanes without
// counting an attempt. A handler that ignores its context may still be running
// when Run returns: end the process then, since the job is somebody else's. Run
// returns nil after that, and an error only for a bad configuration.
func (d *Dispatcher) Run(ctx context.Context) error {
	if d.err != nil {
		return d.err
	}
	if d.ran.Swap(true) {
		return errors.New("dispatcher: it has run before; make another one with New")
	}
	d.names = d.handlers.Names()
	d.base = context.WithoutCancel(ctx)
	// work outlives ctx.
	work, end := context.WithCancel(d.base)
	defer end()
	d.work = work

	var turns, reaper sync.WaitGroup
	d.background(ctx, work, &reaper)
	watch := trouble.New(d.cfg.Log, "reserve and settle")
	for range 2 {
		turns.Go(func() { d.takeTurns(work, watch) })
	}

	<-ctx.Done()
	d.drain()
	d.cancelHandlers(job.ErrShutdown)
	d.await(giveUpAfter, func() bool { return d.running() == 0 && len(d.done) == 0 && d.inFlight == 0 })
	d.lock(func() { d.stopped = true })
	d.await(lastWords, func() bool { return d.inFlight == 0 })
	d.giveBack(work)
	waitFor(&reaper, lastWords)
	end()
	waitFor(&turns, lastWords)
	return nil
}

// background starts the loops beside the turns. Those that only help end with ctx,
// those that keep leases alive with work. The reaper hears first what became of its
// last call, since nobody else tells what it has done.
func (d *Dispatcher) background(ctx, work context.Context, reaper *sync.WaitGroup) {
	queues := d.set.QueueWaiter(d.cfg.Queues)
	calls := d.set.WorkerWaiter(d.id)
	context.AfterFunc(ctx, queues.Close)
	context.AfterFunc(work, calls.Close)
	go d.listenForJobs(ctx, queues)
	go d.listenForCalls(work, calls)
	go d.keepLeases(work)
	go d.watchLeases(work)
	reaper.Go(func() { d.reap(ctx, work) })
	go d.beat(work)
}

// quietly runs f with mu held, for changes that nobody can be waiting for: waking the
// loops costs threads their cores.
func (d *Dispatcher) quietly(f func()) {
	d.mu.Lock()
	defer d.mu.Unlock()
	f()
}

// lock runs f with mu held and tells everybody who waits for a change.
func (d *Dispatcher) lock(f func()) {
	d.mu.Lock()
	f()
	d.cond.Broadcast()
	d.mu.Unlock()
}
