package scheduler

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/rs/zerolog"

	"github.com/bide-go/bide/internal/clock"
	"github.com/bide-go/bide/internal/trouble"
	"github.com/bide-go/bide/scripts"
)

// passEvery is how often a scheduler looks at what is applied and what to plan.
const passEvery = time.Second

// Config is how a scheduler works. The zero value is good.
type Config struct {
	// Namespace is "bide" if empty.
	Namespace string
	// Name says who applies definitions, in logs and to operators; host and
	// process number if empty.
	Name string
	// Log gets what an operator wants to know; the zero value is silent.
	Log zerolog.Logger
}

// Scheduler plans the ticks of the applied schedules, and applies new definitions.
// It plans from what Redis holds, never from its own definitions, so that two
// versions of a file during a deploy do not fight: the last one applied wins. Any
// number of schedulers can run. Make it with New.
type Scheduler struct {
	cfg      Config
	set      *scripts.Set
	err      error
	quiet    bool // it is no scheduler that lives: it leaves no heartbeat
	lastPass clock.Stamp
	poke     chan struct{}

	// revision and plans mirror what is applied, foreign the names of what cannot
	// be planned here. They belong to Run.
	revision string
	last     *Application // who applied it; nil for nobody
	plans    []*plan
	foreign  []string
	empty    int // passes since Redis has held no schedules

	mu     sync.Mutex
	wanted *wanted // definitions this process stands for, nil for none
}

type wanted struct {
	definitions []Definition
	keep        []string
	applied     bool
	made        Difference // what applying it has changed
	// replaced says that somebody else has applied since. After a loss of Redis'
	// data that one goes first; this process does only if nobody has.
	replaced bool
}

// replacedWaits is for how many passes a replaced set leaves a Redis that has lost
// its data to whoever had replaced it.
const replacedWaits = 5

// New returns a scheduler on rdb. A mistake in the configuration is returned by Run.
func New(rdb redis.UniversalClient, cfg Config) *Scheduler {
	if cfg.Name == "" {
		host, _ := os.Hostname() // only a name for people
		cfg.Name = fmt.Sprintf("%s:%d", host, os.Getpid())
	}
	set, err := scripts.New(rdb, cfg.Namespace)
	return &Scheduler{cfg: cfg, set: set, err: err, poke: make(chan struct{}, 1)}
}

// Replace makes definitions the set of schedules, in place of whatever is applied:
// new ones start from now, removed ones lose their planned ticks, changed ones are
// planned anew from now and never repeat a tick that has come, and unchanged ones
// are left alone. Schedules named in keep stay as they are applied, or are left out
// if they are not. An empty set removes all.
//
// A running scheduler carries it out as soon as Redis can be asked, and again if
// Redis loses its data. The error says what is wrong with the definitions; nothing
// is changed then.
func (s *Scheduler) Replace(definitions []Definition, keep []string) error {
	if err := checkSet(definitions); err != nil {
		return err
	}
	s.mu.Lock()
	s.wanted = &wanted{definitions: slices.Clone(definitions), keep: slices.Clone(keep)}
	s.mu.Unlock()
	select {
	case s.poke <- struct{}{}:
	default:
	}
	return nil
}

// checkSet reports all that is wrong with a set of definitions.
func checkSet(definitions []Definition) error {
	var errs []error
	names := make(map[string]bool)
	for _, d := range definitions {
		errs = append(errs, d.Validate())
		if names[d.Name] {
			errs = append(errs, fmt.Errorf("schedule %q is defined twice", d.Name))
		}
		names[d.Name] = true
	}
	return errors.Join(errs...)
}

// Run applies and plans until ctx ends, through any trouble of Redis. It returns
// nil when asked to stop, and an error only for a bad configuration.
func (s *Scheduler) Run(ctx context.Context) error {
	if s.err != nil {
		return s.err
	}
	watch := trouble.New(s.cfg.Log, "plan schedules")
	for ctx.Err() == nil {
		wait := passEvery
		if err := s.pass(ctx); err == nil {
			watch.OK()
			s.lastPass.Set(clock.Now())
		} else if ctx.Err() == nil {
			wait = watch.Failed(err)
		}
		clock.SleepOr(ctx, wait, s.poke)
	}
	return nil
}

// LastPass is when the scheduler last did its work, by this machine's clock; zero
// if it has not yet.
func (s *Scheduler) LastPass() time.Time { return s.lastPass.Time() }

// pass is one round: learn what is applied, apply what is wanted, plan what is due
// to be planned.
func (s *Scheduler) pass(ctx context.Context) error {
	now, err := s.learn(ctx)
	if err != nil {
		return err
	}
	if err := s.apply(ctx, now); err != nil {
		return err
	}
	var errs []error
	for _, p := range s.plans {
		if err := s.expand(ctx, p, now); err != nil {
			if scripts.Away(err) || ctx.Err() != nil {
				return err
			}
			errs = append(errs, fmt.Errorf("schedule %q: %w", p.def.Name, err))
		}
	}
	return errors.Join(errs...)
}

// learn mirrors what is applied, and returns Redis' time.
func (s *Scheduler) learn(ctx context.Context) (time.Time, error) {
	polled, err := s.set.Poll(ctx, s.revision, !s.quiet)
	if err != nil {
		return time.Time{}, err
	}
	if polled.Revision == s.revision && polled.Revision != "" {
		return polled.Now, nil
	}
	if polled.Revision == "" && s.revision != "" {
		s.cfg.Log.Warn().Msg("redis has lost the applied schedules")
	}
	s.revision, s.last = polled.Revision, nil
	if s.revision != "" {
		s.last = &Application{By: polled.AppliedBy, At: polled.AppliedAt}
	}
	if s.revision == "" {
		s.empty++
	} else {
		s.empty = 0
	}
	s.mu.Lock()
	if s.wanted != nil && s.wanted.applied && s.revision != "" && polled.AppliedBy != s.cfg.Name {
		s.wanted.replaced = true
	}
	s.mu.Unlock()
	s.plans, s.foreign = nil, nil
	for _, a := range polled.Schedules {
		def, err := decodeDefinition(a.Definition)
		var p *plan
		if err == nil {
			p, err = newPlan(def)
		}
		if err != nil {
			s.cfg.Log.Error().Err(err).Str("schedule", a.Name).Msg("schedule cannot be planned; it was applied by another version")
			s.foreign = append(s.foreign, a.Name)
			continue
		}
		p.incarnation, p.number, p.cursor, p.span = a.Incarnation, a.Number, a.Cursor, a.Span
		s.plans = append(s.plans, p)
	}
	return polled.Now, nil
}

// expand plans one schedule up to the horizon, in bounded calls. Another scheduler
// may be doing the same: whoever moves the cursor first wins, and the other takes
// over its cursor.
func (s *Scheduler) expand(ctx context.Context, p *plan, now time.Time) error {
	for {
		e, todo := p.expand(now)
		if !todo {
			return nil
		}
		done, err := s.set.Expand(ctx, e)
		if err != nil {
			return err
		}
		if done.Number != p.number {
			s.revision = "?" // the definition has changed: learn it anew
			return nil
		}
		p.cursor, p.span = done.Cursor, done.Span
		if !done.OK {
			continue
		}
		if e.Missed > 0 && !p.def.Suspend {
			s.cfg.Log.Warn().Str("schedule", p.def.Name).Int("ticks", e.Missed).Msg("ticks were missed")
		}
		if done.Planned > 0 {
			s.cfg.Log.Debug().Str("schedule", p.def.Name).Int("ticks", done.Planned).Msg("planned")
		}
	}
}
