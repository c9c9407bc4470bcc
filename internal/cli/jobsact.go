package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/dustin/go-humanize"
	"github.com/urfave/cli/v2"

	"github.com/bide-go/bide/job"
	"github.com/bide-go/bide/scripts"
)

func (p *program) jobsCancelCommand() *cli.Command {
	return &cli.Command{
		Name: "cancel", Usage: "cancel jobs", ArgsUsage: "ID…",
		Description: "Delayed and waiting jobs end at once. The context of an active one is cancelled: it ends when its handler\n" +
			"returns, and is completed if the handler returns without an error. All IDs are tried.",
		Action: func(c *cli.Context) error {
			return p.act(c, func(ctx context.Context, conn *conn, id string) (job.State, error) { return conn.set.Cancel(ctx, id) })
		},
	}
}

func (p *program) jobsRetryCommand() *cli.Command {
	return &cli.Command{
		Name: "retry", Usage: "start dead jobs anew, or make delayed ones due now", ArgsUsage: "ID…",
		Description: "A dead job waits again with no failed attempts; its errors are kept. All IDs are tried.",
		Action: func(c *cli.Context) error {
			return p.act(c, func(ctx context.Context, conn *conn, id string) (job.State, error) { return conn.set.Revive(ctx, id) })
		},
	}
}

// acted is what became of one id.
type acted struct {
	ID    string `json:"id"`
	OK    bool   `json:"ok"`
	State text   `json:"state"`
	Error text   `json:"error"`
}

var errNotTried = errors.New("not tried")

type move func(ctx context.Context, conn *conn, id string) (job.State, error)

// act tries a move on every id. A job that refuses does not stop the others; a
// Redis that does not answer, or takes no writes, would refuse all of them.
func (p *program) act(c *cli.Context, do move) error {
	list, err := ids(c, 0)
	if err != nil {
		return err
	}
	return p.withRedis(c.Context, shortCommand, func(ctx context.Context, conn *conn) error {
		var results []acted
		var errs several
		var fatal error
		for _, id := range list {
			r := acted{ID: id}
			state, err := job.State(""), errNotTried
			if fatal == nil {
				state, err = do(ctx, conn, id)
				if errors.Is(err, job.ErrNotFound) {
					err = goneError(ctx, conn, id, err)
				}
			}
			r.OK, r.State = err == nil, text(state)
			if err != nil {
				r.Error = text(err.Error())
				errs = append(errs, err)
				if fatal == nil && stops(err) {
					fatal = err
				}
			}
			results = append(results, r)
		}
		if err := p.writeActed(results); err != nil {
			return err
		}
		if fatal != nil {
			return fatal
		}
		return refused(errs)
	})
}

// refused is the error for those of several that were refused, nil for none.
func refused(errs several) error {
	if len(errs) == 0 {
		return nil
	}
	code, next := exitState, ""
	for _, err := range errs {
		var one int
		if one, next = judge(err); one != exitState {
			code = one
		}
	}
	return &failure{code: code, err: shorten(errs), next: next}
}

// shorten keeps a long list of errors from filling the screen.
func shorten(errs several) several {
	const most = 20
	if len(errs) <= most {
		return errs
	}
	return append(slices.Clone(errs[:most]), fmt.Errorf("and %s more were refused", humanize.Comma(int64(len(errs)-most))))
}

// stops reports whether err would come for whatever is tried next, too.
func stops(err error) bool { return scripts.Away(err) || redisAnswered(err) }

func (p *program) writeActed(results []acted) error {
	if p.set.json {
		return p.writeJSON(struct {
			Items []acted `json:"items"`
		}{results})
	}
	for _, r := range results {
		if !r.OK {
			continue
		}
		if _, err := fmt.Fprintf(p.stdout, "%s  %s\n", clean(r.ID), r.State); err != nil {
			return err
		}
		if r.State == text(job.Active) {
			p.say("job %s is running: its handler was asked to stop", r.ID)
		}
	}
	return nil
}
