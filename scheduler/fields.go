package scheduler

import (
	"bytes"
	"cmp"
	"encoding/json"
	"maps"
	"reflect"
	"strings"
	"time"

	"github.com/bide-go/bide/internal/duration"
	"github.com/bide-go/bide/job"
)

// encode is the definition as Redis keeps it.
func (d Definition) encode() string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(d) // checked args and plain values always encode
	return strings.TrimSuffix(b.String(), "\n")
}

func decodeDefinition(text string) (Definition, error) {
	var d Definition
	err := json.Unmarshal([]byte(text), &d)
	return d, err
}

// field is one field of schedules.yaml: what it means is the value, with defaults
// filled in.
type field struct {
	name  string
	value any
	times bool // it decides which ticks there are
}

// fields lists all of a definition's meaning, in the order of the file's reference.
// Where it stands is no part of it.
func (d Definition) fields() []field {
	span := func(d, unset time.Duration) any { return duration.Format(cmp.Or(d, unset)) }
	text := func(s string) any {
		if s == "" {
			return nil
		}
		return s
	}
	instant := func(t time.Time) any {
		if t.IsZero() {
			return nil
		}
		return t.UTC().Format(time.RFC3339Nano)
	}
	var labels any
	if len(d.Labels) > 0 {
		labels = maps.Clone(d.Labels)
	}
	h := d.history()
	return []field{
		{"schedule", d.Schedule, true},
		{"timeZone", cmp.Or(d.TimeZone, "UTC"), true},
		{"job", d.Job, false},
		{"args", json.RawMessage(compact(d.Args)), false},
		{"queue", cmp.Or(d.Queue, job.DefaultQueue), false},
		{"timeout", span(d.Timeout, job.DefaultTimeout), false},
		{"retry.maxAttempts", cmp.Or(d.MaxAttempts, job.DefaultMaxAttempts), false},
		{"retry.minBackoff", span(d.MinBackoff, job.DefaultMinBackoff), false},
		{"retry.maxBackoff", span(d.MaxBackoff, job.DefaultMaxBackoff), false},
		{"suspend", d.Suspend, true},
		{"description", text(d.Description), false},
		{"owner", text(d.Owner), false},
		{"runbook", text(d.Runbook), false},
		{"labels", labels, false},
		{"concurrencyPolicy", string(cmp.Or(d.ConcurrencyPolicy, Forbid)), false},
		{"catchUp", string(cmp.Or(d.CatchUp, Latest)), false},
		{"startingDeadline", span(d.StartingDeadline, DefaultStartingDeadline), false},
		{"jitter", span(d.Jitter, 0), true},
		{"startAt", instant(d.StartAt), true},
		{"endAt", instant(d.EndAt), true},
		{"history.successful", h.Successful, false},
		{"history.failed", h.Failed, false},
		{"pauseAfterFailures", d.PauseAfterFailures, false},
	}
}

// changes lists the fields in which two definitions differ.
func changes(a, b Definition) []field {
	var list []field
	other := b.fields()
	for i, f := range a.fields() {
		if !reflect.DeepEqual(f.value, other[i].value) {
			list = append(list, f)
		}
	}
	return list
}

// same reports whether two definitions mean the same, wherever they stand.
func same(a, b Definition) bool { return len(changes(a, b)) == 0 }

// sameTimes reports whether two definitions have the same ticks.
func sameTimes(a, b Definition) bool {
	for _, f := range changes(a, b) {
		if f.times {
			return false
		}
	}
	return true
}

func compact(args json.RawMessage) []byte {
	var b bytes.Buffer
	if len(args) == 0 || json.Compact(&b, args) != nil {
		return []byte("null")
	}
	return b.Bytes()
}
