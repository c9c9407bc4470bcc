package schedulefile

import (
	"strings"
	"testing"

	"github.com/bide-go/bide/internal/spelling"
)

func TestDidYouMean(t *testing.T) {
	tests := []struct{ field, want string }{
		// Words of other products.
		{"cron: x", `did you mean "schedule"?`},
		{"cronspec: x", `did you mean "schedule"?`},
		{"spec: x", `did you mean "schedule"?`},
		{"timezone: x", `did you mean "timeZone"?`},
		{"time_zone: x", `did you mean "timeZone"?`},
		{"tz: x", `did you mean "timeZone"?`},
		{"disabled: true", `did you mean "suspend"?`},
		{"paused: true", `did you mean "suspend"?`},
		{"enabled: true", `did you mean "suspend: false"?`},
		{"enabled: false", `did you mean "suspend: true"?`},
		{"concurrency: x", `did you mean "concurrencyPolicy"?`},
		{"overlap: x", `did you mean "concurrencyPolicy"?`},
		{"missed: x", `did you mean "catchUp"?`},
		{"startingDeadlineSeconds: 200", `did you mean "startingDeadline: 200s"?`},
		{"timeoutSeconds: 30", `did you mean "timeout: 30s"?`},
		{"retries: 3", `did you mean "retry: {maxAttempts: 4}"?`},
		{"backoffLimit: 6", `did you mean "retry: {maxAttempts: 7}"?`},
		{"maxAttempts: 5", `did you mean "retry: {maxAttempts: 5}"?`},
		{"minBackoff: 10s", `did you mean "retry: {minBackoff: 10s}"?`},
		{"class: x", `did you mean "job"?`},
		{"type: x", `did you mean "job"?`},
		{"task: x", `did you mean "job"?`},
		{"handler: x", `did you mean "job"?`},
		{"payload: x", `did you mean "args"?`},
		{"kwargs: x", `did you mean "args"?`},
		{"params: x", `did you mean "args"?`},
		{"http: {url: x}", `did you mean "job: http" with the rest under "args"?`},
		{"exec: {command: [x]}", `did you mean "job: exec" with the rest under "args"?`},
		// Slips of the hand, in fields of this version and of later ones.
		{"schedle: x", `did you mean "schedule"?`},
		{"jobs: x", `did you mean "job"?`},
		{"arg: x", `did you mean "args"?`},
		{"qeue: x", `did you mean "queue"?`},
		{"Description: x", `did you mean "description"?`},
		{"run-book: x", `did you mean "runbook"?`},
		{"jittr: 3s", `did you mean "jitter"?`},
		{"catchup: x", `did you mean "catchUp"?`},
		{"start_at: x", `did you mean "startAt"?`},
		{"conccurencyPolicy: x", `did you mean "concurrencyPolicy"?`},
		{"pauseAfterFailure: 3", `did you mean "pauseAfterFailures"?`},
		// Nothing like it.
		{"x: 1", "the fields here are schedule, "},
		{"priority: 1", "the fields here are schedule, "},
		{strings.Repeat("schedule", 100) + ": x", "the fields here are schedule, "},
	}
	for _, tt := range tests {
		r := load("version: 1\nschedules:\n  a:\n    schedule: '@daily'\n    job: x\n    args: {}\n    " + tt.field + "\n")
		if len(r.Problems) != 1 || r.Problems[0].Code != "E002" || !strings.HasPrefix(r.Problems[0].Hint, tt.want) {
			t.Errorf("%.60s: want %s, got\n%s", tt.field, tt.want, report(r))
		}
	}
}

// A misspelt field is one mistake: it is not reported as missing as well.
func TestMisspeltIsNotMissing(t *testing.T) {
	for _, text := range []string{
		"version: 1\nschedules:\n  a: {cron: '@daily', task: x}\n",
		"version: 1\nschedules:\n  a: {cron: '@daily', http: {url: x}}\n",
		"version: 1\nshedules:\n  a: {}\n",
		"Version: 1\nschedules: {}\n",
	} {
		for _, p := range load(text).Problems {
			if p.Code != "E002" {
				t.Errorf("%q: %s %s", text, p.Code, p.Message)
			}
		}
	}
}

func TestDistance(t *testing.T) {
	tests := []struct {
		a, b string
		want int
	}{
		{"", "", 0}, {"abc", "abc", 0}, {"abc", "", 3}, {"", "ab", 2}, {"abc", "acb", 1}, {"ab", "ba", 1},
		{"kitten", "sitting", 3}, {"schedule", "schedle", 1}, {"größe", "grösse", 2},
	}
	for _, tt := range tests {
		if got := spelling.Distance(tt.a, tt.b); got != tt.want {
			t.Errorf("spelling.Distance(%q, %q) = %d, want %d", tt.a, tt.b, got, tt.want)
		}
	}
}
