package cli

import (
	"errors"
	"slices"

	"github.com/urfave/cli/v2"

	"github.com/bide-go/bide/internal/app"
)

func (p *program) serveCommand() *cli.Command {
	return &cli.Command{
		Name: "serve", Usage: "run the roles against Redis until stopped",
		Description: "The first SIGINT or SIGTERM drains: no job is taken any more, running ones have the grace period to finish.\n" +
			"A second one ends it at once. SIGHUP reads the schedules files again. Every flag has a variable: BIDE_ and its name.",
		Flags: append([]cli.Flag{
			&cli.StringFlag{Name: "roles", Usage: "`LIST` of scheduler, promoter, worker and api (default all four)"},
		}, serviceFlags()...),
		Action: p.serve,
	}
}

func (p *program) serve(c *cli.Context) error {
	if err := noArguments(c); err != nil {
		return err
	}
	o, err := p.serveOptions(c)
	if err != nil {
		return err
	}
	t, err := p.target()
	if err != nil {
		return err
	}
	o.Redis = t.client(false)
	defer o.Redis.Close()
	return served(app.Run(c.Context, o))
}

// serveOptions is everything but the Redis client.
func (p *program) serveOptions(c *cli.Context) (app.Options, error) {
	v := &values{c: c, getenv: p.env.Getenv}
	o := p.serviceOptions(v)
	o.Roles = v.roles()
	if files, given := v.files(); given || slices.Contains(o.Roles, "scheduler") {
		o.Files, o.FilesGiven = files, given
	}
	unset := ""
	if slices.Contains(o.Roles, "api") {
		unset = defaultListen
	}
	o.Listen = v.listen(unset)
	return o, v.err()
}

// served turns the end of a service into the exit code for its supervisor.
func served(err error) error {
	var file *app.FileError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &file):
		return &failure{code: exitFile, err: err}
	case errors.Is(err, app.ErrCutShort):
		return &failure{code: exitInterrupted, err: err, next: "the jobs that were running start again elsewhere"}
	}
	return &failure{code: exitFailed, err: err}
}
