package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/urfave/cli/v2"
)

func (p *program) doctorCommand() *cli.Command {
	return &cli.Command{
		Name: "doctor", Usage: "check Redis, the roles and the jobs, and say what to do about what is wrong",
		Description: "Beyond a trial write it changes nothing unless told to. The exit code is 1 if a check fails, and 5 if Redis does not answer.",
		Flags: []cli.Flag{
			&cli.BoolFlag{Name: "strict", Usage: "let warnings fail, too"},
			&cli.BoolFlag{Name: "fix", Usage: "repair orphans: jobs and entries that have lost their counterpart"},
		},
		Action: p.doctor,
	}
}

// status is what a check says.
type status string

const (
	fine   status = "ok"
	warns  status = "warn"
	failed status = "fail"
)

// finding is the result of one check.
type finding struct {
	Check  string `json:"check"`
	Status status `json:"status"`
	Detail string `json:"detail"`
	Hint   text   `json:"hint"`
}

func (p *program) doctor(c *cli.Context) error {
	if err := noArguments(c); err != nil {
		return err
	}
	t, err := p.target()
	if err != nil {
		return err
	}
	var findings []finding
	err = p.withRedis(c.Context, shortCommand, func(ctx context.Context, conn *conn) error {
		e := &examination{source: sourceOf(conn), where: t.shown, namespace: p.set.namespace, fix: c.Bool("fix")}
		findings = e.all(ctx)
		return e.err
	})
	if code, _ := judge(err); err != nil && code == exitInterrupted {
		return err
	}
	if findings == nil {
		e := &examination{source: source{zone: loadZone}, unasked: err}
		findings = e.all(c.Context)
	}
	strict := c.Bool("strict")
	fails, warnings := tally(findings)
	if err := p.writeFindings(findings, fails == 0 && (warnings == 0 || !strict)); err != nil {
		return err
	}
	switch {
	case err != nil:
		return err
	case fails > 0:
		return &failure{code: exitFailed, err: fmt.Errorf("%s failed", many(int64(fails), "check", "checks")), next: "the hints say what to do"}
	case warnings > 0 && strict:
		return &failure{code: exitFailed, err: fmt.Errorf("%s, and --strict lets them fail", many(int64(warnings), "warning", "warnings")), next: "the hints say what to do"}
	}
	return nil
}

func tally(findings []finding) (fails, warnings int) {
	for _, f := range findings {
		switch f.Status {
		case failed:
			fails++
		case warns:
			warnings++
		}
	}
	return fails, warnings
}

func (p *program) writeFindings(findings []finding, ok bool) error {
	if p.set.json {
		return p.writeJSON(struct {
			OK     bool      `json:"ok"`
			Checks []finding `json:"checks"`
		}{ok, findings})
	}
	width := 0
	for _, f := range findings {
		width = max(width, len(f.Check))
	}
	paints := map[status]string{fine: green, warns: yellow, failed: red}
	var b strings.Builder
	for _, f := range findings {
		fmt.Fprintf(&b, "%s  %-*s  %s\n", painted(p.set.color, paints[f.Status], fmt.Sprintf("%-4s", f.Status)), width, f.Check, clean(f.Detail))
		if f.Hint != "" && f.Status != fine {
			fmt.Fprintf(&b, "      %-*s  → %s\n", width, "", clean(string(f.Hint)))
		}
	}
	_, err := p.stdout.Write([]byte(b.String()))
	return err
}
