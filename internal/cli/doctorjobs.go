package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/bide-go/bide/scheduler"
	"github.com/bide-go/bide/scripts"
)

func (e *examination) statistics(ctx context.Context) (scripts.Stats, error) {
	return e.statsOnce.get(ctx, e.stats)
}

// A role beats every second. After lateBeat something is slow, after lostBeat it is
// gone.
const (
	lateBeat = 10 * time.Second
	lostBeat = time.Minute
)

func (e *examination) promoterBeat(ctx context.Context) (finding, error) {
	s, err := e.statistics(ctx)
	if err != nil {
		return finding{}, err
	}
	needed := ""
	if n := s.Sum.Delayed + s.Inbox; n > 0 {
		needed = fmt.Sprintf("%s will not become due", many(n, "job", "jobs"))
	}
	return judgeBeat("promoter", s.Now, s.PromoterBeat, needed), nil
}

func (e *examination) schedulerBeat(ctx context.Context) (finding, error) {
	s, err := e.statistics(ctx)
	if err != nil {
		return finding{}, err
	}
	needed := ""
	if s.Schedules > 0 {
		needed = fmt.Sprintf("%s will not be planned", many(s.Schedules, "schedule", "schedules"))
	} else if s.SchedulerBeat.IsZero() {
		return finding{Status: fine, Detail: "no scheduler has run, and no schedules are applied"}, nil
	}
	return judgeBeat("scheduler", s.Now, s.SchedulerBeat, needed), nil
}

// judgeBeat judges the last heartbeat of a role by Redis' clock, which wrote it.
// Without anything that needs the role its absence is only a warning.
func judgeBeat(role string, now, last time.Time, needed string) finding {
	age := now.Sub(last)
	hint := text("start a process with role " + role + ": bide serve --roles " + role + ", or bide serve for all roles; its log says what keeps it from working")
	f := finding{Status: fine, Detail: "the last heartbeat was " + short(max(age, 0)) + " ago"}
	switch {
	case !last.IsZero() && age < lateBeat:
		return f
	case !last.IsZero() && age < lostBeat:
		f.Status, f.Hint = warns, text("a "+role+" beats every second: look at its log and its load")
		return f
	case last.IsZero():
		f.Detail = "no " + role + " has ever run"
	default:
		f.Detail = "no " + role + " has been heard of for " + short(age)
	}
	f.Status, f.Hint = warns, hint
	if needed != "" {
		f.Status = failed
		f.Detail += ": " + needed
	}
	return f
}

// liveness is what processes do, and what waits for none of them.
type liveness struct {
	workers  []scripts.Worker
	unserved scripts.Unserved
}

func (e *examination) live(ctx context.Context) (liveness, error) {
	return e.liveOnce.get(ctx, func(ctx context.Context) (l liveness, err error) {
		s, err := e.statistics(ctx)
		if err != nil {
			return l, err
		}
		if l.workers, err = e.workers(ctx); err != nil {
			return l, err
		}
		l.unserved, err = e.unserved(ctx, l.workers, s.Queues)
		return l, err
	})
}

func (e *examination) workerNames(ctx context.Context) (finding, error) {
	l, err := e.live(ctx)
	if err != nil {
		return finding{}, err
	}
	if names := l.unserved.Names; len(names) > 0 {
		return finding{Status: warns, Detail: "no live process handles " + countList(names), Hint: "start a worker with a handler of that name, or cancel the jobs; bide workers shows what each handles"}, nil
	}
	handled := map[string]bool{}
	for _, w := range l.workers {
		for _, name := range w.List("names") {
			handled[name] = true
		}
	}
	return finding{Status: fine, Detail: many(int64(len(l.workers)), "live process", "live processes") + ", " + many(int64(len(handled)), "handled name", "handled names")}, nil
}

func (e *examination) workerQueues(ctx context.Context) (finding, error) {
	l, err := e.live(ctx)
	if err != nil {
		return finding{}, err
	}
	s, err := e.statistics(ctx)
	if err != nil {
		return finding{}, err
	}
	switch waits := s.Sum.Waiting; {
	case len(l.workers) == 0 && waits > 0:
		return finding{Status: failed, Detail: fmt.Sprintf("no live process takes jobs, and %s", many(waits, "job waits", "jobs wait")), Hint: "start a worker: bide serve, or an app with a dispatcher of its own"}, nil
	case len(l.workers) == 0:
		return finding{Status: warns, Detail: "no live process takes jobs", Hint: "start a worker: bide serve, or an app with a dispatcher of its own"}, nil
	}
	if queues := l.unserved.Queues; len(queues) > 0 {
		return finding{Status: warns, Detail: "no live process serves " + countList(queues), Hint: "add the queue to --queues of a worker, or see bide queues clear"}, nil
	}
	return finding{Status: fine, Detail: "every queue with waiting jobs is served"}, nil
}

// countList names the first few of counted things.
func countList(list []scripts.Count) string {
	const most = 5
	var words []string
	for i, c := range list {
		if i == most {
			words = append(words, fmt.Sprintf("and %d more", len(list)-most))
			break
		}
		words = append(words, fmt.Sprintf("%s (%s)", c.Name, many(c.Jobs, "job", "jobs")))
	}
	return strings.Join(words, ", ")
}

// schedulesLoad reads what is applied as a scheduler of this binary would.
func (e *examination) schedulesLoad(ctx context.Context) (finding, error) {
	applied, err := e.definitions(ctx)
	if err != nil {
		return finding{}, err
	}
	var bad []string
	for _, a := range applied {
		var d scheduler.Definition
		err := json.Unmarshal([]byte(a.Definition), &d)
		if err == nil {
			err = d.Validate()
		}
		if err == nil && d.Name != a.Name {
			err = fmt.Errorf("its definition is that of %q", d.Name)
		}
		if err != nil {
			bad = append(bad, fmt.Sprintf("%s (%s)", a.Name, strings.ReplaceAll(err.Error(), "\n", "; ")))
		}
	}
	if len(bad) > 0 {
		return finding{Status: failed, Detail: fmt.Sprintf("%d of %d cannot be planned: %s", len(bad), len(applied), firstFew(bad)),
			Hint: "another version of bide has applied them: run this version everywhere, or let it apply its file again"}, nil
	}
	f, err := e.filesInEffect(ctx)
	switch {
	case err != nil || f.Status != "":
		return f, err
	case len(applied) == 0:
		return finding{Status: fine, Detail: "no schedules are applied"}, nil
	}
	return finding{Status: fine, Detail: many(int64(len(applied)), "applied schedule", "applied schedules") + " can be planned"}, nil
}

// filesInEffect looks for live processes whose schedules files are not in effect as
// they stand. They say so themselves.
func (e *examination) filesInEffect(ctx context.Context) (finding, error) {
	l, err := e.live(ctx)
	if err != nil {
		return finding{}, err
	}
	var amiss []string
	for _, w := range l.workers {
		if text := w.Fields["files"]; text != "" {
			amiss = append(amiss, fmt.Sprintf("%s:%s: %s", w.Fields["host"], w.Fields["pid"], text))
		}
	}
	if len(amiss) == 0 {
		return finding{}, nil
	}
	return finding{Status: warns, Detail: "a process' schedules files are not in effect as they stand: " + firstFew(amiss),
		Hint: "bide check FILE tells every mistake with its line; what was applied stays until it is repaired"}, nil
}

func firstFew(list []string) string {
	const most = 3
	if len(list) <= most {
		return strings.Join(list, ", ")
	}
	return strings.Join(list[:most], ", ") + fmt.Sprintf(", and %d more", len(list)-most)
}

// oldRejection is after how long a rejection is history.
const oldRejection = 24 * time.Hour

func (e *examination) inboxRejected(ctx context.Context) (finding, error) {
	s, err := e.statistics(ctx)
	if err != nil {
		return finding{}, err
	}
	last, ok, err := e.lastRejection(ctx)
	if err != nil {
		return finding{}, err
	}
	if !ok {
		return finding{Status: fine, Detail: "nothing was rejected"}, nil
	}
	age := s.Now.Sub(last.At)
	detail := fmt.Sprintf("%s kept, the last one of %s ago", many(s.Rejected, "rejection is", "rejections are"), short(max(age, 0)))
	if age >= oldRejection {
		return finding{Status: fine, Detail: detail}, nil
	}
	return finding{Status: warns, Detail: detail + ": " + last.Reason,
		Hint: text("no job became of it; XREVRANGE '{" + e.namespace + "}:rejected' + - COUNT 10 in redis-cli shows what was meant")}, nil
}

func (e *examination) auditGap(ctx context.Context) (finding, error) {
	s, err := e.audit(ctx)
	if err != nil {
		return finding{}, err
	}
	if gap := s.Gap(); gap != 0 {
		return finding{Status: failed, Detail: fmt.Sprintf("the gap is %d and must be 0", gap), Hint: gapHint}, nil
	}
	return finding{Status: fine, Detail: many(s.Created, "job", "jobs") + " created, all accounted for"}, nil
}
