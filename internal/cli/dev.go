package cli

import (
	"fmt"

	"github.com/rs/zerolog"
	"github.com/urfave/cli/v2"

	"github.com/bide-go/bide/internal/app"
)

func (p *program) devCommand() *cli.Command {
	return &cli.Command{
		Name: "dev", Usage: "try everything out in one process with a Redis of its own, of which nothing is kept",
		ArgsUsage:   "[FILE]",
		Description: "FILE is a schedules file, as with --file. A busy port gives way to a free one. The log shows warnings only unless --log-level says otherwise. Every flag has a variable: BIDE_ and its name.",
		Flags:       serviceFlags(),
		Action:      p.dev,
	}
}

func (p *program) dev(c *cli.Context) error {
	o, err := p.devOptions(c)
	if err != nil {
		return err
	}
	return served(app.Dev(c.Context, o))
}

func (p *program) devOptions(c *cli.Context) (app.Options, error) {
	v := &values{c: c, getenv: p.env.Getenv}
	o := p.serviceOptions(v)
	o.Roles = allRoles
	o.Files, o.FilesGiven = v.files()
	switch n := c.NArg(); {
	case n > 1:
		return o, usage(fmt.Sprintf("dev takes one FILE, and there are %d arguments", n), "several files: --file A --file B")
	case n == 1 && c.IsSet("file"):
		return o, usage("dev has a FILE both as an argument and with --file", "give all of them with --file")
	case n == 1:
		o.Files, o.FilesGiven = c.Args().Slice(), true
	}
	if c.IsSet("redis-url") {
		return o, usage("dev brings its own Redis and does not use --redis-url", "bide serve --redis-url uses it")
	}
	o.Sample = p.env.Sample
	o.Listen, o.AnyPort = v.listen(defaultListen), true
	o.Dev = p.stdout
	if !c.IsSet("log-level") && p.env.Getenv("BIDE_LOG_LEVEL") == "" {
		o.Log = o.Log.Level(zerolog.WarnLevel) // what happens is on the screen already
	}
	return o, v.err()
}
