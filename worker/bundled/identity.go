package bundled

import (
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/bide-go/bide/job"
)

// traceparent is the header of a job that goes on into what its handler calls.
const traceparent = "traceparent"

// tickOf is the planned instant of a schedule's job, empty for others.
func tickOf(j *job.Job) string {
	if j.Tick.IsZero() {
		return ""
	}
	return j.Tick.UTC().Format(time.RFC3339)
}

// identify tells a server in headers which job calls it. What does not apply to
// the job is left out.
func identify(h http.Header, j *job.Job) {
	for name, value := range map[string]string{
		"Bide-Job-Id":          j.ID,
		"Bide-Attempt":         strconv.Itoa(j.Attempt()),
		"Bide-Max-Attempts":    strconv.Itoa(j.MaxAttempts),
		"Bide-Trigger":         string(j.Trigger),
		"Bide-Schedule":        j.Schedule,
		"Bide-Tick":            tickOf(j),
		"Bide-Previous-Status": string(j.PreviousStatus),
		"Traceparent":          j.Headers[traceparent],
	} {
		if value != "" && headerValue(value) {
			h.Set(name, value)
		}
	}
}

// identity tells a command in its environment which job it runs for. What does not
// apply to the job is empty, so that a script may read all of it.
func identity(j *job.Job) map[string]string {
	trace := j.Headers[traceparent]
	if strings.ContainsRune(trace, 0) {
		trace = ""
	}
	return map[string]string{
		"BIDE_JOB_ID":          j.ID,
		"BIDE_JOB_NAME":        j.Name,
		"BIDE_QUEUE":           j.Queue,
		"BIDE_ATTEMPT":         strconv.Itoa(j.Attempt()),
		"BIDE_MAX_ATTEMPTS":    strconv.Itoa(j.MaxAttempts),
		"BIDE_TRIGGER":         string(j.Trigger),
		"BIDE_SCHEDULE":        j.Schedule,
		"BIDE_TICK":            tickOf(j),
		"BIDE_PREVIOUS_STATUS": string(j.PreviousStatus),
		"BIDE_WORKER":          j.Worker,
		"TRACEPARENT":          trace,
	}
}
