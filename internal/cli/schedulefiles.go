package cli

import (
	"errors"
	"slices"

	"github.com/urfave/cli/v2"

	"github.com/bide-go/bide/internal/app"
	"github.com/bide-go/bide/internal/schedulefile"
	"github.com/bide-go/bide/job"
	"github.com/bide-go/bide/scheduler"
)

func allowExecFlag() cli.Flag {
	return &cli.BoolFlag{Name: "allow-exec", Usage: "allow schedules that run commands with the handler exec"}
}

// loadFiles reads schedules files as one set. With any error in them the problems
// are written, with -o json as check does instead of the command's own JSON, and
// nothing is returned. Warnings are written too, if told.
func (p *program) loadFiles(c *cli.Context, files []string, told bool) ([]scheduler.Definition, error) {
	sources, err := p.readSources(c.Context, files)
	if err != nil {
		return nil, err
	}
	options := app.CheckOptions()
	options.AllowExec = c.Bool("allow-exec")
	result := schedulefile.Load(sources, options)
	bad := result.Fatal || result.Errors() > 0
	if bad && p.set.json {
		if err := p.writeProblems(result); err != nil {
			return nil, err
		}
	} else if bad || told && !p.set.quiet {
		schedulefile.Print(p.env.Stderr, result.Problems, p.set.colorErr)
	}
	if bad {
		return nil, &failure{code: exitFile, err: errNoDefinitions, next: "nothing was done"}
	}
	return result.Definitions, nil
}

var errNoDefinitions = errors.New("the schedules are not valid")

// scheduleNames checks names of schedules and drops repeats.
func scheduleNames(v *values, args []string) []string {
	var names []string
	for _, name := range args {
		if err := job.CheckSchedule(name); err != nil {
			v.bad = append(v.bad, err)
		} else if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// manager is the schedules of a Redis.
func (p *program) manager(c *conn) *scheduler.Manager {
	return scheduler.NewManager(c.rdb, p.set.namespace, p.caller())
}
