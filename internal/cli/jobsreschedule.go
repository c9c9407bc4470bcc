package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/urfave/cli/v2"

	"github.com/bide-go/bide/job"
)

func (p *program) jobsRescheduleCommand() *cli.Command {
	return &cli.Command{
		Name: "reschedule", Usage: "give a delayed job another due time", ArgsUsage: "ID",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "in", Usage: "due after `DURATION`, by Redis' clock"},
			&cli.StringFlag{Name: "at", Usage: "due at `TIME`; in the past means now"},
		},
		Action: p.jobsReschedule,
	}
}

func (p *program) jobsReschedule(c *cli.Context) error {
	list, err := ids(c, 1)
	if err != nil {
		return err
	}
	v := &values{c: c}
	in, at, given := v.when()
	if !given && v.bad == nil {
		v.bad = append(v.bad, errors.New("jobs reschedule needs --in DURATION or --at TIME"))
	}
	if err := v.err(); err != nil {
		return err
	}
	return p.withRedis(c.Context, shortCommand, func(ctx context.Context, conn *conn) error {
		due, err := conn.set.Reschedule(ctx, list[0], in, at)
		if err != nil {
			return err
		}
		if p.set.json {
			return p.writeJSON(laterReply{list[0], text(job.Delayed), stamp(due)})
		}
		t, err := p.timesFor(ctx, conn)
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(p.stdout, "%s  %s  %s\n", clean(list[0]), job.Delayed, t.both(due))
		return err
	})
}
