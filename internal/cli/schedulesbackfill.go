package cli

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/bide-go/bide/scheduler"
)

func (p *program) schedulesBackfillCommand() *cli.Command {
	return &cli.Command{
		Name: "backfill", Usage: "make up for a schedule's ticks of a time in the past", ArgsUsage: "NAME",
		Description: "Makes a job of every tick from --from up to and without --to, at most 10,000, whether or not it ran before.\n" +
			"They run oldest first, one at a time unless the concurrency policy is Allow. Counts them and asks first.",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "from", Usage: "ticks from `TIME` on, such as 2026-12-01, '2026-12-01 09:00' or 2026-12-01T09:00:00Z"},
			&cli.StringFlag{Name: "to", Usage: "ticks before `TIME`"},
			&cli.StringFlag{Name: "tz", Usage: "`ZONE` of times without an offset (default the schedule's)"},
			&cli.BoolFlag{Name: "dry-run", Usage: "change nothing, only count them"},
		},
		Action: p.schedulesBackfill,
	}
}

// backfillReply is the JSON of schedules backfill.
type backfillReply struct {
	Schedule string `json:"schedule"`
	From     stamp  `json:"from"`
	To       stamp  `json:"to"`
	Ticks    int    `json:"ticks"`
	Created  int    `json:"created"`
	DryRun   bool   `json:"dryRun"`
}

func (p *program) schedulesBackfill(c *cli.Context) error {
	name, err := oneSchedule(c)
	if err != nil {
		return err
	}
	v := &values{c: c}
	var first, end moment
	for _, e := range []struct {
		flag string
		to   *moment
	}{{"from", &first}, {"to", &end}} {
		if found, ok := v.find(e.flag); ok {
			*e.to = v.moment(found)
		} else if !c.IsSet(e.flag) {
			v.refuse("--"+e.flag, "give a time, such as 2026-12-01, '2026-12-01 09:00' or 2026-12-01T09:00:00Z")
		}
	}
	wall := first.wall || end.wall
	if c.IsSet("tz") && !wall && v.bad == nil {
		v.refuse("--tz", "it is the zone of times without an offset")
	}
	loc := v.zone("tz")
	if err := v.err(); err != nil {
		return err
	}
	if wall && !c.IsSet("tz") {
		if loc, err = p.zoneOf(c, name); err != nil {
			return err
		}
	}
	from, to := first.in(loc), end.in(loc)
	if !to.After(from) {
		return usage("--to: it is not after --from", "see "+c.Command.HelpName+" --help")
	}
	if wall {
		p.say("%s, that is from %s to %s", clockWords("--from and --to", loc), from.Format(time.RFC3339), to.Format(time.RFC3339))
	}
	fill := func(dryRun bool) (result scheduler.Backfilled, err error) {
		err = p.onSchedule(c, name, func(ctx context.Context, _ *conn, m *scheduler.Manager) (err error) {
			result, err = m.Backfill(ctx, name, from, to, dryRun)
			return err
		})
		return result, err
	}
	counted, err := fill(true)
	if err != nil {
		return err
	}
	if c.Bool("dry-run") {
		p.say("this was a dry run: nothing was changed")
		return p.writeBackfilled(counted)
	}
	counted.DryRun = false
	if counted.Ticks == 0 {
		p.say("schedule %s has no tick in that time", name)
		return p.writeBackfilled(counted)
	}
	if err := p.confirm(c.Context, fmt.Sprintf("run %s of schedule %s", many(int64(counted.Ticks), "tick", "ticks"), name)); err != nil {
		return err
	}
	done, err := fill(false)
	if err != nil && done.Created == 0 {
		return err
	}
	if writeErr := p.writeBackfilled(done); writeErr != nil {
		return writeErr
	}
	return err
}

// zoneOf is the zone of an applied schedule.
func (p *program) zoneOf(c *cli.Context, name string) (loc *time.Location, err error) {
	err = p.onSchedule(c, name, func(ctx context.Context, _ *conn, m *scheduler.Manager) error {
		d, err := m.Show(ctx, name)
		if err != nil {
			return err
		}
		loc, err = time.LoadLocation(cmp.Or(d.Definition.TimeZone, "UTC"))
		return err
	})
	return loc, err
}

func (p *program) writeBackfilled(b scheduler.Backfilled) error {
	if p.set.json {
		return p.writeJSON(backfillReply{b.Schedule, stamp(b.From), stamp(b.To), b.Ticks, b.Created, b.DryRun})
	}
	return p.pairs([]pair{
		{"schedule", plain(b.Schedule)}, {"from", plain(stamp(b.From).String())}, {"to", plain(stamp(b.To).String())},
		{"ticks", plain(fmt.Sprint(b.Ticks))}, {"created", plain(fmt.Sprint(b.Created))},
	})
}
