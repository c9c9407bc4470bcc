package cli

import (
	"context"
	"errors"
	"io"
	"strings"

	"github.com/urfave/cli/v2"
)

// program is one run of one command line.
type program struct {
	env    Env
	stdout *output
	set    settings
}

// Run runs the command line args, args[0] being the program's name, and returns
// its exit code.
func Run(ctx context.Context, env Env, args []string) int {
	env = env.complete()
	p := &program{env: env, stdout: &output{w: env.Stdout}}
	err := p.run(ctx, args)
	if err == nil && p.stdout.err != nil {
		err = &failure{code: exitFailed, err: p.stdout.err, next: "the output is not complete"}
	}
	return p.report(err)
}

func (p *program) run(ctx context.Context, args []string) error {
	if len(args) == 0 {
		args = []string{"bide"}
	}
	root := p.commands()
	l, err := hoist(root, args[1:])
	if err != nil {
		return err
	}
	if l.help {
		return p.help(root, l.path)
	}
	return p.app(root).RunContext(ctx, l.args)
}

// commands is the tree of the commands of this version.
func (p *program) commands() *cli.Command {
	root := &cli.Command{
		Name:  "bide",
		Usage: "a scheduler and delayed-job service on Redis",
		Flags: globalFlags(),
		Subcommands: []*cli.Command{
			p.devCommand(), p.serveCommand(),
			p.laterCommand(), p.jobsCommand(), p.deadCommand(), p.queuesCommand(), p.workersCommand(),
			p.statsCommand(), p.auditCommand(), p.doctorCommand(),
			p.schedulesCommand(), p.diffCommand(), p.applyCommand(), p.previewCommand(), p.explainCommand(),
			p.checkCommand(), p.schemaCommand(), p.initCommand(), p.versionCommand(),
		},
	}
	return root
}

// app gives the tree to urfave/cli. Its own help, version and exits are off: the
// help command it adds everywhere would swallow a job called "help", and an exit
// inside of Run would skip every deferred close.
func (p *program) app(root *cli.Command) *cli.App {
	prepare(root.Subcommands)
	return &cli.App{
		Name: root.Name, Usage: root.Usage, Flags: root.Flags, Commands: root.Subcommands,
		Reader: p.env.Stdin, Writer: io.Discard, ErrWriter: io.Discard,
		HideHelp: true, HideHelpCommand: true, HideVersion: true,
		DisableSliceFlagSeparator: true,
		Before:                    p.readSettings,
		Action:                    func(*cli.Context) error { return p.help(root, nil) },
		OnUsageError:              usageFromDriver,
		CommandNotFound:           func(*cli.Context, string) {},
		ExitErrHandler:            func(*cli.Context, error) {},
	}
}

func prepare(commands []*cli.Command) {
	for _, c := range commands {
		c.HideHelp, c.HideHelpCommand = true, true
		c.OnUsageError = usageFromDriver
		prepare(c.Subcommands)
	}
}

// usageFromDriver makes whatever urfave/cli does not like about a line a usage
// error. hoist has looked at the line before, so little is left for it.
func usageFromDriver(_ *cli.Context, err error, _ bool) error {
	return usage(strings.TrimPrefix(err.Error(), "flag: "), "see bide help")
}

// output remembers the first failed write: a full disk must not look like success.
type output struct {
	w   io.Writer
	err error
}

func (o *output) Write(b []byte) (int, error) {
	n, err := o.w.Write(b)
	if err != nil && o.err == nil {
		o.err = err
	}
	return n, err
}

var errInterrupted = errors.New("interrupted")
