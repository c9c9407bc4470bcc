// Package app builds a bide service from its options, starts the roles, waits for
// them and closes everything in order. It reads no flags and no environment and
// never exits the process.
package app

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/bide-go/bide/dispatcher"
	"github.com/bide-go/bide/internal/clock"
	"github.com/bide-go/bide/internal/trouble"
	"github.com/bide-go/bide/promoter"
	"github.com/bide-go/bide/scheduler"
	"github.com/bide-go/bide/scripts"
	"github.com/bide-go/bide/worker"
	"github.com/bide-go/bide/worker/bundled"
)

// Roles are the names of the roles, in the order they are listed to people.
var Roles = []string{"scheduler", "promoter", "worker", "api"}

// ErrCutShort says that the grace period was ended by a second signal.
var ErrCutShort = errors.New("cut short by a second signal")

// service is the running parts of one process.
type service struct {
	opts  Options
	wg    sync.WaitGroup
	errs  chan error
	parts []part // what readiness looks at
	start time.Time

	promoter   *promoter.Promoter
	scheduler  *scheduler.Scheduler
	dispatcher *dispatcher.Dispatcher
	files      *files
	stopped    chan struct{}
	welcome    chan struct{} // closed when Redis has told its layout, and it is ours
}

// part is a role whose loop can be seen to move.
type part struct {
	name     string
	lastPass func() time.Time
}

func (o Options) has(role string) bool { return slices.Contains(o.Roles, role) }

// Run serves the roles until ctx ends, then drains them. It returns nil after a
// drain, ErrCutShort if opts.Hard ended it, a *FileError if a schedules file
// cannot be used at start, and another error if the service cannot do its work.
func Run(ctx context.Context, opts Options) error {
	s := &service{opts: opts, errs: make(chan error, len(Roles)+1), start: clock.Now(), stopped: make(chan struct{}), welcome: make(chan struct{})}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if err := s.build(); err != nil {
		return err
	}
	listener, err := s.listen(ctx)
	if err != nil {
		return err
	}
	stopListening := s.serveHTTP(listener)
	defer stopListening()
	if err := s.checkLayout(ctx); err != nil {
		return err
	}
	if opts.started != nil {
		opts.started(s, listener)
	}
	opts.Log.Info().Strs("roles", opts.Roles).Str("namespace", opts.Namespace).Str("version", opts.Version).Msg("serving")
	s.run(ctx)

	done := make(chan struct{})
	go func() { s.wg.Wait(); close(done) }()
	var failed error
	cut := false
	hard := opts.Hard
	for {
		select {
		case <-done:
			close(s.stopped)
			opts.Log.Info().Msg("stopped")
			switch {
			case failed != nil:
				return failed
			case cut:
				return ErrCutShort
			}
			return s.firstError()
		case err := <-s.errs:
			// A role that cannot go on ends the process, after a drain.
			failed = err
			cancel()
		case <-hard:
			cut, hard = true, nil
			cancel()
			if s.dispatcher != nil {
				s.dispatcher.Abort()
			}
		}
	}
}

// build makes the roles, and reads the files: an error in one is fatal at start.
func (s *service) build() error {
	o := s.opts
	if o.has("scheduler") {
		s.scheduler = scheduler.New(o.Redis, scheduler.Config{Namespace: o.Namespace, Log: component(o, "scheduler")})
		s.parts = append(s.parts, part{"scheduler", s.scheduler.LastPass})
		s.files = newFiles(o, s.scheduler)
		if err := s.files.first(); err != nil {
			return err
		}
	}
	if o.has("promoter") {
		s.promoter = promoter.New(o.Redis, promoter.Config{
			Namespace: o.Namespace, Log: component(o, "promoter"), DeadRetention: o.DeadRetention, DeadMax: o.DeadMax,
		})
		s.parts = append(s.parts, part{"promoter", s.promoter.LastPass})
	}
	if o.has("worker") {
		reg := worker.NewRegistry()
		bundled.Register(reg, bundled.Options{
			Redis: o.Redis, Log: component(o, "handler"), Version: o.Version,
			AllowExec: o.AllowExec, HTTPAllow: o.HTTPAllow, HTTPDeny: o.HTTPDeny, HTTPProxy: o.HTTPProxy,
		})
		s.dispatcher = dispatcher.New(o.Redis, reg, dispatcher.Config{
			Namespace: o.Namespace, Queues: o.Queues, Weights: o.Weights, Concurrency: o.Concurrency,
			Lease: o.Lease, Grace: o.Grace, MaxLost: o.MaxLost, Log: component(o, "dispatcher"),
			Presence: map[string]string{"version": o.Version, "roles": strings.Join(o.Roles, " ")}, Notes: s.notes, Observe: o.observe,
		})
		s.parts = append(s.parts, part{"worker", s.dispatcher.LastPass})
	}
	return nil
}

// run starts the roles. Scheduler, promoter and dispatcher stop taking work when
// ctx ends; the dispatcher drains by itself.
func (s *service) run(ctx context.Context) {
	begin := func(name string, f func(context.Context) error) {
		s.wg.Go(func() {
			select {
			case <-s.welcome:
			case <-ctx.Done():
				return
			}
			if err := f(ctx); err != nil {
				s.errs <- fmt.Errorf("%s: %w", name, err)
			}
		})
	}
	if s.scheduler != nil {
		begin("scheduler", s.scheduler.Run)
		begin("files", s.files.watch)
	}
	if s.promoter != nil {
		begin("promoter", s.promoter.Run)
	}
	if s.dispatcher != nil {
		begin("worker", s.dispatcher.Run)
	}
	if s.dispatcher == nil {
		begin("presence", s.presence)
	}
}

func (s *service) firstError() error {
	select {
	case err := <-s.errs:
		return err
	default:
		return nil
	}
}

// checkLayout refuses a namespace of a newer version, and a Redis that does not do
// for an operator who is strict about it. While Redis is away, or a new namespace
// cannot be claimed since it takes no writes, it lets the service start: the roles
// wait for Redis by themselves, and the check is made as soon as it answers.
func (s *service) checkLayout(ctx context.Context) error {
	set, err := scripts.New(s.opts.Redis, s.opts.Namespace)
	if err != nil {
		return err
	}
	hello := func() error {
		call, cancel := context.WithTimeout(ctx, 2*time.Second)
		defer cancel()
		if err := set.Hello(call); err != nil {
			return err
		}
		return s.checkEviction(call)
	}
	err = hello()
	if err == nil {
		close(s.welcome)
		return nil
	}
	later := func(err error) bool { return scripts.Away(err) || scripts.TakesNoWrites(err) }
	if !later(err) {
		return err
	}
	s.wg.Go(func() {
		watch := trouble.New(s.opts.Log, "ask for the layout")
		for err := hello(); err != nil && ctx.Err() == nil; err = hello() {
			if !later(err) {
				s.errs <- err
				return
			}
			clock.Sleep(ctx, watch.Failed(err))
		}
		if ctx.Err() == nil {
			watch.OK()
			close(s.welcome)
		}
	})
	return nil
}
