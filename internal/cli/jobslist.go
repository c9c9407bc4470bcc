package cli

import (
	"context"
	"slices"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/urfave/cli/v2"

	"github.com/bide-go/bide/job"
)

func (p *program) jobsListCommand() *cli.Command {
	return &cli.Command{
		Name: "list", Usage: "list jobs, a page at a time",
		Description: "Without --state it goes on from active to waiting, delayed, dead and finished jobs, each in the order\n" +
			"of their place. A page looks at 10,000 jobs at most, so with filters it may be short and still have a next one.\n" +
			"A job that moves while pages are read may be missed, or be on two of them.",
		Flags: slices.Concat([]cli.Flag{
			&cli.StringFlag{Name: "state", Usage: "only jobs in `STATE`: delayed, waiting, active, completed, dead, cancelled, expired or skipped"},
		}, filterFlags(), pageFlags()),
		Action: func(c *cli.Context) error { return p.listJobs(c, "") },
	}
}

func filterFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "queue", Usage: "only jobs of `QUEUE`"},
		&cli.StringFlag{Name: "name", Usage: "only jobs for the handler `NAME`"},
		&cli.StringFlag{Name: "schedule", Usage: "only jobs of the schedule `NAME`"},
	}
}

func pageFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "limit", Usage: "at most `N` jobs, up to 1000 (default 50)"},
		&cli.StringFlag{Name: "cursor", Usage: "go on at `CURSOR`, the nextCursor of the page before"},
	}
}

// filter is what a job must be like to be listed; empty matches all.
type filter struct {
	state                 job.State
	queue, name, schedule string
	errorText             string        // in the newest failure
	since                 time.Duration // of dead jobs: how long ago they died at most
	limit                 int
}

// readFilter reads the flags of a list, of which the command has those that fit
// it. A state given here is that of the command.
func readFilter(c *cli.Context, state job.State) (filter, position, error) {
	v := &values{c: c}
	f := filter{limit: v.number("limit", 50, 1000)}
	words := make([]string, len(job.States))
	for i, s := range job.States {
		words[i] = string(s)
	}
	f.state = job.State(v.word("state", string(state), words...))
	if found, ok := v.find("error"); ok {
		f.errorText = found.text
	}
	f.since = v.span("since", 0, time.Millisecond)
	for _, e := range []struct {
		flag  string
		to    *string
		check func(string) error
	}{{"queue", &f.queue, job.CheckQueue}, {"name", &f.name, job.CheckName}, {"schedule", &f.schedule, job.CheckSchedule}} {
		found, ok := v.find(e.flag)
		if !ok {
			continue
		}
		if err := e.check(found.text); err != nil {
			v.refuse(found.from, err.Error())
		}
		*e.to = found.text
	}
	var from position
	if found, ok := v.find("cursor"); ok {
		var err error
		if from, err = decodeCursor(found.text); err != nil || !slices.Contains(placesOf(f.state), from.Place) {
			v.refuse(found.from, "this is no nextCursor of a list with these filters")
		}
	}
	return f, from, v.err()
}

// listJobs lists jobs, of one state if there is one.
func (p *program) listJobs(c *cli.Context, state job.State) error {
	if err := noArguments(c); err != nil {
		return err
	}
	f, from, err := readFilter(c, state)
	if err != nil {
		return err
	}
	return p.withRedis(c.Context, shortCommand, func(ctx context.Context, conn *conn) error {
		list, err := newLister(ctx, conn, f)
		if err != nil {
			return err
		}
		jobs, next, err := list.page(ctx, from)
		if err != nil {
			return err
		}
		if p.set.json {
			reply := struct {
				Items      []jobItem `json:"items"`
				NextCursor text      `json:"nextCursor"`
			}{[]jobItem{}, text(next)}
			for _, j := range jobs {
				reply.Items = append(reply.Items, itemOf(j))
			}
			return p.writeJSON(reply)
		}
		t, err := p.timesFor(ctx, conn)
		if err != nil {
			return err
		}
		return p.showJobs(jobs, next, t)
	})
}

func (p *program) showJobs(jobs []*job.Job, next string, t times) error {
	var rows [][]cell
	for _, j := range jobs {
		when := j.Due
		switch {
		case j.State == job.Active:
			when = j.Started
		case j.State.Ended() && !j.Finished.IsZero():
			when = j.Finished
		}
		rows = append(rows, []cell{
			stateCell(j.State), plain(j.ID), plain(j.Name), plain(j.Queue), plain(t.show(when)),
			plain(humanize.Comma(int64(j.Attempts)) + "/" + humanize.Comma(int64(j.MaxAttempts))), plain(j.LastError()),
		})
	}
	if len(rows) == 0 {
		p.say("no jobs; of finished ones only the dead are kept, and those with a retention")
	} else if err := p.table([]column{
		{head: "state"}, {head: "id"}, {head: "name", yield: 1}, {head: "queue", yield: 1},
		{head: "when"}, {head: "failed", right: true}, {head: "last error", yield: 2, optional: true},
	}, rows); err != nil {
		return err
	}
	if next != "" {
		p.say("there may be more: add --cursor %s", next)
	}
	return nil
}

func stateCell(s job.State) cell {
	paint := ""
	switch s {
	case job.Active, job.Completed:
		paint = green
	case job.Dead:
		paint = red
	case job.Expired, job.Skipped, job.Cancelled:
		paint = yellow
	}
	return cell{string(s), paint}
}
