package schedulefile

import (
	"strings"
	"testing"

	"go.yaml.in/yaml/v4"

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
		{"disabled: true", `did you mean "suspend: true"?`},
		{"paused: true", `did you mean "suspend: true"?`},
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
		{"concurrency: forbid", `did you mean "concurrencyPolicy: Forbid"?`},
		{"overlapPolicy: BufferOne", `did you mean "concurrencyPolicy: Queue"?`},
		{"overlap_policy: SCHEDULE_OVERLAP_POLICY_CANCEL_OTHER", `did you mean "concurrencyPolicy: Replace"?`},
		{"prohibit_overlap: true", `did you mean "concurrencyPolicy: Forbid"?`},
		{"no-overlap: true", `did you mean "concurrencyPolicy: Forbid"?`},
		{"allowOverlap: true", `did you mean "concurrencyPolicy: Allow"?`},
		{"max_instances: 1", `did you mean "concurrencyPolicy: Forbid"?`},
		{"max_instances: 3", `did you mean "concurrencyPolicy: Allow"?`},
		{"coalesce: true", `did you mean "catchUp: Latest"?`},
		{"catchup: false", `did you mean "catchUp: Latest"?`},
		{"Persistent: true", `did you mean "catchUp: Latest"?`},
		{"misfire: fire_once_now", `did you mean "catchUp: Latest"?`},
		{"misfire_grace_time: 3600", `did you mean "startingDeadline: 3600s"?`},
		{"catchupWindow: 1h", `did you mean "startingDeadline: 1h"?`},
		{"expires: 90.5", `did you mean "startingDeadline: 1m30.5s"?`},
		{"expires: PT10M", `did you mean "startingDeadline: 10m"?`},
		{"activeDeadlineSeconds: 600", `did you mean "timeout: 600s"?`},
		{"time_limit: 5 minutes", `did you mean "timeout: 5m"?`},
		{"RandomizedDelaySec: 45", `did you mean "jitter: 45s"?`},
		{"every: 45m", "did you mean `schedule: \"@every 45m\"`?"},
		{"interval: 30.0", "did you mean `schedule: \"@every 30s\"`?"},
		{"start_date: 2026-12-01", "did you mean `startAt: \"2026-12-01T00:00:00Z\"`?"},
		{"expires_at: '2026-12-01T00:00:00+01:00'", "did you mean `endAt: \"2026-12-01T00:00:00+01:00\"`?"},
		{"successfulJobsHistoryLimit: 3", `did you mean "history: {successful: 3}"?`},
		{"failedJobsHistoryLimit: 1", `did you mean "history: {failed: 1}"?`},
		{"pauseOnFailure: true", `did you mean "pauseAfterFailures: 1"?`},
		{"priority: High", `did you mean "queue: high"?`},
		{"retryPolicy: {maximumAttempts: 3}", `did you mean "retry"?`},
		{"retry_delay: 30", `did you mean "retry: {minBackoff: 30s}"?`},
		{"max_retry: 3", `did you mean "retry: {maxAttempts: 4}"?`},
		{"taskQueue: x", `did you mean "queue"?`},
		{"workflowType: x", `did you mean "job"?`},
		{"owner_email: x", `did you mean "owner"?`},
		{"tags: {a: b}", `did you mean "labels"?`},
		{"command: backup --all", "did you mean `job: exec, args: {command: [\"backup\", \"--all\"]}`?"},
		{"command: [backup, now]", "did you mean `job: exec, args: {command: [\"backup\", \"now\"]}`?"},
		{"command: a | b", "did you mean `job: exec, args: {command: [\"sh\", \"-c\", \"a | b\"]}`?"},
		{"url: https://example.com/x", "did you mean `job: http, args: {url: \"https://example.com/x\"}`?"},
		{"name: x", "the name of a schedule is its key"},
		{"day_of_week: 1", "one expression says it all"},
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

// What other products take for a schedule is written as an expression.
func TestDidYouMeanExpression(t *testing.T) {
	tests := []struct{ schedule, want string }{
		{`crontab(minute=0, hour=7)`, "0 7 * * *"},
		{`crontab(minute='*/15', day_of_week="mon-fri")`, "*/15 * * * mon-fri"},
		{`crontab()`, "* * * * *"},
		{`crontab(minute=0, our=7)`, ""},
		{`timedelta(minutes=5)`, "@every 5m"},
		{`timedelta(days=1, hours=2)`, "@every 1d2h"},
		{`rate(5 minutes)`, "@every 5m"},
		{`rate(1 day)`, "@every 1d"},
		{`cron(0 12 * * ? *)`, "0 12 * * ?"},
		{`every 5 minutes`, "@every 5m"},
		{`every minute`, "@every 1m"},
		{`every 30s`, "@every 30s"},
		{`30s`, "@every 30s"},
		{`1h30m`, "@every 1h30m"},
		{`PT15M`, "@every 15m"},
		{`Hourly`, "@hourly"},
		{`30.0`, "@every 30s"},
		{`300`, "@every 300s"},
		{`{minute: 0, hour: 7}`, "0 7 * * *"},
		{`{minute: "*/5", day_of_week: "1-5", month: 3}`, "*/5 * * 3 1-5"},
		{`{minute: 61}`, ""},
		{`{minute: 1, other: 2}`, ""},
		{`every day at noon`, ""},
		{`0s`, ""},
		{`rate(5 lightyears)`, ""},
		{`500ms`, ""},
	}
	for _, tt := range tests {
		value := tt.schedule
		if strings.Contains(value, "(") {
			value = "'" + strings.ReplaceAll(value, "'", "''") + "'"
		}
		r := load("version: 1\nschedules:\n  a:\n    schedule: " + value + "\n    job: x\n")
		if len(r.Problems) != 1 {
			t.Errorf("%s: want one problem, got\n%s", value, report(r))
			continue
		}
		hint := r.Problems[0].Hint
		if want := `did you mean "` + tt.want + `"?`; tt.want != "" && hint != want || tt.want == "" && strings.Contains(hint, "did you mean") {
			t.Errorf("%s: hint is %s, want %s", value, hint, want)
		}
		if tt.want != "" && load("version: 1\nschedules:\n  a:\n    schedule: '"+tt.want+"'\n    job: x\n").Errors() > 0 {
			t.Errorf("%s: %q is no expression", value, tt.want)
		}
	}
}

// Whatever a foreign word is given as its value, there is a hint of one line, and
// what it proposes for a scalar is a field that loads.
func TestEveryForeignWord(t *testing.T) {
	values := []string{
		"x", "true", "false", "0", "1", "5", "-3", "2.5", "1e400", "''", "~", "30s", "5 minutes", "PT50M", "P1Y", "2026-12-01",
		"'2026-12-01T10:00:00Z'", "[]", "[a, b]", "{}", "{a: 1}", "Forbid", "SKIP", "latest", "'a\"b`c'", `"\u0007\n"`,
		strings.Repeat("9", 400), "'" + strings.Repeat("x ", 400) + "'",
	}
	words := map[string]bool{}
	for w := range foreign {
		words[w] = true
	}
	for w := range rewrites {
		words[w] = true
	}
	for w := range remarks {
		words[w] = true
	}
	for w := range words {
		for _, v := range values {
			for _, l := range []level{topLevel, defaultsLevel, entryLevel, retryLevel, historyLevel} {
				if contains(l.now, w) || contains(l.later, w) {
					continue
				}
				checkHint(t, l, w, v)
			}
		}
	}
}

func checkHint(t *testing.T, l level, word, value string) {
	t.Helper()
	var doc yaml.Node
	if err := yaml.Unmarshal([]byte(word+": "+value), &doc); err != nil {
		t.Fatal(err)
	}
	m := doc.Content[0]
	s := suggest(l, pair{word, m.Content[0], m.Content[1]})
	if strings.ContainsAny(s.hint, "\n\x07") || len(s.hint) > 400 {
		t.Errorf("%s: %s: hint %q", word, value, s.hint)
	}
	for _, f := range s.fields {
		if !l.has(f) {
			t.Errorf("%s: %s: %q is no field here", word, value, f)
		}
	}
	_, text, ok := strings.Cut(s.hint, "did you mean ")
	if !ok || !strings.Contains(text, ": ") || strings.Contains(text, "…") || len(s.fields) != 1 || !l.has("job") || s.fields[0] == "queue" {
		return
	}
	field := strings.Trim(strings.TrimSuffix(text, "?"), "`")
	if field[0] == '"' {
		field = strings.Trim(field, `"`)
	}
	entry := "version: 1\nschedules:\n  a:\n    job: x\n    " + field + "\n"
	if s.fields[0] != "schedule" {
		entry += "    schedule: '@daily'\n"
	}
	if r := load(entry); r.Errors() > 0 {
		t.Errorf("%s: %s: the hint %s does not load:\n%s", word, value, s.hint, report(r))
	}
}
