package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/bide-go/bide/internal/clock"
	"github.com/bide-go/bide/job"
	"github.com/bide-go/bide/scheduler"
)

func (p *program) schedulesRunCommand() *cli.Command {
	return &cli.Command{
		Name: "run", Usage: "run a schedule's job now", ArgsUsage: "NAME",
		Description: "It is marked manual, moves no tick and works while the schedule is paused or suspended. It obeys the\n" +
			"concurrency policy: with Forbid it is skipped while an earlier run is open, and the exit code is 4.\n" +
			"With --wait the exit code is 0 if it completed, 1 if it ended otherwise, and 124 if --command-timeout ran out.",
		Flags: []cli.Flag{
			&cli.BoolFlag{Name: "wait", Usage: "wait until it has ended, for as long as --command-timeout says (default 30s)"},
			&cli.StringFlag{Name: "args", Usage: "`JSON` instead of the definition's args, or @FILE, or - for standard input"},
			&cli.BoolFlag{Name: "force", Usage: "run it beside open runs, whatever the concurrency policy"},
		},
		Action: p.schedulesRun,
	}
}

// startedReply is the JSON of schedules run.
type startedReply struct {
	ID       string `json:"id"`
	Schedule string `json:"schedule"`
	Trigger  text   `json:"trigger"`
	State    text   `json:"state"`
	Due      stamp  `json:"due"`
}

func (p *program) schedulesRun(c *cli.Context) error {
	name, err := oneSchedule(c)
	if err != nil {
		return err
	}
	v := &values{c: c}
	o := scheduler.RunOptions{Force: c.Bool("force")}
	found, hasArgs := v.find("args")
	if err := v.err(); err != nil {
		return err
	}
	if hasArgs {
		if o.Args, err = p.laterArgs(c.Context, []string{found.text}); err != nil {
			return err
		}
	}
	return p.onSchedule(c, name, func(ctx context.Context, conn *conn, m *scheduler.Manager) error {
		if o.Args != nil {
			d, err := m.Show(ctx, name)
			if err != nil {
				return err
			}
			if err := fitArgs(d.Definition.Job, o.Args); err != nil {
				return err
			}
		}
		run, err := m.Run(ctx, name, o)
		if err != nil {
			return err
		}
		if !c.Bool("wait") {
			if err := p.writeStarted(run); err != nil {
				return err
			}
			return overlapped(run)
		}
		if !p.set.json {
			p.say("run %s is %s; waiting for its end", run.ID, run.State)
		}
		return p.awaitRun(ctx, c.Context, conn, run)
	})
}

// overlapped is the error for a run that did not happen because another is open.
func overlapped(run scheduler.Started) error {
	if run.State != job.Skipped {
		return nil
	}
	return &failure{
		code: exitState, err: fmt.Errorf("run %s is skipped: an earlier run of %s is open", run.ID, run.Schedule),
		next: "wait for it, see bide schedules history " + run.Schedule + ", or add --force to run beside it",
	}
}

func (p *program) writeStarted(run scheduler.Started) error {
	if p.set.json {
		return p.writeJSON(startedReply{run.ID, run.Schedule, text(run.Trigger), text(run.State), stamp(run.Due)})
	}
	_, err := fmt.Fprintf(p.stdout, "%s  %s\n", clean(run.ID), run.State)
	return err
}

// runEnd is how a run ended, or that it has not.
type runEnd struct {
	state  job.State
	reason job.Reason
	err    string // the newest failure
}

// awaitRun waits for the run's end and writes it. ctx ends with the time for the
// command, parent with an interruption; the run goes on after both.
func (p *program) awaitRun(ctx, parent context.Context, conn *conn, run scheduler.Started) error {
	const soon, later = 50 * time.Millisecond, time.Second
	wait := soon
	for {
		end, err := findRunEnd(ctx, conn, run.ID)
		switch {
		case ctx.Err() != nil:
		case err != nil:
			return err
		default:
			run.State = end.state
		}
		if run.State.Ended() {
			return p.reportRunEnd(run, end)
		}
		if ctx.Err() == nil {
			clock.Sleep(ctx, wait)
		}
		if ctx.Err() != nil {
			return p.stillRunning(parent, run)
		}
		wait = min(wait*3/2, later)
	}
}

// stillRunning is the end of the wait before that of the run.
func (p *program) stillRunning(parent context.Context, run scheduler.Started) error {
	next := "it goes on; bide jobs show " + run.ID + " tells more"
	if parent.Err() != nil {
		return &failure{code: exitInterrupted, err: fmt.Errorf("%w while run %s is %s", errInterrupted, run.ID, run.State), next: next}
	}
	if err := p.writeStarted(run); err != nil {
		return err
	}
	return &failure{
		code: exitTimeout, err: fmt.Errorf("run %s is still %s", run.ID, run.State),
		next: next + ", and --command-timeout gives it more time",
	}
}

func (p *program) reportRunEnd(run scheduler.Started, end runEnd) error {
	if err := p.writeStarted(run); err != nil {
		return err
	}
	if run.State == job.Completed {
		return nil
	}
	words := fmt.Sprintf("run %s is %s", run.ID, run.State)
	if end.reason != "" {
		words += " (" + string(end.reason) + ")"
	}
	if end.err != "" {
		words += ": " + end.err
	}
	return &failure{code: exitFailed, err: errors.New(words), next: "see bide schedules history " + run.Schedule}
}

// findRunEnd looks where the run is. Of one that is gone the events tell the end.
func findRunEnd(ctx context.Context, conn *conn, id string) (runEnd, error) {
	j, err := conn.set.Inspect(ctx, id)
	if err == nil {
		return runEnd{j.State, j.Reason, j.LastError()}, nil
	}
	if !errors.Is(err, job.ErrNotFound) {
		return runEnd{}, err
	}
	end, err := conn.set.FindEnd(ctx, id)
	if errors.Is(err, job.ErrNotFound) {
		return runEnd{}, &failure{
			code: exitFailed, err: fmt.Errorf("run %s is gone, and the events do not tell how it ended", id),
			next: "see bide schedules history",
		}
	}
	return runEnd{state: end.State, reason: end.Reason}, err
}
