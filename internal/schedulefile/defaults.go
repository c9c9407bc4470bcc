package schedulefile

import (
	"fmt"
	"time"

	"github.com/bide-go/bide/job"
	"github.com/bide-go/bide/scheduler"
)

// settings are the fields that an entry can also get from the defaults. An
// entry's value replaces a default whole, so retry is one of them, not three.
type settings struct {
	timeZone         string
	queue            string
	timeout          time.Duration
	retry            retry
	concurrency      scheduler.ConcurrencyPolicy
	catchUp          scheduler.CatchUp
	startingDeadline time.Duration
	jitter           time.Duration
	history          *scheduler.History
}

// defaults are the settings of a file's own defaults.
type defaults struct {
	settings
	// broken are the fields that could not be read: entries that rely on them
	// are bad. all says the same of every field, as after a misspelt name.
	broken map[string]bool
	all    bool
	// given are the fields that the file sets.
	given fields
}

func readDefaults(src *source, p *pair) defaults {
	d := defaults{settings: settings{
		timeZone: "UTC", queue: job.DefaultQueue, concurrency: scheduler.Forbid, catchUp: scheduler.Latest,
	}, broken: map[string]bool{}}
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
	d.given = s.sortOut(defaultsLevel, pairs)
	for _, p := range d.given.order {
		var bad bool
		field := s.child(p.name)
		field.bad = &bad
		d.read(field, p)
		d.broken[p.name] = bad
	}
	return d
}

// take copies the setting of that name from another place.
func (set *settings) take(name string, from settings) {
	switch name {
	case "timeZone":
		set.timeZone = from.timeZone
	case "queue":
		set.queue = from.queue
	case "timeout":
		set.timeout = from.timeout
	case "retry":
		set.retry = from.retry
	case "concurrencyPolicy":
		set.concurrency = from.concurrency
	case "catchUp":
		set.catchUp = from.catchUp
	case "startingDeadline":
		set.startingDeadline = from.startingDeadline
	case "jitter":
		set.jitter = from.jitter
	case "history":
		set.history = from.history
	}
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
	case "concurrencyPolicy":
		set.concurrency = scheduler.ConcurrencyPolicy(s.word(p, concurrencyWords, foreignConcurrency))
	case "catchUp":
		set.catchUp = scheduler.CatchUp(s.word(p, catchUpWords, foreignCatchUp))
	case "startingDeadline":
		set.startingDeadline = s.deadline(p)
	case "jitter":
		set.jitter = s.durationOrZero(p)
	case "history":
		set.history = s.history(p)
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
