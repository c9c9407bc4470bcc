package schedulefile

import (
	"fmt"
	"time"

	"github.com/bide-go/bide/internal/cronexpr"
	"github.com/bide-go/bide/job"
	"github.com/bide-go/bide/scheduler"
)

// entry is one schedule while it is read. Fields are read in the order of the
// file; what needs several of them comes after.
type entry struct {
	opt      Options
	defaults defaults
	known    fields
	own      settings
	exprs    []expression
	exprsBad bool // one at least could not be read
	def      scheduler.Definition

	loc   *time.Location // nil if the zone is bad
	ticks *cronexpr.Set  // nil if the zone or an expression is bad
}

func (e *entry) read(s scope, p pair) {
	if !isMap(p.value) {
		s.wrongType(p, "a map", "")
		return
	}
	pairs, _ := s.pairs(p.value)
	e.known = s.sortOut(entryLevel, pairs)
	for _, p := range e.known.order {
		field := s.child(p.name)
		if !e.own.read(field, p) {
			e.readOwn(field, p)
		}
	}
	for _, name := range []string{"schedule", "job"} {
		if e.known.get(name) == nil && !e.known.meant[name] {
			s.child(name).fail("E005", p.key, fmt.Sprintf("%s is missing in %s", name, s.root), "")
		}
	}
	e.takeDefaults(s)
	e.findTicks(s)
	e.checkTogether(s)
	e.define()
}

// readOwn reads a field that only an entry has.
func (e *entry) readOwn(s scope, p pair) {
	switch p.name {
	case "schedule":
		var bad bool
		own := s
		own.bad = &bad
		e.exprs = own.expressions(p)
		e.exprsBad = bad
		*s.bad = *s.bad || bad
	case "job":
		e.def.Job = e.job(s, p)
	case "args":
		e.def.Args = s.args(p)
	case "pauseAfterFailures":
		n, _ := s.integer(p, 0, maxPauseAfter)
		e.def.PauseAfterFailures = int(n)
	case "suspend":
		e.def.Suspend, _ = s.boolean(p)
	case "description":
		e.def.Description = s.description(p)
	case "owner":
		e.def.Owner, _ = s.text(p)
	case "runbook":
		e.def.Runbook = s.webURL(p)
	case "labels":
		e.def.Labels = s.labels(p)
	}
}

// maxPauseAfter bounds pauseAfterFailures.
const maxPauseAfter = 1_000_000

// The bundled handlers that need more than a check of their args.
const (
	execHandler = "exec"
	httpHandler = "http"
)

func (e *entry) job(s scope, p pair) string {
	if isNull(p.value) {
		s.fail("E005", p.key, s.label()+" is missing", "give the name of a handler")
		return ""
	}
	name, ok := s.text(p)
	if !ok {
		return ""
	}
	if err := job.CheckName(name); err != nil {
		s.fail("E007", p.at(), err.Error(), "")
		return ""
	}
	if e.opt.Later != nil && e.opt.Later(name) {
		s.fail("E025", p.at(), fmt.Sprintf("%s: the handler %q is known, but not in this version", s.label(), name), "")
		return ""
	}
	if name == execHandler && !e.opt.AllowExec {
		s.fail("E022", p.at(), fmt.Sprintf("%s: the handler %q runs commands as the user of the worker, which is not allowed here", s.label(), name), "allow it with --allow-exec")
	}
	return name
}

// takeDefaults fills in what the entry does not set itself.
func (e *entry) takeDefaults(s scope) {
	d := e.defaults
	for _, name := range defaultsLevel.now {
		if e.known.get(name) != nil {
			continue
		}
		if d.all || d.broken[name] {
			*s.bad = true
		}
		e.own.take(name, d.settings)
	}
}

// define completes the definition. A policy that is what it would be without being
// written is left empty, so that writing it down changes nothing.
func (e *entry) define() {
	for _, x := range e.exprs {
		e.def.Schedule = append(e.def.Schedule, x.text)
	}
	e.def.TimeZone, e.def.Queue, e.def.Timeout = e.own.timeZone, e.own.queue, e.own.timeout
	e.def.MaxAttempts = e.own.retry.maxAttempts
	e.def.MinBackoff, e.def.MaxBackoff = e.own.retry.minBackoff, e.own.retry.maxBackoff
	e.def.Args = argsOrNull(e.def.Args)
	e.def.Jitter = e.own.jitter
	if e.own.concurrency != scheduler.Forbid {
		e.def.ConcurrencyPolicy = e.own.concurrency
	}
	if e.own.catchUp != scheduler.Latest {
		e.def.CatchUp = e.own.catchUp
	}
	if e.own.startingDeadline != scheduler.DefaultStartingDeadline {
		e.def.StartingDeadline = e.own.startingDeadline
	}
	if e.own.history != nil && *e.own.history != scheduler.DefaultHistory {
		e.def.History = e.own.history
	}
}
