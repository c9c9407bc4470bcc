package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/bide-go/bide/internal/duration"
	"github.com/bide-go/bide/job"
	"github.com/bide-go/bide/scheduler"
)

func (p *program) schedulesShowCommand() *cli.Command {
	return &cli.Command{
		Name: "show", Usage: "show all there is to know of a schedule", ArgsUsage: "NAME",
		Description: "Its definition, state, next runs, the clock changes ahead and the newest runs.",
		Action:      p.schedulesShow,
	}
}

// onSchedule runs a command on one schedule, and says what is known if there is none
// of that name.
func (p *program) onSchedule(c *cli.Context, name string, f func(ctx context.Context, conn *conn, m *scheduler.Manager) error) error {
	return p.withRedis(c.Context, shortCommand, func(ctx context.Context, conn *conn) error {
		return noSchedule(ctx, conn, name, f(ctx, conn, p.manager(conn)))
	})
}

// noSchedule turns "not found" into words about schedules.
func noSchedule(ctx context.Context, conn *conn, name string, err error) error {
	if !errors.Is(err, job.ErrNotFound) {
		return err
	}
	var names []string
	applied, _ := conn.set.Definitions(ctx) // without them there is no guess
	for _, a := range applied {
		names = append(names, a.Name)
	}
	return &failure{code: exitState, err: unknownSchedule("no such schedule", name, names), next: "bide schedules list shows them"}
}

// unknownSchedule says that none of names is the one meant, and which it may be.
func unknownSchedule(missing, name string, names []string) error {
	guess := ""
	if near := nearest(name, names); near != "" {
		guess = fmt.Sprintf(" (did you mean %q?)", near)
	}
	return fmt.Errorf("%s: %q%s", missing, name, guess)
}

func (p *program) schedulesShow(c *cli.Context) error {
	name, err := oneSchedule(c)
	if err != nil {
		return err
	}
	return p.onSchedule(c, name, func(ctx context.Context, _ *conn, m *scheduler.Manager) error {
		d, err := m.Show(ctx, name)
		if err != nil {
			return err
		}
		if p.set.json {
			return p.writeJSON(scheduleWholeOf(d))
		}
		return p.showSchedule(d)
	})
}

func (p *program) showSchedule(d scheduler.Details) error {
	t := times{form: p.set.times, now: d.Now}
	line := previewed{definition: d.Definition, pause: d.Pause}
	window := window{now: d.Now, count: max(len(d.Upcoming), 1)}
	coming, err := line.timeline(window)
	if err != nil {
		return err
	}
	state := scheduleStateCell(d.Status)
	list := []pair{
		{"name", plain(d.Definition.Name)}, {"state", state},
		{"next", plain(t.both(d.Next))}, {"last tick", lastTickCell(d, t)},
		{"last run", lastRunCell(d.LastRun, t)}, {"last success", plain(t.both(d.LastSuccess))},
		{"failing", failingCell(d.ConsecutiveFailures)}, {"open runs", counted(d.Running)},
		{"missed", counted(d.Missed)}, {"skipped", counted(d.Skipped)},
	}
	list = append(list, definitionPairs(d.Definition, t)...)
	list = append(list, pair{"source", plain(sourceWords(d, t))}, pair{"set", plain(setWords(d, t))})
	if err := p.pairs(list); err != nil {
		return err
	}
	fmt.Fprintln(p.stdout)
	if err := p.showTimeline(coming, window); err != nil {
		return err
	}
	if err := p.showWarnings(definitionWarnings(d.Definition, d.Now)); err != nil {
		return err
	}
	if len(d.History) == 0 {
		return nil
	}
	fmt.Fprintln(p.stdout, "\nnewest runs")
	return p.showRuns(d.History, t)
}

// lastTickCell says which tick came last, and what became of it: it may not have run.
func lastTickCell(d scheduler.Details, t times) cell {
	if d.LastTick.IsZero() {
		return plain("")
	}
	c := endCell(d.LastTickOutcome, d.LastTickReason)
	if c.text == "" {
		c.text = "planned"
	} else {
		c.text += ", planned"
	}
	c.text += " for " + t.both(d.LastTick)
	return c
}

// lastRunCell says when the newest run began and how it ended.
func lastRunCell(r scheduler.LastRun, t times) cell {
	if r.Started.IsZero() {
		return plain("")
	}
	c := endCell(r.Outcome, r.Reason)
	if c.text != "" {
		c.text += ", "
	}
	c.text += "started " + t.both(r.Started)
	if !r.Finished.IsZero() {
		c.text += ", ended " + t.both(r.Finished) + ", took " + took(r.Duration)
	}
	return c
}

// definitionPairs describe a definition in the words of the file.
func definitionPairs(d scheduler.Definition, t times) []pair {
	r := definitionOf(d)
	span := func(s seconds) cell { return plain(duration.Format(time.Duration(s))) }
	list := []pair{
		{"description", plain(d.Description)}, {"owner", plain(d.Owner)}, {"runbook", plain(d.Runbook)},
		{"schedule", plain(strings.Join(d.Schedule, " | "))}, {"zone", plain(r.TimeZone)},
		{"start at", plain(t.both(d.StartAt))}, {"end at", plain(t.both(d.EndAt))},
		{"job", plain(d.Job)}, {"queue", plain(r.Queue)}, {"args", plain(shortArgs(r.Args))},
		{"timeout", span(r.TimeoutSeconds)},
		{"retry", plain(fmt.Sprintf("%d attempts, %s to %s apart", r.Retry.MaxAttempts,
			duration.Format(time.Duration(r.Retry.MinBackoffSeconds)), duration.Format(time.Duration(r.Retry.MaxBackoffSeconds))))},
		{"overlap", plain(r.ConcurrencyPolicy)}, {"catch up", plain(r.CatchUp)}, {"deadline", span(r.StartingDeadlineSeconds)},
	}
	if d.Jitter > 0 {
		list = append(list, pair{"jitter", plain("up to " + duration.Format(d.Jitter))})
	}
	if d.PauseAfterFailures > 0 {
		list = append(list, pair{"pauses after", plain(many(int64(d.PauseAfterFailures), "failure", "failures in a row"))})
	}
	for _, name := range slices.Sorted(maps.Keys(d.Labels)) {
		list = append(list, pair{"label", plain(name + "=" + d.Labels[name])})
	}
	return list
}

// setWords say who last changed anything in the set of schedules.
func setWords(d scheduler.Details, t times) string {
	if d.SetAppliedBy == "" {
		return ""
	}
	return "last changed by " + d.SetAppliedBy + " " + t.both(d.SetAppliedAt)
}

// sourceWords say where a definition came from when it was last changed, and through
// whom: an entry that has only moved in its file is unchanged.
func sourceWords(d scheduler.Details, t times) string {
	words := cmp.Or(d.Definition.File, "unknown")
	if d.Definition.Line > 0 {
		words += fmt.Sprintf(":%d", d.Definition.Line)
	}
	if d.AppliedBy != "" {
		words += ", applied by " + d.AppliedBy + " " + t.both(d.AppliedAt)
	}
	return words
}
