package app

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	"github.com/bide-go/bide/dispatcher"
	"github.com/bide-go/bide/internal/clock"
	"github.com/bide-go/bide/internal/duration"
	"github.com/bide-go/bide/job"
	"github.com/bide-go/bide/scheduler"
)

// Dev serves every role on an embedded Redis of its own, of which nothing is kept,
// and prints to opts.Dev what happens. opts.Redis is not used.
func Dev(ctx context.Context, opts Options) error {
	mini := miniredis.NewMiniRedis()
	mini.ClockTTL(true) // its TTLs do not age by themselves
	if err := mini.Start(); err != nil {
		return fmt.Errorf("embedded redis: %w", err)
	}
	defer mini.Close()
	rdb := redis.NewClient(&redis.Options{Addr: mini.Addr(), ContextTimeoutEnabled: true})
	defer rdb.Close()

	show := &screen{out: opts.Dev}
	opts.Redis, opts.Roles, opts.embedded = rdb, Roles, true
	opts.observe, opts.loaded = show.outcome, show.load
	opts.started = func(s *service, l net.Listener) { show.banner(s, mini.Addr(), l) }
	return Run(ctx, opts)
}

// screen prints for people. It is safe for concurrent use.
type screen struct {
	mu          sync.Mutex
	out         io.Writer
	begun       bool
	definitions []scheduler.Definition
}

func (s *screen) banner(service *service, addr string, l net.Listener) {
	opts := service.opts
	s.mu.Lock()
	defer s.mu.Unlock()
	_, port, _ := net.SplitHostPort(addr)
	fmt.Fprintf(s.out, "bide %s dev: embedded Redis, nothing is kept after exit\n", opts.Version)
	if l != nil {
		fmt.Fprintf(s.out, "  health      http://%s/-/ready\n", l.Addr())
	}
	fmt.Fprintf(s.out, "  redis       redis://%s/0\n", addr)
	from := strings.Join(opts.Files, " ")
	note := "edits load by themselves"
	if service.files.none {
		from, note = "(the sample)", "write a schedules.yaml and it is used instead"
	}
	fmt.Fprintf(s.out, "  schedules   %s   %d schedules; %s\n", from, len(s.definitions), note)
	fmt.Fprintf(s.out, "try:  export REDIS_URL=redis://%s/0\n", addr)
	fmt.Fprintf(s.out, "      bide later --in 5s log '{\"message\":\"hi\"}'\n")
	fmt.Fprintf(s.out, "      bide schedules list && bide preview --count 3\n")
	fmt.Fprintf(s.out, "      bide stats && bide audit      (or redis-cli -p %s)\n", port)
	s.begun = true
	s.next()
}

// load remembers the schedules and shows what runs next.
func (s *screen) load(definitions []scheduler.Definition) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.definitions = definitions
	if s.begun {
		fmt.Fprintf(s.out, "%s schedules read: %d\n", clock.Now().Format(time.TimeOnly), len(definitions))
		s.next()
	}
}

// next lists the coming run of each schedule, soonest first. mu is held.
func (s *screen) next() {
	type run struct {
		name string
		at   time.Time
	}
	var runs []run
	now := clock.Now()
	for _, d := range s.definitions {
		if at, err := d.Next(now); err == nil && !at.IsZero() && !d.Suspend {
			runs = append(runs, run{d.Name, at})
		}
	}
	slices.SortFunc(runs, func(a, b run) int { return a.at.Compare(b.at) })
	var parts []string
	for _, r := range runs[:min(len(runs), 5)] {
		in := r.at.Sub(now)
		part := fmt.Sprintf("%s in %s", r.name, coarse(in))
		if in > time.Hour {
			part = fmt.Sprintf("%s %s in %s", r.name, r.at.Format("Mon 15:04 MST"), coarse(in))
		}
		parts = append(parts, part)
	}
	if len(runs) > 5 {
		parts = append(parts, fmt.Sprintf("and %d more", len(runs)-5))
	}
	if len(parts) == 0 {
		parts = []string{"nothing is scheduled"}
	}
	fmt.Fprintf(s.out, "next          %s\n", strings.Join(parts, " · "))
}

// coarse rounds a time span to what a person wants to know.
func coarse(d time.Duration) string {
	switch {
	case d >= 48*time.Hour:
		d = d.Round(time.Hour)
	case d >= time.Hour:
		d = d.Round(time.Minute)
	default:
		d = max(d.Round(time.Second), time.Second)
	}
	return duration.Format(d)
}

// outcome prints how an attempt ended, one line each.
func (s *screen) outcome(o dispatcher.Outcome) {
	s.mu.Lock()
	defer s.mu.Unlock()
	j := o.Job
	word := string(o.State)
	var text string
	attempt := fmt.Sprintf("attempt %d of %d", j.Attempt(), j.MaxAttempts)
	switch o.State {
	case job.Completed:
		text = fmt.Sprintf("%s late, %s", short(j.Started.Sub(j.Due)), short(o.Took))
		if j.Attempt() > 1 {
			text = fmt.Sprintf("attempt %d, %s", j.Attempt(), short(o.Took))
		}
		text += message(j)
	case job.Delayed:
		word = "failed"
		text = fmt.Sprintf("%s, again in %s: %v", attempt, short(o.Pause), o.Err)
	case "":
		word, text = "lost", "the lease ran out; another attempt is made"
	default:
		text = fmt.Sprintf("%s: %v", attempt, o.Err)
	}
	fmt.Fprintf(s.out, "%s %-27s %-10s %s\n", clock.Now().Format(time.TimeOnly), label(j), word, clean(text))
}

// label names a job: a tick by its schedule and local time, a run by hand by its
// schedule.
func label(j *job.Job) string {
	if j.Schedule != "" && j.Tick.IsZero() {
		return j.Schedule + " (by hand)"
	}
	if j.Schedule != "" {
		return j.Schedule + "@" + j.Tick.Local().Format(time.TimeOnly)
	}
	return cmp.Or(j.ID, j.Name)
}

// message is what a log job says.
func message(j *job.Job) string {
	var args struct{ Message string }
	if j.Name != "log" || json.Unmarshal(j.Args, &args) != nil {
		return ""
	}
	if len(args.Message) > 60 {
		args.Message = args.Message[:60] + "…"
	}
	return fmt.Sprintf("  %q", args.Message)
}

// short shows a time span with two significant digits or so.
func short(d time.Duration) string {
	switch {
	case d < 10*time.Millisecond:
		return fmt.Sprintf("%.1fms", float64(max(d, 0))/float64(time.Millisecond))
	case d < time.Second:
		return fmt.Sprintf("%dms", d.Milliseconds())
	case d < time.Minute:
		return fmt.Sprintf("%.1fs", d.Seconds())
	}
	return duration.Format(d.Round(time.Second))
}

// clean keeps foreign text from steering the terminal.
func clean(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, text)
}
