package schedulefile

import (
	"fmt"
	"strings"
)

// level is a place in the file with a fixed set of fields. Those of a later
// version are known by name, so that they can be told from misspelt ones.
type level struct {
	now, later []string
}

var (
	topLevel = level{
		now:   []string{"version", "defaults", "schedules"},
		later: []string{"channels"},
	}
	defaultsLevel = level{
		now: []string{
			"timeZone", "queue", "timeout", "retry", "concurrencyPolicy", "catchUp", "startingDeadline", "jitter", "history",
		},
		later: []string{"notify"},
	}
	entryLevel = level{
		now: []string{
			"schedule", "timeZone", "job", "args", "queue", "timeout", "retry",
			"concurrencyPolicy", "catchUp", "startingDeadline", "jitter", "startAt", "endAt", "history", "pauseAfterFailures",
			"suspend", "description", "owner", "runbook", "labels",
		},
		later: []string{"channels", "notify", "ping"},
	}
	historyLevel = level{now: []string{"successful", "failed"}}
	retryLevel   = level{now: []string{"maxAttempts", "minBackoff", "maxBackoff"}}
)

// fields are the pairs of a map whose names are known, by name.
type fields struct {
	known map[string]pair
	order []pair
	// meant are the fields that misspelt ones probably stood for: they are not
	// reported as missing too.
	meant map[string]bool
}

func (f fields) get(name string) *pair {
	if p, ok := f.known[name]; ok {
		return &p
	}
	return nil
}

// sortOut keeps the pairs that the level knows and notes the others.
func (s scope) sortOut(l level, pairs []pair) fields {
	f := fields{known: map[string]pair{}, meant: map[string]bool{}}
	for _, p := range pairs {
		switch {
		case contains(l.now, p.name):
			f.known[p.name] = p
			f.order = append(f.order, p)
		case contains(l.later, p.name):
			s.child(p.name).fail("E025", p.key, fmt.Sprintf("field %q %s is known, but not in this version", p.name, s.where()), "remove it")
		default:
			for _, name := range s.unknown(l, p) {
				f.meant[name] = true
			}
		}
	}
	return f
}

// unknown notes a field that does not exist here, and returns those it was
// probably meant to be.
func (s scope) unknown(l level, p pair) (meant []string) {
	if s.src.full(SeverityError) {
		*s.bad = true
		return nil
	}
	message := fmt.Sprintf("unknown field %s %s", quote(p.name), s.where())
	sug := suggest(l, p)
	if sug.hint == "" {
		sug.hint = "the fields here are " + strings.Join(l.now, ", ")
	}
	s.child(p.name).fail("E002", p.key, message, sug.hint)
	return sug.fields
}

func contains(list []string, word string) bool {
	for _, w := range list {
		if w == word {
			return true
		}
	}
	return false
}

func (l level) has(name string) bool { return contains(l.now, name) || contains(l.later, name) }

// fields are all that the level knows.
func (l level) fields() []string { return append(append([]string{}, l.now...), l.later...) }
