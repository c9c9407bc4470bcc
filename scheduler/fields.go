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
	part  part
}

// part is what of a schedule a field decides.
type part int

const (
	about part = iota // what people read, and the rules by which runs go
	jobs              // the jobs of its ticks
	times             // which ticks there are
)

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
		{"schedule", d.Schedule, times},
		{"timeZone", cmp.Or(d.TimeZone, "UTC"), times},
		{"job", d.Job, jobs},
		{"args", json.RawMessage(compact(d.Args)), jobs},
		{"queue", cmp.Or(d.Queue, job.DefaultQueue), jobs},
		{"timeout", span(d.Timeout, job.DefaultTimeout), jobs},
		{"retry.maxAttempts", cmp.Or(d.MaxAttempts, job.DefaultMaxAttempts), jobs},
		{"retry.minBackoff", span(d.MinBackoff, job.DefaultMinBackoff), jobs},
		{"retry.maxBackoff", span(d.MaxBackoff, job.DefaultMaxBackoff), jobs},
		{"suspend", d.Suspend, times},
		{"description", text(d.Description), about},
		{"owner", text(d.Owner), about},
		{"runbook", text(d.Runbook), about},
		{"labels", labels, about},
		{"concurrencyPolicy", string(cmp.Or(d.ConcurrencyPolicy, Forbid)), about},
		{"catchUp", string(cmp.Or(d.CatchUp, Latest)), jobs},
		{"startingDeadline", span(d.StartingDeadline, DefaultStartingDeadline), jobs},
		{"jitter", span(d.Jitter, 0), times},
		{"startAt", instant(d.StartAt), times},
		{"endAt", instant(d.EndAt), times},
		{"history.successful", h.Successful, about},
		{"history.failed", h.Failed, about},
		{"pauseAfterFailures", d.PauseAfterFailures, about},
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

// sameTimes reports whether two definitions have the same ticks, sameJobs whether
// the same jobs are made of them.
func sameTimes(a, b Definition) bool { return !differIn(a, b, times) }
func sameJobs(a, b Definition) bool  { return !differIn(a, b, jobs) }

func differIn(a, b Definition, p part) bool {
	for _, f := range changes(a, b) {
		if f.part == p {
			return true
		}
	}
	return false
}

func compact(args json.RawMessage) []byte {
	var b bytes.Buffer
	if len(args) == 0 || json.Compact(&b, args) != nil {
		return []byte("null")
	}
	return b.Bytes()
}
