package worker

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/bide-go/bide/job"
)

// Handler makes one attempt at a job. It should return soon after ctx ends,
// which happens when the attempt's timeout is over, the job is cancelled, its
// lease is lost or the worker stops; context.Cause tells which. The job belongs
// to the caller: a handler reads it and changes nothing in it.
type Handler func(ctx context.Context, j *job.Job) error

// Middleware wraps a handler in another one, to do something before and after
// every attempt.
type Middleware func(next Handler) Handler

// ErrNoHandler says that no handler is registered under a job's name.
var ErrNoHandler = errors.New("no handler is registered under this name")

// Registry maps job names to handlers. All methods may be called concurrently.
// The zero value is empty and ready for use.
//
// Handlers and middleware are registered before work begins. Mistakes made
// there are remembered, not returned: ask Err once everything is registered.
type Registry struct {
	mu         sync.Mutex // guards the fields up to chains
	handlers   map[string]Handler
	middleware []Middleware
	mistakes   []error

	// chains holds each handler inside its middleware. It is nil until work
	// begins and never changes afterwards, so that Run takes no lock.
	chains atomic.Pointer[map[string]Handler]
}

// NewRegistry returns an empty registry.
func NewRegistry() *Registry { return &Registry{} }

// Use adds middleware around all handlers, whether they are registered before or
// after it. The first one added is the outermost. Each is called once for each
// handler, when work begins; from then on Use changes nothing and is a mistake.
func (r *Registry) Use(mw ...func(next Handler) Handler) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.chains.Load() != nil {
		r.mistakes = append(r.mistakes, errors.New("add middleware: work has begun"))
		return
	}
	for _, m := range mw {
		if m == nil {
			r.mistakes = append(r.mistakes, errors.New("add middleware: the function is nil"))
			continue
		}
		r.middleware = append(r.middleware, m)
	}
}

// Handle registers h for the jobs called name. An illegal name, a nil h, a name
// that is taken (it keeps its first handler) and a call after work has begun are
// mistakes and register nothing.
func (r *Registry) Handle(name string, h Handler) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := r.checkHandler(name, h); err != nil {
		r.mistakes = append(r.mistakes, fmt.Errorf("register handler %q: %w", name, err))
		return
	}
	if r.handlers == nil {
		r.handlers = make(map[string]Handler)
	}
	r.handlers[name] = h
}

// checkHandler is called with mu held.
func (r *Registry) checkHandler(name string, h Handler) error {
	if err := job.CheckName(name); err != nil {
		return err
	}
	if h == nil {
		return errors.New("the function is nil")
	}
	if _, taken := r.handlers[name]; taken {
		return errors.New("the name is taken")
	}
	if r.chains.Load() != nil {
		return errors.New("work has begun")
	}
	return nil
}

// Names lists the registered names in alphabetical order.
func (r *Registry) Names() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Sorted(maps.Keys(r.handlers))
}

// Err returns all mistakes made with Use, Handle and HandleFunc so far, joined,
// or nil if there was none.
func (r *Registry) Err() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return errors.Join(r.mistakes...)
}

// Run makes one attempt at j: it runs the handler registered under j.Name inside
// its middleware, with a context from which job.FromContext returns j, and
// returns what that returns once it has returned. A name without a handler is
// ErrNoHandler. A panic, or a call of runtime.Goexit as in testing.T.FailNow, is
// a *PanicError.
//
// The first call of Run or RunHere is the beginning of work, after which nothing
// more can be registered.
func (r *Registry) Run(ctx context.Context, j *job.Job) error {
	// A goroutine of its own, because nothing can stop runtime.Goexit from ending
	// the one it is called on.
	var a attempt
	a.done.Add(1)
	go r.run(ctx, j, &a)
	a.done.Wait()
	return a.err
}

// RunHere is Run for a caller that lends the handler its goroutine: ended is called
// once with what Run would return. After runtime.Goexit that is before the goroutine
// ends, with nothing more run on it but deferred functions; otherwise it is just
// before RunHere returns.
func (r *Registry) RunHere(ctx context.Context, j *job.Job, ended func(error)) {
	r.run(ctx, j, endFunc(ended))
}

// ender is told how an attempt ended.
type ender interface{ end(err error) }

type endFunc func(error)

func (f endFunc) end(err error) { f(err) }

// attempt is one call of Run. It is allocated for each call rather than kept in
// a pool: under testing/synctest a WaitGroup belongs to one test's bubble for
// good.
type attempt struct {
	err  error // set before done
	done sync.WaitGroup
}

func (a *attempt) end(err error) {
	a.err = err
	a.done.Done()
}

func (r *Registry) run(ctx context.Context, j *job.Job, e ender) {
	var err error
	returned := false
	defer func() {
		if !returned {
			err = caught(recover())
		}
		e.end(err)
	}()
	err = r.call(ctx, j)
	returned = true
}

func (r *Registry) call(ctx context.Context, j *job.Job) error {
	chains := r.chains.Load()
	if chains == nil {
		chains = r.begin()
	}
	h, ok := (*chains)[j.Name]
	if !ok {
		return fmt.Errorf("job name %q: %w", j.Name, ErrNoHandler)
	}
	return h(job.NewContext(ctx, j), j)
}

// begin wraps every handler in the middleware. If a middleware panics here, work
// has not begun and the next attempt tries again.
func (r *Registry) begin() *map[string]Handler {
	r.mu.Lock()
	defer r.mu.Unlock()
	if chains := r.chains.Load(); chains != nil {
		return chains
	}
	chains := make(map[string]Handler, len(r.handlers))
	for name, h := range r.handlers {
		for _, m := range slices.Backward(r.middleware) {
			if h = m(h); h == nil {
				h = noNext
			}
		}
		chains[name] = h
	}
	r.chains.Store(&chains)
	return &chains
}

// noNext stands in for the nil that a faulty middleware returned.
func noNext(context.Context, *job.Job) error {
	return errors.New("a middleware returned no handler")
}
