package cli

import (
	"cmp"
	"encoding/json"
	"time"

	"github.com/bide-go/bide/internal/cronexpr"
	"github.com/bide-go/bide/job"
	"github.com/bide-go/bide/scheduler"
)

// scheduleItem is a schedule as lists show it: all keys are always there.
type scheduleItem struct {
	Name                string            `json:"name"`
	Schedule            []string          `json:"schedule"`
	TimeZone            string            `json:"timeZone"`
	Job                 string            `json:"job"`
	Queue               string            `json:"queue"`
	State               string            `json:"state"`
	Next                stamp             `json:"next"`
	LastTick            stamp             `json:"lastTick"`
	LastRun             *lastRunReply     `json:"lastRun"`
	LastOutcome         text              `json:"lastOutcome"`
	LastStarted         stamp             `json:"lastStarted"`
	LastDurationSeconds *seconds          `json:"lastDurationSeconds"`
	LastSuccess         stamp             `json:"lastSuccess"`
	ConsecutiveFailures int               `json:"consecutiveFailures"`
	Running             int               `json:"running"`
	Missed              int               `json:"missed"`
	Skipped             int               `json:"skipped"`
	Owner               text              `json:"owner"`
	Labels              map[string]string `json:"labels"`
	Pause               *pauseReply       `json:"pause"`
}

// lastRunReply is the newest run that was started.
type lastRunReply struct {
	Outcome         text     `json:"outcome"`
	Reason          text     `json:"reason"`
	Started         stamp    `json:"started"`
	Finished        stamp    `json:"finished"`
	DurationSeconds *seconds `json:"durationSeconds"`
}

func lastRunOf(r scheduler.LastRun) *lastRunReply {
	if r.Started.IsZero() {
		return nil
	}
	reply := &lastRunReply{Outcome: text(r.Outcome), Reason: text(r.Reason), Started: stamp(r.Started), Finished: stamp(r.Finished)}
	if !r.Finished.IsZero() {
		reply.DurationSeconds = spanOf(r.Duration)
	}
	return reply
}

type pauseReply struct {
	By     text  `json:"by"`
	Reason text  `json:"reason"`
	At     stamp `json:"at"`
	Until  stamp `json:"until"`
}

func scheduleItemOf(s scheduler.Status) scheduleItem {
	d := s.Definition
	item := scheduleItem{
		Name: d.Name, Schedule: d.Schedule, TimeZone: cmp.Or(d.TimeZone, "UTC"), Job: d.Job, Queue: cmp.Or(d.Queue, job.DefaultQueue),
		State: string(s.State), Next: stamp(s.Next), LastTick: stamp(s.LastTick), LastRun: lastRunOf(s.LastRun), LastOutcome: text(s.LastOutcome),
		LastStarted: stamp(s.LastStarted), LastDurationSeconds: spanOf(s.LastDuration), LastSuccess: stamp(s.LastSuccess),
		ConsecutiveFailures: s.ConsecutiveFailures, Running: s.Running, Missed: s.Missed, Skipped: s.Skipped,
		Owner: text(d.Owner), Labels: d.Labels, Pause: pauseOf(s.Pause),
	}
	if len(item.Labels) == 0 {
		item.Labels = nil
	}
	return item
}

func pauseOf(h *scheduler.Hold) *pauseReply {
	if h == nil {
		return nil
	}
	return &pauseReply{text(h.By), text(h.Reason), stamp(h.At), stamp(h.Until)}
}

// spanOf is a duration in JSON, null if it is negative: there is none.
func spanOf(d time.Duration) *seconds {
	if d < 0 {
		return nil
	}
	s := seconds(d)
	return &s
}

// scheduleWhole is a schedule with its surroundings.
type scheduleWhole struct {
	scheduleItem
	LastTickOutcome text            `json:"lastTickOutcome"`
	LastTickReason  text            `json:"lastTickReason"`
	Definition      definitionReply `json:"definition"`
	Source          sourceReply     `json:"source"`
	Warnings        []warningReply  `json:"warnings"`
	Upcoming        []upcomingReply `json:"upcoming"`
	History         []runItem       `json:"history"`
}

// sourceReply is where the definition came from when it was last changed, and who
// last changed anything in the set.
type sourceReply struct {
	File         text  `json:"file"`
	Line         *int  `json:"line"`
	AppliedBy    text  `json:"appliedBy"`
	AppliedAt    stamp `json:"appliedAt"`
	SetAppliedBy text  `json:"setAppliedBy"`
	SetAppliedAt stamp `json:"setAppliedAt"`
}

type upcomingReply struct {
	Tick  stamp `json:"tick"`
	Due   stamp `json:"due"`
	Local zoned `json:"local"`
}

// definitionReply is a definition with its defaults filled in.
type definitionReply struct {
	Schedule                []string          `json:"schedule"`
	TimeZone                string            `json:"timeZone"`
	Job                     string            `json:"job"`
	Args                    json.RawMessage   `json:"args"`
	Queue                   string            `json:"queue"`
	TimeoutSeconds          seconds           `json:"timeoutSeconds"`
	Retry                   retryReply        `json:"retry"`
	Suspend                 bool              `json:"suspend"`
	ConcurrencyPolicy       string            `json:"concurrencyPolicy"`
	CatchUp                 string            `json:"catchUp"`
	StartingDeadlineSeconds seconds           `json:"startingDeadlineSeconds"`
	JitterSeconds           seconds           `json:"jitterSeconds"`
	StartAt                 stamp             `json:"startAt"`
	EndAt                   stamp             `json:"endAt"`
	History                 historyReply      `json:"history"`
	PauseAfterFailures      int               `json:"pauseAfterFailures"`
	Description             text              `json:"description"`
	Owner                   text              `json:"owner"`
	Runbook                 text              `json:"runbook"`
	Labels                  map[string]string `json:"labels"`
}

type retryReply struct {
	MaxAttempts       int     `json:"maxAttempts"`
	MinBackoffSeconds seconds `json:"minBackoffSeconds"`
	MaxBackoffSeconds seconds `json:"maxBackoffSeconds"`
}

type historyReply struct {
	Successful int `json:"successful"`
	Failed     int `json:"failed"`
}

func definitionOf(d scheduler.Definition) definitionReply {
	r := definitionReply{
		Schedule: d.Schedule, TimeZone: cmp.Or(d.TimeZone, "UTC"), Job: d.Job, Args: d.Args, Queue: cmp.Or(d.Queue, job.DefaultQueue),
		TimeoutSeconds: seconds(cmp.Or(d.Timeout, job.DefaultTimeoutOf(d.Job))),
		Retry: retryReply{
			cmp.Or(d.MaxAttempts, job.DefaultMaxAttempts), seconds(cmp.Or(d.MinBackoff, job.DefaultMinBackoff)), seconds(cmp.Or(d.MaxBackoff, job.DefaultMaxBackoff)),
		},
		Suspend:           d.Suspend,
		ConcurrencyPolicy: string(cmp.Or(d.ConcurrencyPolicy, scheduler.Forbid)), CatchUp: string(cmp.Or(d.CatchUp, scheduler.Latest)),
		StartingDeadlineSeconds: seconds(cmp.Or(d.StartingDeadline, scheduler.DefaultStartingDeadline)), JitterSeconds: seconds(d.Jitter),
		StartAt: stamp(d.StartAt), EndAt: stamp(d.EndAt), History: historyReply(scheduler.DefaultHistory), PauseAfterFailures: d.PauseAfterFailures,
		Description: text(d.Description), Owner: text(d.Owner), Runbook: text(d.Runbook), Labels: d.Labels,
	}
	if len(r.Args) == 0 {
		r.Args = json.RawMessage("null")
	}
	if d.History != nil {
		r.History = historyReply(*d.History)
	}
	if len(r.Labels) == 0 {
		r.Labels = nil
	}
	return r
}

func scheduleWholeOf(d scheduler.Details) scheduleWhole {
	r := scheduleWhole{
		scheduleItem: scheduleItemOf(d.Status), Definition: definitionOf(d.Definition),
		LastTickOutcome: text(d.LastTickOutcome), LastTickReason: text(d.LastTickReason),
		Source: sourceReply{
			File: text(d.Definition.File), AppliedBy: text(d.AppliedBy), AppliedAt: stamp(d.AppliedAt),
			SetAppliedBy: text(d.SetAppliedBy), SetAppliedAt: stamp(d.SetAppliedAt),
		},
		Warnings: []warningReply{}, Upcoming: []upcomingReply{}, History: []runItem{},
	}
	if line := d.Definition.Line; line > 0 {
		r.Source.Line = &line
	}
	for _, w := range definitionWarnings(d.Definition, d.Now) {
		r.Warnings = append(r.Warnings, warningReply{w.Code, w.String()})
	}
	for _, t := range d.Upcoming {
		r.Upcoming = append(r.Upcoming, upcomingReply{stamp(t.Tick), stamp(t.Due), zoned(t.Tick)})
	}
	for _, run := range d.History {
		r.History = append(r.History, runItemOf(run))
	}
	return r
}

// definitionWarnings are the warnings about the expressions of a definition.
func definitionWarnings(d scheduler.Definition, now time.Time) []cronexpr.Warning {
	loc, err := time.LoadLocation(cmp.Or(d.TimeZone, "UTC"))
	if err != nil {
		return nil // it was applied, so it has a zone
	}
	from, to := d.Within(now, cronexpr.Ahead(now))
	var all []cronexpr.Warning
	for _, text := range d.Schedule {
		if e, err := cronexpr.Parse(text); err == nil {
			all = append(all, e.WarningsWithin(loc, from, to)...)
		}
	}
	return all
}

// runItem is a record of a schedule's history. The outcome of an open run is active,
// whatever its job's state: jobs show tells that.
type runItem struct {
	ID              string   `json:"id"`
	Tick            stamp    `json:"tick"`
	Trigger         text     `json:"trigger"`
	Outcome         string   `json:"outcome"`
	Reason          text     `json:"reason"`
	Due             stamp    `json:"due"`
	Started         stamp    `json:"started"`
	Finished        stamp    `json:"finished"`
	DurationSeconds *seconds `json:"durationSeconds"`
	Attempts        int      `json:"attempts"`
	Lost            int      `json:"lost"`
	Worker          text     `json:"worker"`
	LastError       text     `json:"lastError"`
}

func runItemOf(r scheduler.Run) runItem {
	item := runItem{
		ID: r.ID, Tick: stamp(r.Tick), Trigger: text(r.Trigger), Outcome: string(r.Outcome), Reason: text(r.Reason),
		Due: stamp(r.Due), Started: stamp(r.Started), Finished: stamp(r.Finished), DurationSeconds: spanOf(r.Duration),
		Attempts: r.Attempts, Lost: r.Lost, Worker: text(r.Worker), LastError: text(r.LastError),
	}
	if r.Outcome.Open() {
		item.Outcome = string(job.Active)
	}
	return item
}
