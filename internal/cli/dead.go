package cli

import (
	"fmt"

	"github.com/urfave/cli/v2"

	"github.com/bide-go/bide/job"
)

func (p *program) deadCommand() *cli.Command {
	return &cli.Command{
		Name: "dead", Usage: "look at dead jobs, start them anew or delete them",
		Subcommands: []*cli.Command{
			p.deadListCommand(), p.deadShowCommand(), p.deadRetryCommand(), p.deadDeleteCommand(),
		},
	}
}

func deadFlags() []cli.Flag {
	return append(filterFlags(),
		&cli.StringFlag{Name: "error", Usage: "only jobs with `TEXT` in their newest failure"},
		&cli.StringFlag{Name: "since", Usage: "only jobs that died within `DURATION`, by Redis' clock"},
	)
}

func (p *program) deadListCommand() *cli.Command {
	return &cli.Command{
		Name: "list", Usage: "list dead jobs, a page at a time, oldest death first",
		Description: "A page looks at 10,000 jobs at most, so with filters it may be short and still have a next one.",
		Flags:       append(deadFlags(), pageFlags()...),
		Action:      func(c *cli.Context) error { return p.listJobs(c, job.Dead) },
	}
}

func (p *program) deadShowCommand() *cli.Command {
	return &cli.Command{
		Name: "show", Usage: "show all there is to know of a dead job", ArgsUsage: "ID",
		Action: func(c *cli.Context) error { return p.showOne(c, mustBeDead) },
	}
}

func mustBeDead(j *job.Job) error {
	if j.State == job.Dead {
		return nil
	}
	return &failure{code: exitState, err: fmt.Errorf("job %q is %s, not dead", j.ID, j.State), next: "bide jobs show tells more about it"}
}
