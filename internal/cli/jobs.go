package cli

import (
	"fmt"

	"github.com/urfave/cli/v2"
)

func (p *program) jobsCommand() *cli.Command {
	return &cli.Command{
		Name: "jobs", Usage: "look at jobs and move them",
		Subcommands: []*cli.Command{
			p.jobsListCommand(), p.jobsShowCommand(), p.jobsCancelCommand(), p.jobsRetryCommand(), p.jobsRescheduleCommand(),
		},
	}
}

// ids returns the arguments of a command that takes job ids.
func ids(c *cli.Context, most int) ([]string, error) {
	list := c.Args().Slice()
	if len(list) == 0 {
		return nil, usage(c.Command.HelpName+" needs the ID of a job", "bide jobs list shows them")
	}
	if most > 0 && len(list) > most {
		return nil, usage(fmt.Sprintf("%s takes one ID, and there are %d", c.Command.HelpName, len(list)), "see "+c.Command.HelpName+" --help")
	}
	for _, id := range list {
		if id == "" {
			return nil, usage("an ID is empty", "is a variable of the shell not set?")
		}
	}
	return list, nil
}
