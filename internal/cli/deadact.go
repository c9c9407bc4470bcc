package cli

import (
	"context"
	"fmt"
	"slices"

	"github.com/urfave/cli/v2"

	"github.com/bide-go/bide/job"
)

func (p *program) deadRetryCommand() *cli.Command {
	return &cli.Command{
		Name: "retry", Usage: "start dead jobs anew", ArgsUsage: "[ID…]",
		Description: "They wait again with no failed attempts; their errors are kept. Without IDs it takes all that match the\n" +
			"flags, or --all, counts them and asks first. All are tried.",
		Flags: bulkFlags(),
		Action: func(c *cli.Context) error {
			return p.bulk(c, bulkAct{words: "start %s anew", do: func(ctx context.Context, conn *conn, id string) error {
				_, err := conn.set.Revive(ctx, id)
				return err
			}})
		},
	}
}

func (p *program) deadDeleteCommand() *cli.Command {
	return &cli.Command{
		Name: "delete", Usage: "remove dead jobs with all that is kept of them", ArgsUsage: "[ID…]",
		Description: "Takes IDs, all that match the flags, or --all; counts them and asks first. All are tried. They stay counted.",
		Flags:       bulkFlags(),
		Action: func(c *cli.Context) error {
			return p.bulk(c, bulkAct{words: "delete %s for good", destroys: true, do: func(ctx context.Context, conn *conn, id string) error {
				return conn.set.Forget(ctx, id)
			}})
		},
	}
}

func bulkFlags() []cli.Flag {
	return append(deadFlags(),
		&cli.BoolFlag{Name: "all", Usage: "take every dead job"},
		&cli.BoolFlag{Name: "dry-run", Usage: "only count them"},
	)
}

// bulkAct is what is done to many dead jobs.
type bulkAct struct {
	words    string // for the question, with a place for the jobs
	destroys bool   // it asks even for jobs that were named by their IDs
	do       func(ctx context.Context, conn *conn, id string) error
}

// bulkReply is its JSON. Matched counts dead jobs, failed whatever was refused:
// jobs that were named and are not dead, too.
type bulkReply struct {
	Matched int  `json:"matched"`
	Done    int  `json:"done"`
	Failed  int  `json:"failed"`
	DryRun  bool `json:"dryRun"`
}

// selection is which dead jobs are meant: ids, or a filter.
type selection struct {
	ids    []string
	filter filter
}

func readSelection(c *cli.Context) (selection, error) {
	var s selection
	filters := 0
	for _, flag := range []string{"name", "queue", "schedule", "error", "since"} {
		if c.IsSet(flag) {
			filters++
		}
	}
	next := "see " + c.Command.HelpName + " --help"
	all := c.Bool("all")
	switch {
	case c.NArg() == 0 && filters == 0 && !all:
		return s, usage(c.Command.HelpName+" needs to know which jobs: IDs, a filter such as --name, or --all", next)
	case c.NArg() > 0 && (filters > 0 || all):
		return s, usage("there are IDs and also flags that choose jobs", "give one or the other")
	case filters > 0 && all:
		return s, usage("--all is given, and also a filter", "give one or the other")
	}
	if c.NArg() > 0 {
		list, err := ids(c, 0)
		for _, id := range list {
			if !slices.Contains(s.ids, id) {
				s.ids = append(s.ids, id)
			}
		}
		return s, err
	}
	f, _, err := readFilter(c, job.Dead)
	s.filter = f
	return s, err
}

// bulk finds the jobs, asks, and then acts on those it found: what dies meanwhile
// is left alone.
func (p *program) bulk(c *cli.Context, act bulkAct) error {
	s, err := readSelection(c)
	if err != nil {
		return err
	}
	var found []string
	var errs several
	err = p.withRedis(c.Context, shortCommand, func(ctx context.Context, conn *conn) (err error) {
		found, errs, err = s.find(ctx, conn)
		return err
	})
	if err != nil {
		return err
	}
	reply := bulkReply{Matched: len(found), Failed: len(errs), DryRun: c.Bool("dry-run")}
	if len(found) == 0 || reply.DryRun {
		if len(s.ids) == 0 && len(found) == 0 {
			p.say("no dead job matches")
		}
		if err := p.writeBulk(reply); err != nil {
			return err
		}
		return refused(errs)
	}
	if act.destroys || len(s.ids) == 0 {
		if err := p.confirm(c.Context, fmt.Sprintf(act.words, many(int64(len(found)), "dead job", "dead jobs"))); err != nil {
			return err
		}
	}
	return p.withRedis(c.Context, shortCommand, func(ctx context.Context, conn *conn) error {
		return p.doBulk(ctx, conn, act, found, errs, reply)
	})
}

// doBulk acts on every job. One that refuses does not stop the others; a Redis
// that does not answer, or takes no writes, would refuse all of them.
func (p *program) doBulk(ctx context.Context, conn *conn, act bulkAct, found []string, errs several, reply bulkReply) error {
	var fatal error
	for i, id := range found {
		err := act.do(ctx, conn, id)
		if err == nil {
			reply.Done++
			continue
		}
		errs = append(errs, err)
		if stops(err) {
			fatal = fmt.Errorf("after %d of %s: %w", i, many(int64(len(found)), "job", "jobs"), err)
			break
		}
	}
	reply.Failed += len(found) - reply.Done // those not tried among them
	if err := p.writeBulk(reply); err != nil {
		return err
	}
	if fatal != nil {
		return fatal
	}
	return refused(errs)
}

func (p *program) writeBulk(r bulkReply) error {
	if p.set.json {
		return p.writeJSON(r)
	}
	if r.DryRun {
		p.say("this was a dry run: nothing was changed")
	}
	failed := plain(fmt.Sprint(r.Failed))
	if r.Failed > 0 {
		failed.paint = red
	}
	return p.pairs([]pair{{"matched", plain(fmt.Sprint(r.Matched))}, {"done", plain(fmt.Sprint(r.Done))}, {"failed", failed}})
}

// find lists the ids of the dead jobs that are meant, and says what is wrong with
// those that were named and are not dead.
func (s selection) find(ctx context.Context, conn *conn) (found []string, errs several, err error) {
	for _, id := range s.ids {
		j, err := conn.set.Inspect(ctx, id)
		if err == nil {
			err = mustBeDead(j)
		}
		switch {
		case err == nil:
			found = append(found, id)
		case stops(err):
			return nil, nil, err
		default:
			errs = append(errs, err)
		}
	}
	if len(s.ids) > 0 {
		return found, errs, nil
	}
	s.filter.limit = readAtOnce
	list, err := newLister(ctx, conn, s.filter)
	if err != nil {
		return nil, nil, err
	}
	var from position
	for {
		jobs, next, err := list.page(ctx, from)
		if err != nil {
			return nil, nil, err
		}
		for _, j := range jobs {
			found = append(found, j.ID)
		}
		if next == "" {
			return found, nil, nil
		}
		if from, err = decodeCursor(next); err != nil {
			return nil, nil, err
		}
		list.budget = lookAtMost
	}
}
