package schedulefile

import (
	"fmt"
	"time"

	"github.com/bide-go/bide/internal/duration"
	"github.com/bide-go/bide/job"
)

// settings are the fields that an entry can also get from the defaults. An
// entry's value replaces a default whole, so retry is one of them, not three.
type settings struct {
	timeZone string
	queue    string
	timeout  time.Duration
	retry    retry
}

type retry struct {
	maxAttempts            int
	minBackoff, maxBackoff time.Duration
}

// defaults are the settings of a file's own defaults.
type defaults struct {
	settings
	// broken are the fields that could not be read: entries that rely on them
	// are bad. all says the same of every field, as after a misspelt name.
	broken map[string]bool
	all    bool
}

func readDefaults(src *source, p *pair) defaults {
	d := defaults{settings: settings{timeZone: "UTC", queue: job.DefaultQueue}, broken: map[string]bool{}}
	if p == nil {
		return d
	}
	s := scope{src: src, path: "defaults", root: "defaults", bad: &d.all}
	if !isMap(p.value) {
		s.wrongType(*p, "a map", "")
		return d
	}
	pairs, refused := s.pairs(p.value)
	d.all = d.all || len(refused) > 0
	for _, p := range s.sortOut(defaultsLevel, pairs).order {
		var bad bool
		field := s.child(p.name)
		field.bad = &bad
		d.read(field, p)
		d.broken[p.name] = bad
	}
	return d
}

// read reads the setting of that name; it reports whether it is one.
func (set *settings) read(s scope, p pair) bool {
	switch p.name {
	case "timeZone":
		set.timeZone = s.zone(p)
	case "queue":
		set.queue = s.queue(p)
	case "timeout":
		set.timeout = s.duration(p)
	case "retry":
		set.retry = s.retry(p)
	default:
		return false
	}
	return true
}

func (s scope) queue(p pair) string {
	queue, ok := s.text(p)
	if !ok {
		return ""
	}
	if err := job.CheckQueue(queue); err != nil {
		s.fail("E007", p.at(), err.Error(), "")
		return ""
	}
	if queue != "high" && queue != "medium" && queue != "low" {
		s.warn("W112", p.at(), fmt.Sprintf("queue %q is not one of high, medium, low", queue),
			"workers serve it only if --queues names it")
	}
	return queue
}

const maxAttempts = 100

func (s scope) retry(p pair) (r retry) {
	if !isMap(p.value) {
		hint := "for example retry: {maxAttempts: 4}"
		if p.value.Tag == "!!int" {
			hint = fmt.Sprintf("write retry: {maxAttempts: %s}", shorten(p.value.Value))
		}
		s.wrongType(p, "a map", hint)
		return r
	}
	pairs, _ := s.pairs(p.value)
	known := s.sortOut(retryLevel, pairs)
	for _, p := range known.order {
		field := s.child(p.name)
		switch p.name {
		case "maxAttempts":
			n, _ := field.integer(p, 1, maxAttempts)
			r.maxAttempts = int(n)
		case "minBackoff":
			r.minBackoff = field.duration(p)
		case "maxBackoff":
			r.maxBackoff = field.duration(p)
		}
	}
	s.checkBackoff(known, r)
	return r
}

// checkBackoff compares the bounds, a missing one being its default.
func (s scope) checkBackoff(known fields, r retry) {
	lo, hi := known.get("minBackoff"), known.get("maxBackoff")
	least, most := orDefault(r.minBackoff, job.DefaultMinBackoff), orDefault(r.maxBackoff, job.DefaultMaxBackoff)
	if least <= most || lo != nil && r.minBackoff == 0 || hi != nil && r.maxBackoff == 0 {
		return
	}
	switch {
	case lo == nil:
		s.child("maxBackoff").fail("E008", hi.at(), fmt.Sprintf("%s is below minBackoff, which is %s by default", s.child("maxBackoff").label(), duration.Format(job.DefaultMinBackoff)), "set minBackoff too")
	case hi == nil:
		s.child("minBackoff").fail("E008", lo.at(), fmt.Sprintf("%s is above maxBackoff, which is %s by default", s.child("minBackoff").label(), duration.Format(job.DefaultMaxBackoff)), "set maxBackoff too")
	default:
		s.child("minBackoff").fail("E008", lo.at(), fmt.Sprintf("%s is above maxBackoff", s.child("minBackoff").label()), "minBackoff must be at most maxBackoff")
	}
}

func orDefault(d, def time.Duration) time.Duration {
	if d == 0 {
		return def
	}
	return d
}
