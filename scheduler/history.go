package scheduler

import (
	"cmp"
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/bide-go/bide/job"
	"github.com/bide-go/bide/scripts"
)

// Outcome is what became of a run: the state its job is in, or OutcomeMissed.
type Outcome string

// OutcomeMissed is that of a tick that never became a job.
const OutcomeMissed Outcome = "missed"

// Open reports whether the run is due and has not ended: it waits for a worker or
// for an open run before it, is active, or pauses before another attempt.
func (o Outcome) Open() bool { return job.State(o).Live() }

// Run is one record of a schedule's history. Times are zero where they do not
// apply.
type Run struct {
	ID      string // the job's; of a missed tick the id it would have had
	Tick    time.Time
	Trigger job.Trigger
	Outcome Outcome
	Reason  job.Reason // why it did not complete; empty if it did or is open
	Due     time.Time
	// Started is when the last attempt began, Duration how long it took until the
	// run's end; negative if it was never started or has not ended.
	Started   time.Time
	Finished  time.Time
	Duration  time.Duration
	Attempts  int // that failed
	Lost      int // leases that ran out
	Worker    string
	LastError string // its first line, cut short
}

// HistoryFilter selects records. The zero value is the newest 50.
type HistoryFilter struct {
	Failed bool      // only runs that neither completed nor are open
	Since  time.Time // only what became due at or after it
	Limit  int       // 50 if zero, 1000 at most
	After  string    // Next of the page before
}

// HistoryPage is a part of a history, newest first.
type HistoryPage struct {
	Runs []Run
	Next string // for the next page; empty at the end
}

const (
	historyRuns = 50
	historyMost = 1000
)

// History reads the open runs and kept records of a schedule.
func (m *Manager) History(ctx context.Context, name string, f HistoryFilter) (HistoryPage, error) {
	if m.err != nil {
		return HistoryPage{}, m.err
	}
	limit := cmp.Or(f.Limit, historyRuns)
	if limit < 0 || limit > historyMost {
		return HistoryPage{}, &job.InvalidError{Field: "limit", Value: fmt.Sprint(f.Limit), Rule: fmt.Sprintf("must be 1 to %d", historyMost)}
	}
	if f.After != "" && !isPlace.MatchString(f.After) {
		return HistoryPage{}, &job.InvalidError{Field: "cursor", Value: f.After, Rule: "is none that a page of a history ended with"}
	}
	runs, err := m.records(ctx, name, f.Since)
	if err != nil {
		return HistoryPage{}, err
	}
	page := HistoryPage{Runs: []Run{}}
	for _, r := range runs {
		switch {
		case f.After != "" && r.place() >= f.After,
			f.Failed && (r.Outcome.Open() || r.Outcome == Outcome(job.Completed)):
		case len(page.Runs) == limit:
			page.Next = page.Runs[limit-1].place()
			return page, nil
		default:
			page.Runs = append(page.Runs, r)
		}
	}
	return page, nil
}

// records reads all that is known of the runs of a schedule that became due at or
// after since, newest first.
func (m *Manager) records(ctx context.Context, name string, since time.Time) ([]Run, error) {
	kept, open, err := m.set.History(ctx, name, since, historyMost)
	if err != nil {
		return nil, named(name, err)
	}
	runs := []Run{}
	for _, r := range kept {
		runs = append(runs, recorded(name, r))
	}
	for _, j := range open {
		if since.IsZero() || !j.Due.Before(since) {
			runs = append(runs, openRun(j))
		}
	}
	slices.SortStableFunc(runs, func(a, b Run) int { return strings.Compare(b.place(), a.place()) })
	return runs, nil
}

// place orders runs by due time, and tells them apart.
func (r *Run) place() string {
	return fmt.Sprintf("%015d %s %015d", r.Due.UnixMilli(), r.ID, max(r.Finished.UnixMilli(), 0))
}

// isPlace matches what place makes.
var isPlace = regexp.MustCompile(`^-?\d{14,15} \S+ \d{15}$`)

func recorded(name string, r scripts.Record) Run {
	run := Run{
		ID: r.ID, Tick: r.Tick, Trigger: r.Trigger, Outcome: Outcome(r.Outcome), Reason: r.Reason, Due: r.Due, Started: r.Started,
		Finished: r.Finished, Duration: r.Took, Attempts: r.Attempts, Lost: r.Lost, Worker: r.Worker, LastError: r.Error,
	}
	if run.ID == "" {
		run.ID = tickID(name, r.Tick)
	}
	return run
}

// openRun is the record of a run that has not ended.
func openRun(j *job.Job) Run {
	text, _, _ := strings.Cut(j.LastError(), "\n")
	return Run{
		ID: j.ID, Tick: j.Tick, Trigger: j.Trigger, Outcome: Outcome(j.State), Due: j.Due, Started: j.Started,
		Duration: -1, Attempts: j.Attempts, Lost: j.Lost, Worker: j.Worker, LastError: text,
	}
}
