package schedulefile

import (
	"cmp"
	"fmt"
	"net/url"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/bide-go/bide/job"
	"github.com/bide-go/bide/scheduler"
)

// entry is one schedule while it is read. Fields are read in the order of the
// file; what needs several of them comes after.
type entry struct {
	opt      Options
	defaults defaults
	known    fields
	set      settings
	exprs    []expression
	def      scheduler.Definition
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
		if !e.set.read(field, p) {
			e.readOwn(field, p)
		}
	}
	for _, name := range []string{"schedule", "job"} {
		if e.known.get(name) == nil && !e.known.meant[name] {
			s.child(name).fail("E005", p.key, fmt.Sprintf("%s is missing in %s", name, s.root), "")
		}
	}
	e.takeDefaults(s)
	e.checkTogether(s)
	e.define()
}

// readOwn reads a field that only an entry has.
func (e *entry) readOwn(s scope, p pair) {
	switch p.name {
	case "schedule":
		e.exprs = s.expressions(p)
	case "job":
		e.def.Job = e.job(s, p)
	case "args":
		e.def.Args = s.args(p)
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
		switch name {
		case "timeZone":
			e.set.timeZone = d.timeZone
		case "queue":
			e.set.queue = d.queue
		case "timeout":
			e.set.timeout = d.timeout
		case "retry":
			e.set.retry = d.retry
		}
	}
}

// checkTogether makes the checks that need more than one field.
func (e *entry) checkTogether(s scope) {
	for _, x := range e.exprs {
		x.warnings(e.set.timeZone, e.opt.Now)
	}
	if p := e.known.get("suspend"); p != nil && e.def.Suspend && strings.TrimSpace(e.def.Description) == "" {
		s.child("suspend").warn("W111", p.key, s.root+" is suspended without a description", "say why in description")
	}
	e.checkArgs(s)
}

// checkArgs hands the args to the handler's own check, if they could be read.
func (e *entry) checkArgs(s scope) {
	p := e.known.get("args")
	at := e.known.get("job")
	if e.opt.CheckArgs == nil || e.def.Job == "" || at == nil || p != nil && e.def.Args == nil || e.known.meant["args"] {
		return
	}
	s = s.child("args")
	for _, problem := range e.opt.CheckArgs(e.def.Job, argsOrNull(e.def.Args)) {
		in, node := s, at.at()
		if p != nil {
			node = argNode(*p, problem.Path)
		}
		if problem.Path != "" {
			in = s.child(problem.Path)
		}
		in.fail(cmp.Or(problem.Code, "E006"), node, fmt.Sprintf("args of %q in %s: %s", e.def.Job, s.root, problem.Message), problem.Hint)
	}
}

// define completes the definition.
func (e *entry) define() {
	for _, x := range e.exprs {
		e.def.Schedule = append(e.def.Schedule, x.text)
	}
	e.def.TimeZone, e.def.Queue, e.def.Timeout = e.set.timeZone, e.set.queue, e.set.timeout
	e.def.MaxAttempts = e.set.retry.maxAttempts
	e.def.MinBackoff, e.def.MaxBackoff = e.set.retry.minBackoff, e.set.retry.maxBackoff
	e.def.Args = argsOrNull(e.def.Args)
}

const maxDescription = 500 // characters

func (s scope) description(p pair) string {
	text, ok := s.text(p)
	if n := utf8.RuneCountInString(text); ok && n > maxDescription {
		s.fail("E008", p.at(), fmt.Sprintf("%s has %d characters, %d are allowed", s.label(), n, maxDescription), "put the rest into the runbook")
	}
	return text
}

func (s scope) webURL(p pair) string {
	text, ok := s.text(p)
	if !ok {
		return ""
	}
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" {
		s.fail("E021", p.at(), fmt.Sprintf("%s must be an http or https URL with a host, not %s", s.label(), quote(text)),
			`for example "https://wiki.example.com/runbooks/invoices"`)
	}
	return text
}

// labelRule is what a label may be called: text that needs no quotes in a shell,
// in key=value or in a comma-separated list, and fits a metric or an alert.
var labelRule = regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9._/-]{0,61}[A-Za-z0-9])?$`)

func (s scope) labels(p pair) map[string]string {
	if !isMap(p.value) {
		s.wrongType(p, "a map of texts", "")
		return nil
	}
	pairs, _ := s.pairs(p.value)
	labels := map[string]string{}
	for _, p := range pairs {
		field := s.child(p.name)
		if !labelRule.MatchString(p.name) {
			field.fail("E007", p.key, fmt.Sprintf("label %s in %s must be letters, digits and . _ / - (at most 63), beginning and ending with a letter or digit", quote(p.name), s.root), "")
			continue
		}
		labels[p.name], _ = field.text(p)
	}
	if len(labels) == 0 {
		return nil
	}
	return labels
}
