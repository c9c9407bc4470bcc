package cli

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/urfave/cli/v2"

	"github.com/bide-go/bide/internal/app"
	"github.com/bide-go/bide/internal/schedulefile"
)

func (p *program) checkCommand() *cli.Command {
	return &cli.Command{
		Name: "check", Usage: "check schedules files; no Redis is needed", ArgsUsage: "FILE…",
		Description: "All files together are one set; - is standard input. The exit code is 3 if there are errors.",
		Flags: []cli.Flag{
			&cli.BoolFlag{Name: "strict", Usage: "let warnings fail, too"},
			&cli.BoolFlag{Name: "strict-env", Usage: "demand the environment variables and files that secret references name"},
			&cli.BoolFlag{Name: "allow-exec", Usage: "allow schedules that run commands with the handler exec"},
		},
		Action: p.check,
	}
}

// checkReply is the JSON of check.
type checkReply struct {
	Schedules int            `json:"schedules"`
	Errors    int            `json:"errors"`
	Warnings  int            `json:"warnings"`
	Problems  []checkProblem `json:"problems"`
}

type checkProblem struct {
	Code     string `json:"code"`
	Severity string `json:"severity"`
	File     string `json:"file"`
	Line     int    `json:"line"`
	Column   int    `json:"column"`
	Path     text   `json:"path"`
	Message  string `json:"message"`
	Hint     text   `json:"hint"`
}

func (p *program) check(c *cli.Context) error {
	sources, err := p.readSources(c.Context, c.Args().Slice())
	if err != nil {
		return err
	}
	options := app.CheckOptions()
	options.StrictEnv, options.AllowExec = c.Bool("strict-env"), c.Bool("allow-exec")
	result := schedulefile.Load(sources, options)
	if err := p.writeCheck(result); err != nil {
		return err
	}
	switch {
	case result.Errors() > 0:
		return &failure{code: exitFile, err: errors.New("the schedules are not valid"), told: true}
	case result.Warnings() > 0 && c.Bool("strict"):
		return &failure{code: exitFile, err: errors.New("there are warnings, and --strict lets them fail"), next: "fix them, or leave --strict out"}
	}
	return nil
}

// readSources reads every file; one that cannot be read is a source with an error.
func (p *program) readSources(ctx context.Context, names []string) (sources []schedulefile.Source, err error) {
	if len(names) == 0 {
		return nil, usage("check needs a FILE", "such as bide check schedules.yaml, or - for standard input")
	}
	stdin := false
	for _, name := range names {
		var data []byte
		var err error
		if name == "-" {
			if stdin {
				return nil, usage("- is given twice, and there is one standard input", "name files instead")
			}
			stdin = true
			data, _, err = readAtMost(ctx, p.env.Stdin)
		} else {
			data, err = readFile(ctx, name)
		}
		if errors.Is(err, errInterrupted) {
			return nil, &failure{code: exitInterrupted, err: errInterrupted, next: "nothing was checked"}
		}
		sources = append(sources, schedulefile.Source{Name: name, Data: data, Err: err})
	}
	return sources, nil
}

// readFile reads a file to a bound that is beyond what a schedules file may have.
func readFile(ctx context.Context, name string) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, _, err := readAtMost(ctx, f)
	return data, err
}

func (p *program) writeCheck(result schedulefile.Result) error {
	if !p.set.json {
		schedulefile.Print(p.stdout, result.Problems, p.set.color)
		_, err := fmt.Fprintln(p.stdout, schedulefile.Summary(result))
		return err
	}
	return p.writeProblems(result)
}

// writeProblems writes what is wrong with files as JSON.
func (p *program) writeProblems(result schedulefile.Result) error {
	reply := checkReply{result.Schedules, result.Errors(), result.Warnings(), []checkProblem{}}
	for _, e := range result.Problems {
		reply.Problems = append(reply.Problems, checkProblem{
			e.Code, e.Severity, e.File, e.Line, e.Column, text(e.Path), e.Message, text(e.Hint),
		})
	}
	return p.writeJSON(reply)
}
