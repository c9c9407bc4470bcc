package cli

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	prettytext "github.com/jedib0t/go-pretty/v6/text"

	"github.com/bide-go/bide/job"
	"github.com/bide-go/bide/scheduler"
)

// inJSON is a reply as a program reads it.
func inJSON(t *testing.T, reply any) string {
	t.Helper()
	var out bytes.Buffer
	p := &program{stdout: &output{w: &out}}
	if err := p.writeJSON(reply); err != nil {
		t.Fatal(err)
	}
	return strings.TrimSuffix(out.String(), "\n")
}

// Every key is there, and null where there is nothing.
func TestScheduleJSONOfNothing(t *testing.T) {
	t.Parallel()
	empty := scheduler.Status{Definition: scheduler.Definition{Name: "a", Schedule: []string{"@daily"}, Job: "mail"}, State: scheduler.ScheduleActive, LastDuration: -1}
	item := `"name":"a","schedule":["@daily"],"timeZone":"UTC","job":"mail","queue":"medium","state":"active","next":null,"lastTick":null,"lastRun":null,` +
		`"lastOutcome":null,"lastStarted":null,"lastDurationSeconds":null,"lastSuccess":null,"consecutiveFailures":0,"running":0,"missed":0,` +
		`"skipped":0,"owner":null,"labels":null,"pause":null`
	for _, tt := range []struct {
		reply any
		want  string
	}{
		{scheduleItemOf(empty), "{" + item + "}"},
		{scheduleWholeOf(scheduler.Details{Status: empty}), "{" + item +
			`,"lastTickOutcome":null,"lastTickReason":null,"definition":{"schedule":["@daily"],"timeZone":"UTC","job":"mail","args":null,"queue":"medium","timeoutSeconds":600,` +
			`"retry":{"maxAttempts":4,"minBackoffSeconds":1,"maxBackoffSeconds":3600},"suspend":false,"concurrencyPolicy":"Forbid","catchUp":"Latest",` +
			`"startingDeadlineSeconds":3600,"jitterSeconds":0,"startAt":null,"endAt":null,"history":{"successful":100,"failed":100},"pauseAfterFailures":0,` +
			`"description":null,"owner":null,"runbook":null,"labels":null},` +
			`"source":{"file":null,"line":null,"appliedBy":null,"appliedAt":null,"setAppliedBy":null,"setAppliedAt":null},"warnings":[],"upcoming":[],"history":[]}`},
		{runItemOf(scheduler.Run{ID: "a@x", Outcome: scheduler.OutcomeMissed, Duration: -1}), `{"id":"a@x","tick":null,"trigger":null,"outcome":"missed","reason":null,` +
			`"due":null,"started":null,"finished":null,"durationSeconds":null,"attempts":0,"lost":0,"worker":null,"lastError":null}`},
		{differenceOf(scheduler.Difference{}), `{"added":[],"changed":[],"removed":[],"unchanged":0,"applied":false,"replaced":null}`},
	} {
		if diff := cmp.Diff(tt.want, inJSON(t, tt.reply)); diff != "" {
			t.Errorf("(-want +got)\n%s", diff)
		}
	}
}

func someDifference() scheduler.Difference {
	at := time.Date(2026, 12, 1, 0, 30, 0, 0, time.UTC)
	return scheduler.Difference{
		Added: []scheduler.Addition{{Name: "new", Next: at}, {Name: "off"}},
		Changed: []scheduler.Modification{{Name: "nightly", NextBefore: at, NextAfter: at.Add(time.Hour), Fields: []scheduler.FieldChange{
			{Field: "schedule", From: []string{"30 1 * * *"}, To: []string{"30 2 * * *"}},
			{Field: "args", From: json.RawMessage(`{"a":1}`), To: json.RawMessage(`null`)},
			{Field: "retry.maxAttempts", From: 4, To: 5},
			{Field: "owner", From: nil, To: "ana\x1b[31m"},
		}}},
		Removed: []string{"old"}, Unchanged: 39, Replaced: &scheduler.Application{By: "host:1", At: at.Add(-time.Hour)},
	}
}

func TestDifference(t *testing.T) {
	t.Parallel()
	d := someDifference()
	want := `{"added":[{"name":"new","next":"2026-12-01T00:30:00.000Z"},{"name":"off","next":null}],` +
		`"changed":[{"name":"nightly","fields":[{"field":"schedule","from":["30 1 * * *"],"to":["30 2 * * *"]},` +
		`{"field":"args","from":{"a":1},"to":null},{"field":"retry.maxAttempts","from":4,"to":5},{"field":"owner","from":null,"to":"ana\u001b[31m"}],` +
		`"nextBefore":"2026-12-01T00:30:00.000Z","nextAfter":"2026-12-01T01:30:00.000Z"}],` +
		`"removed":[{"name":"old"}],"unchanged":39,"applied":false,"replaced":{"by":"host:1","at":"2026-11-30T23:30:00.000Z"}}`
	if diff := cmp.Diff(want, inJSON(t, differenceOf(d))); diff != "" {
		t.Errorf("JSON (-want +got)\n%s", diff)
	}
	p := &program{}
	got := p.differenceText(d, times{form: "utc"})
	want = `+ new  next run: 2026-12-01T00:30:00.000Z
+ off  next run: no run
~ nightly
    schedule: ["30 1 * * *"] → ["30 2 * * *"]
    args: {"a":1} → null
    retry.maxAttempts: 4 → 5
    owner: none → "ana\u001b[31m"
    next run: 2026-12-01T00:30:00.000Z → 2026-12-01T01:30:00.000Z
- old  its planned ticks are cancelled
2 added, 1 changed, 1 removed, 39 unchanged; not applied; the set before was applied by host:1 2026-11-30T23:30:00.000Z
`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("text (-want +got)\n%s", diff)
	}
}

// Tables of schedules fit the terminal, and foreign text is only text.
func TestScheduleTables(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	evil := "\x1b[31m" + strings.Repeat("a long text with 世界 in it ", 8) + "\u202e"
	d := scheduler.Definition{
		Name: "sync-exchange-rates", Schedule: []string{"*/5 8-18 * * MON-FRI", "30 2 * * *"}, TimeZone: "Europe/Berlin", Job: "http",
		Description: evil, Owner: evil, Jitter: time.Minute, Labels: map[string]string{"team": evil}, Args: json.RawMessage(`{"a":1}`), File: evil, Line: 3,
	}
	s := scheduler.Status{
		Definition: d, State: scheduler.SchedulePaused, Pause: &scheduler.Hold{By: evil, Reason: evil, At: now, Until: now.Add(time.Hour)},
		LastRun: scheduler.LastRun{Outcome: "dead", Reason: job.ReasonAttempts, Started: now, Finished: now.Add(90 * time.Second), Duration: 90 * time.Second}, ConsecutiveFailures: 3, Running: 1, Missed: 1234, Skipped: 5,
	}
	run := scheduler.Run{ID: "sync-exchange-rates@2026-12-01T00:30:00Z", Tick: now, Outcome: "dead", Reason: job.ReasonAttempts, Due: now,
		Started: now.Add(time.Second), Duration: time.Second, Attempts: 4, Lost: 1, LastError: evil, Trigger: job.TriggerSchedule}
	upcoming, err := d.Upcoming(now, time.Time{}, 10)
	if err != nil {
		t.Fatal(err)
	}
	for _, width := range []int{0, 80, 100, 140} {
		for name, show := range map[string]func(*program) error{
			"list": func(p *program) error {
				return p.showSchedules([]scheduler.Status{s}, times{form: "relative", now: now})
			},
			"history": func(p *program) error { return p.showRuns([]scheduler.Run{run}, times{form: "relative", now: now}) },
			"preview": func(p *program) error {
				return p.writePreview(statuses([]scheduler.Status{s}), now, asked{count: 20})
			},
		} {
			var out bytes.Buffer
			p := &program{env: Env{Terminal: width > 0, Width: width, Stderr: &out}, stdout: &output{w: &out}}
			if err := show(p); err != nil {
				t.Fatal(err)
			}
			checkLines(t, name, out.String(), width)
		}
		var out bytes.Buffer
		p := &program{env: Env{Terminal: width > 0, Width: width}, stdout: &output{w: &out}}
		p.set.times = "relative"
		if err := p.showSchedule(scheduler.Details{Status: s, Now: now, AppliedBy: evil, AppliedAt: now, SetAppliedBy: evil, SetAppliedAt: now, Upcoming: upcoming, History: []scheduler.Run{run}}); err != nil {
			t.Fatal(err)
		}
		checkLines(t, "show", out.String(), 0) // its pairs are lines of any length
	}
}

func checkLines(t *testing.T, name, text string, width int) {
	t.Helper()
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		if !printable(line) {
			t.Errorf("%s, width %d: not printable: %q", name, width, line)
		}
		heading := strings.HasPrefix(line, "NOT RUNNING") || strings.HasPrefix(line, "sync-exchange-rates  Every")
		if got := prettytext.StringWidthWithoutEscSequences(line); width > 0 && got > width && !heading {
			t.Errorf("%s, width %d: a line of %d: %q", name, width, got, line)
		}
	}
}

// Of a pause with an end, only the ticks before it do not run.
func TestPreviewOfAPauseWithAnEnd(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 30, 12, 30, 0, 0, time.UTC)
	s := scheduler.Status{
		Definition: scheduler.Definition{Name: "a", Schedule: []string{"@hourly"}, Job: "mail"},
		Pause:      &scheduler.Hold{By: "ana", Reason: "db upgrade", At: now, Until: now.Add(90 * time.Minute)},
	}
	var out bytes.Buffer
	p := &program{stdout: &output{w: &out}}
	w := asked{count: 3}
	if err := p.writePreview(statuses([]scheduler.Status{s}), now, w); err != nil {
		t.Fatal(err)
	}
	want := `a  Every hour, UTC
NOT RUNNING  paused by ana until 2026-11-30T14:00:00Z: db upgrade
UTC                   WHEN
Mon 2026-11-30 13:00  does not run
Mon 2026-11-30 14:00  in 1h30m
Mon 2026-11-30 15:00  in 2h30m
`
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	out.Reset()
	p.set.json = true
	if err := p.writePreview(statuses([]scheduler.Status{s}), now, w); err != nil {
		t.Fatal(err)
	}
	if got := strings.Count(out.String(), `"notes":["does not run: paused by ana until 2026-11-30T14:00:00Z: db upgrade"]`); got != 1 {
		t.Errorf("%d of the runs have the note: %s", got, out.String())
	}
}
