package scripts

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/bide-go/bide/job"
)

// Progress is a schedule as it stands in Redis.
type Progress struct {
	Name, Definition string
	// Incarnation and Number are those of Applied.
	Incarnation, Number string
	// AppliedBy and AppliedAt tell who applied this definition, and when.
	AppliedBy     string
	AppliedAt     time.Time
	Open, Waiting int // runs that are due: admitted, and waiting for those
	// ActiveSince is when the newest attempt that is running began.
	ActiveSince time.Time

	PausedAt, PausedUntil    time.Time
	PausedBy, PausedReason   string
	LastTick                 time.Time
	LastOutcome              job.State
	LastStarted, LastSuccess time.Time
	LastDuration             time.Duration // negative if none
	// LastRun is how the run of LastStarted ended, LastTickEnd how that of LastTick
	// did; both are empty if there is none, the latter also while it is open.
	LastRun, LastTickEnd      RunEnd
	Failures, Missed, Skipped int
}

// PausedItself is the PausedBy of a schedule that its failures or its handler paused.
const PausedItself = "bide"

// Paused reports whether a pause is in force at Redis' time now.
func (p *Progress) Paused(now time.Time) bool {
	return !p.PausedAt.IsZero() && (p.PausedUntil.IsZero() || p.PausedUntil.After(now))
}

// RunEnd is how a run ended.
type RunEnd struct {
	State  job.State
	Reason job.Reason
}

// Progresses is the answer about several schedules.
type Progresses struct {
	Now       time.Time
	AppliedBy string // the set
	AppliedAt time.Time
	Schedules []Progress
}

// ProgressSchedules bounds one call of Progress.
const ProgressSchedules = 200

// Progress reads how schedules are. Those that are not applied are left out.
func (s *Set) Progress(ctx context.Context, names []string) (Progresses, error) {
	args := make([]any, len(names))
	for i, name := range names {
		args[i] = name
	}
	reply, err := s.run(ctx, "schedules", args)
	if err != nil {
		return Progresses{}, err
	}
	list := toList(reply)
	all := Progresses{Now: toTime(item(list, 0)), AppliedBy: toText(item(list, 1)), AppliedAt: toTime(item(list, 2))}
	for i := 3; i < len(list); i++ {
		all.Schedules = append(all.Schedules, decodeProgress(toList(list[i])))
	}
	return all, nil
}

func decodeProgress(list []any) Progress {
	p := Progress{
		Name: toText(item(list, 0)), Definition: toText(item(list, 1)), Open: int(toInt(item(list, 2))), Waiting: int(toInt(item(list, 3))),
		ActiveSince: toTime(item(list, 4)), LastDuration: -1,
	}
	tickEnd := ""
	fields := toList(item(list, 5))
	for i := 0; i+1 < len(fields); i += 2 {
		value := fields[i+1]
		switch toText(fields[i]) {
		case "incarnation":
			p.Incarnation = toText(value)
		case "number":
			p.Number = toText(value)
		case "appliedBy":
			p.AppliedBy = toText(value)
		case "appliedAt":
			p.AppliedAt = toTime(value)
		case "pausedAt":
			p.PausedAt = toTime(value)
		case "pausedUntil":
			p.PausedUntil = toTime(value)
		case "pausedBy":
			p.PausedBy = toText(value)
		case "pausedReason":
			p.PausedReason = toText(value)
		case "lastTick":
			p.LastTick = toTime(value)
		case "lastOutcome":
			p.LastOutcome = job.State(toText(value))
		case "lastStarted":
			p.LastStarted = toTime(value)
		case "lastRun":
			p.LastRun = decodeEnd(toText(value))
		case "lastTickEnd":
			tickEnd = toText(value)
		case "lastSuccess":
			p.LastSuccess = toTime(value)
		case "lastDuration":
			p.LastDuration = time.Duration(toInt(value)) * time.Millisecond
		case "consecutiveFailures":
			p.Failures = int(toInt(value))
		case "missed":
			p.Missed = int(toInt(value))
		case "skipped":
			p.Skipped = int(toInt(value))
		}
	}
	if tick, end, ok := strings.Cut(tickEnd, " "); ok && toTime(tick).Equal(p.LastTick) {
		p.LastTickEnd = decodeEnd(end)
	}
	return p
}

func decodeEnd(text string) RunEnd {
	state, reason, _ := strings.Cut(text, " ")
	return RunEnd{job.State(state), job.Reason(reason)}
}

// Record is what is kept of a run, or of a tick that never became a job.
type Record struct {
	ID      string // empty of a missed tick
	Tick    time.Time
	Trigger job.Trigger
	Outcome string // an end state, or "missed"
	Reason  job.Reason
	Due     time.Time
	// Started is when its last attempt began; Took how long that took, negative if
	// the run did not end with an attempt.
	Started, Finished time.Time
	Took              time.Duration
	Attempts, Lost    int
	Worker, Error     string
}

// History reads the records of a schedule whose runs became due at or after since,
// and at most open of its open and waiting runs each. The error is job.ErrNotFound
// if the schedule is not applied.
func (s *Set) History(ctx context.Context, schedule string, since time.Time, open int) (records []Record, jobs []*job.Job, err error) {
	from := "-inf"
	if !since.IsZero() {
		from = strconv.FormatInt(ceilUnixMilli(since), 10)
	}
	reply, err := s.run(ctx, "history", []any{schedule, from, open})
	if err != nil {
		return nil, nil, err
	}
	list := toList(reply)
	if toText(item(list, 1)) != "1" {
		return nil, nil, job.ErrNotFound
	}
	for _, text := range toList(item(list, 2)) {
		if r, ok := decodeRecord(toText(text)); ok {
			records = append(records, r)
		}
	}
	for _, shown := range toList(item(list, 3)) {
		if j, err := decodeShown(toList(shown)); err == nil && j.State.Live() {
			jobs = append(jobs, j)
		}
	}
	return records, jobs, nil
}

// decodeRecord reads what lib/note.lua wrote.
func decodeRecord(text string) (Record, bool) {
	f := strings.Split(text, "\t")
	if len(f) != 13 {
		return Record{}, false
	}
	r := Record{
		ID: f[0], Tick: toTime(f[1]), Trigger: job.Trigger(f[2]), Outcome: f[3], Reason: job.Reason(f[4]), Due: toTime(f[5]), Started: toTime(f[6]),
		Finished: toTime(f[7]), Took: -1, Attempts: int(toInt(f[9])), Lost: int(toInt(f[10])), Worker: f[11], Error: strings.ToValidUTF8(f[12], ""),
	}
	if f[8] != "" {
		r.Took = time.Duration(toInt(f[8])) * time.Millisecond
	}
	return r, true
}

// Start runs a schedule now: n is its job, made of the definition with this number.
// ok is false if that is no longer the current one.
func (s *Set) Start(ctx context.Context, number string, force bool, n NewJob) (state job.State, due time.Time, ok bool, err error) {
	flag := ""
	if force {
		flag = "1"
	}
	reply, err := s.run(ctx, "start", []any{n.Schedule, number, flag, n.ID, n.Queue, n.kind(), n.tail()})
	if err != nil {
		return "", time.Time{}, false, err
	}
	list := toList(reply)
	if ok, err := current(reply, n.Schedule, n.Queue); !ok || err != nil {
		return "", time.Time{}, false, err
	}
	return job.State(toText(item(list, 1))), toTime(item(list, 2)), true, nil
}

// BackfillJobs bounds one call of Backfill.
const BackfillJobs = 500

// Backfill makes the next jobs of a backfill, of which made have been made before,
// and returns how many have been now. A call that is repeated makes nothing twice.
// ok is false if the definition with this number is no longer the current one.
func (s *Set) Backfill(ctx context.Context, schedule, number, id string, made int, jobs []NewJob) (now int, ok bool, err error) {
	args := []any{schedule, number, id, made}
	for i := range jobs {
		n := &jobs[i]
		args = append(args, n.ID, n.Tick.UnixMilli(), n.Queue, n.kind(), n.tail())
	}
	reply, err := s.run(ctx, "backfill", args)
	if err != nil {
		return made, false, err
	}
	queue := ""
	if len(jobs) > 0 {
		queue = jobs[0].Queue
	}
	if ok, err := current(reply, schedule, queue); !ok || err != nil {
		return made, false, err
	}
	return int(toInt(item(toList(reply), 1))), true, nil
}

// current reads the status of a script that compares the number of a definition.
func current(reply any, schedule, queue string) (bool, error) {
	list := toList(reply)
	switch status := toText(item(list, 0)); status {
	case "ok":
		return true, nil
	case "moved":
		return false, nil
	case "missing":
		return false, job.ErrNotFound
	case "queues":
		return false, fmt.Errorf("queue %q: 1,000 queues are in use, which is the most", queue)
	default:
		return false, fmt.Errorf("schedule %q: the Redis key %s holds something that is not bide's", schedule, toText(item(list, 1)))
	}
}
