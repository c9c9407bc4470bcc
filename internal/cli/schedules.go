package cli

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/urfave/cli/v2"

	"github.com/bide-go/bide/internal/duration"
	"github.com/bide-go/bide/job"
	"github.com/bide-go/bide/scheduler"
)

func (p *program) schedulesCommand() *cli.Command {
	return &cli.Command{
		Name: "schedules", Usage: "look at schedules, run, pause and resume them, make up for the past",
		Subcommands: []*cli.Command{
			p.schedulesListCommand(), p.schedulesShowCommand(), p.schedulesHistoryCommand(), p.schedulesRunCommand(),
			p.schedulesPauseCommand(), p.schedulesResumeCommand(), p.schedulesBackfillCommand(),
		},
	}
}

func (p *program) schedulesListCommand() *cli.Command {
	return &cli.Command{
		Name: "list", Usage: "list the applied schedules, by name",
		Description: "LAST RUN, STARTED and TOOK are of the newest run that was started; ticks that did not run are not among them.\n" +
			"OPEN counts the runs that are due and have not ended: waiting for a worker, active, or pausing before another\n" +
			"attempt. MISSED are the ticks that did not run for the reasons catchUp, deadline and paused, SKIPPED those for\n" +
			"overlap.",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "state", Usage: "only those in `STATE`: active, suspended, paused or ended"},
			labelFlag(),
		},
		Action: p.schedulesList,
	}
}

func labelFlag() cli.Flag {
	return &cli.StringSliceFlag{Name: "label", Usage: "only those with the label `K=V`; may be given again, and all must fit"}
}

// label is a label that a schedule must have.
type label struct{ key, value string }

func (v *values) labels() []label {
	var list []label
	for _, text := range v.c.StringSlice("label") {
		key, value, ok := strings.Cut(text, "=")
		if !ok || key == "" {
			v.refuse("--label", fmt.Sprintf("%q is not NAME=VALUE", text))
			continue
		}
		list = append(list, label{key, value})
	}
	return list
}

func labelled(d scheduler.Definition, labels []label) bool {
	for _, l := range labels {
		if value, ok := d.Labels[l.key]; !ok || value != l.value {
			return false
		}
	}
	return true
}

func (p *program) schedulesList(c *cli.Context) error {
	if err := noArguments(c); err != nil {
		return err
	}
	v := &values{c: c}
	state := v.word("state", "", string(scheduler.ScheduleActive), string(scheduler.ScheduleSuspended), string(scheduler.SchedulePaused), string(scheduler.ScheduleEnded))
	labels := v.labels()
	if err := v.err(); err != nil {
		return err
	}
	return p.withRedis(c.Context, shortCommand, func(ctx context.Context, conn *conn) error {
		all, err := p.manager(conn).List(ctx)
		if err != nil {
			return err
		}
		var list []scheduler.Status
		for _, s := range all.Schedules {
			if (state == "" || string(s.State) == state) && labelled(s.Definition, labels) {
				list = append(list, s)
			}
		}
		for _, name := range all.Foreign {
			p.say("schedule %s was applied by another version of bide and cannot be read by this one", name)
		}
		if p.set.json {
			reply := struct {
				Items      []scheduleItem `json:"items"`
				NextCursor text           `json:"nextCursor"`
			}{Items: []scheduleItem{}} // one page has them all
			for _, s := range list {
				reply.Items = append(reply.Items, scheduleItemOf(s))
			}
			return p.writeJSON(reply)
		}
		if len(list) == 0 {
			if len(all.Schedules) == 0 {
				p.say("no schedules are applied; bide apply FILE applies some, and so does bide serve with a schedules.yaml")
			} else {
				p.say("no schedule matches")
			}
			return nil
		}
		return p.showSchedules(list, times{form: p.set.times, now: all.Now})
	})
}

func (p *program) showSchedules(list []scheduler.Status, t times) error {
	var rows [][]cell
	for _, s := range list {
		next := plain(t.show(s.Next))
		if s.Next.IsZero() {
			next = plain("never")
		}
		rows = append(rows, []cell{
			plain(s.Definition.Name), scheduleStateCell(s), next, endCell(s.LastRun.Outcome, s.LastRun.Reason), plain(t.show(s.LastRun.Started)), plain(ran(s.LastRun)),
			failingCell(s.ConsecutiveFailures), counted(s.Running), counted(s.Missed), counted(s.Skipped), plain(s.Definition.Owner), plain(pauseNote(s, t)),
		})
	}
	return p.table([]column{
		{head: "name", yield: 1}, {head: "state"}, {head: "next"}, {head: "last run"}, {head: "started", optional: true}, {head: "took", right: true, optional: true},
		{head: "failing", right: true, optional: true}, {head: "open", right: true, optional: true}, {head: "missed", right: true, optional: true},
		{head: "skipped", right: true, optional: true}, {head: "owner", yield: 2, optional: true}, {head: "pause", yield: 2, optional: true},
	}, rows)
}

// scheduleStateCell names the state, and both of two that hold it back.
func scheduleStateCell(s scheduler.Status) cell {
	c := cell{text: string(s.State)}
	switch s.State {
	case scheduler.ScheduleActive:
		c.paint = green
	case scheduler.SchedulePaused, scheduler.ScheduleSuspended:
		c.paint = yellow
	}
	if s.State == scheduler.SchedulePaused && s.Definition.Suspend {
		c.text += ", suspended"
	}
	return c
}

// pauseNote says in a table who paused, until when and why.
func pauseNote(s scheduler.Status, t times) string {
	h := s.Pause
	if h == nil {
		return ""
	}
	var parts []string
	if h.By != "" {
		parts = append(parts, "by "+h.By)
	}
	if !h.At.IsZero() {
		parts = append(parts, t.show(h.At))
	}
	if !h.Until.IsZero() {
		parts = append(parts, "until "+t.show(h.Until))
	}
	words := strings.Join(parts, ", ")
	if h.Reason != "" {
		words += ": " + h.Reason
	}
	return words
}

func failingCell(n int) cell {
	c := counted(n)
	c.paint = red
	return c
}

// counted is a number in a table, empty for none.
func counted(n int) cell {
	if n == 0 {
		return plain("")
	}
	return plain(humanize.Comma(int64(n)))
}

// took is how long something took, empty if it has not.
func took(d time.Duration) string {
	switch {
	case d < 0:
		return ""
	case d < 10*time.Second:
		return duration.Format(d.Round(time.Millisecond))
	}
	return duration.Format(d.Round(time.Second))
}

// ran is how long the newest run took, empty while it is active.
func ran(r scheduler.LastRun) string {
	if r.Finished.IsZero() {
		return ""
	}
	return took(r.Duration)
}

// oneSchedule is the argument of a command that takes one schedule.
func oneSchedule(c *cli.Context) (string, error) {
	next := "bide schedules list shows them"
	switch c.NArg() {
	case 0:
		return "", usage(c.Command.HelpName+" needs the NAME of a schedule", next)
	case 1:
		name := c.Args().First()
		if err := job.CheckSchedule(name); err != nil {
			return "", usage(err.Error(), next)
		}
		return name, nil
	}
	return "", usage(fmt.Sprintf("%s takes one schedule, and there are %d arguments", c.Command.HelpName, c.NArg()), "see "+c.Command.HelpName+" --help")
}
