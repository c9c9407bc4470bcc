package cli

import (
	"context"
	"slices"

	"github.com/bide-go/bide/internal/app"
	"github.com/bide-go/bide/internal/schedulefile"
	"github.com/bide-go/bide/job"
	"github.com/bide-go/bide/scheduler"
)

// loadFiles reads schedules files as one set. With any error in them the problems
// are written and nothing is returned.
func (p *program) loadFiles(ctx context.Context, files []string) ([]scheduler.Definition, error) {
	sources, unreadable, err := p.readSources(ctx, files)
	if err != nil {
		return nil, err
	}
	if len(unreadable) > 0 {
		return nil, &failure{code: exitFile, err: unreadable, next: "nothing was done"}
	}
	result := schedulefile.Load(sources, app.CheckOptions())
	if result.Fatal || result.Errors() > 0 {
		schedulefile.Print(p.env.Stderr, result.Problems, p.set.colorErr)
		return nil, &failure{code: exitFile, err: errNoDefinitions, next: "nothing was done"}
	}
	return result.Definitions, nil
}

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
