package cli

import (
	"cmp"
	"context"
	"encoding/base64"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/bide-go/bide/job"
	"github.com/bide-go/bide/scheduler"
)

func (p *program) schedulesHistoryCommand() *cli.Command {
	return &cli.Command{
		Name: "history", Usage: "list the runs of a schedule and its missed ticks, newest first", ArgsUsage: "NAME",
		Flags: []cli.Flag{
			&cli.BoolFlag{Name: "failed", Usage: "only runs that neither completed nor are open, and missed ticks"},
			&cli.StringFlag{Name: "since", Usage: "only what became due in the last `DURATION`"},
			&cli.StringFlag{Name: "limit", Usage: "at most `N` records, up to 1000 (default 50)"},
			&cli.StringFlag{Name: "cursor", Usage: "go on at `CURSOR`, the nextCursor of the page before"},
		},
		Action: p.schedulesHistory,
	}
}

func (p *program) schedulesHistory(c *cli.Context) error {
	name, err := oneSchedule(c)
	if err != nil {
		return err
	}
	v := &values{c: c}
	f := scheduler.HistoryFilter{Failed: c.Bool("failed"), Limit: v.number("limit", 50, 1000)}
	since := v.span("since", 0, time.Second)
	if found, ok := v.find("cursor"); ok {
		after, err := base64.RawURLEncoding.DecodeString(found.text)
		if f.After = string(after); err != nil || f.After == "" {
			v.refuse(found.from, "this is no nextCursor of a history")
		}
	}
	if err := v.err(); err != nil {
		return err
	}
	return p.onSchedule(c, name, func(ctx context.Context, conn *conn, m *scheduler.Manager) error {
		now, err := conn.now(ctx)
		if err != nil {
			return err
		}
		if since > 0 {
			f.Since = now.Add(-since)
		}
		page, err := m.History(ctx, name, f)
		if err != nil {
			return err
		}
		next := base64.RawURLEncoding.EncodeToString([]byte(page.Next)) // opaque, and one word
		if p.set.json {
			reply := struct {
				Items      []runItem `json:"items"`
				NextCursor text      `json:"nextCursor"`
			}{[]runItem{}, text(next)}
			for _, r := range page.Runs {
				reply.Items = append(reply.Items, runItemOf(r))
			}
			return p.writeJSON(reply)
		}
		if len(page.Runs) == 0 {
			p.say("no such runs; the definition's history says how many are kept")
			return nil
		}
		if err := p.showRuns(page.Runs, times{form: p.set.times, now: now}); err != nil {
			return err
		}
		if next != "" {
			p.say("there are more: add --cursor %s", next)
		}
		return nil
	})
}

func (p *program) showRuns(runs []scheduler.Run, t times) error {
	var rows [][]cell
	for _, r := range runs {
		outcome := endCell(r.Outcome, r.Reason)
		when := r.Started
		if when.IsZero() {
			when = r.Due
		}
		late := ""
		if !r.Started.IsZero() && r.Started.After(r.Due) && r.Attempts == 0 && r.Lost == 0 {
			late = took(r.Started.Sub(r.Due))
		}
		rows = append(rows, []cell{
			outcome, plain(tickText(r.Tick)), plain(cmp.Or(string(r.Trigger), "none")), plain(t.show(when)), plain(late), plain(took(r.Duration)),
			counted(r.Attempts), counted(r.Lost), plain(r.LastError), plain(r.ID),
		})
	}
	return p.table([]column{
		{head: "outcome"}, {head: "tick (UTC)", optional: true}, {head: "trigger"}, {head: "when"}, {head: "late", right: true, optional: true},
		{head: "took", right: true, optional: true}, {head: "failed", right: true, optional: true}, {head: "lost", right: true, optional: true},
		{head: "last error", yield: 2, optional: true}, {head: "id", yield: 1},
	}, rows)
}

// endCell names how a run ended, and why.
func endCell(o scheduler.Outcome, why job.Reason) cell {
	c := stateCell(job.State(o))
	if o == scheduler.OutcomeMissed {
		c.paint = yellow
	}
	if why != "" {
		c.text += " (" + string(why) + ")"
	}
	return c
}

// tickText writes a tick: whole seconds, UTC.
func tickText(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format("Mon 2006-01-02 15:04:05")
}
