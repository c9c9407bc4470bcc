package cli

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/bide-go/bide/internal/clock"
	"github.com/bide-go/bide/scheduler"
)

const mostPreviewed = 1000 // runs of one schedule

func (p *program) previewCommand() *cli.Command {
	return &cli.Command{
		Name: "preview", Usage: "show the coming runs of schedules, or of an expression", ArgsUsage: "[NAME…]",
		Description: "Of the applied schedules; with --file of those in files, and with --expr of an expression, both without Redis.\n" +
			"Runs come after --from and up to --until. Those of a suspended or paused schedule are shown, and marked.",
		Flags: []cli.Flag{
			&cli.StringSliceFlag{Name: "file", Usage: "schedules `FILE`; may be given again, all are one set; - is standard input"},
			&cli.StringSliceFlag{Name: "expr", Usage: "`EXPRESSION`; may be given again, all are one schedule"},
			&cli.StringFlag{Name: "tz", Usage: "`ZONE` of --expr, such as Europe/Berlin (default UTC), and of times without an offset"},
			&cli.StringFlag{Name: "count", Usage: "at most `N` runs of each schedule, up to 1000 (default 10)"},
			&cli.StringFlag{Name: "from", Usage: "runs after `TIME` (default now), such as 2026-12-01, '2026-12-01 09:00' or 2026-12-01T09:00:00Z"},
			&cli.StringFlag{Name: "until", Usage: "runs up to `TIME`"},
			allowExecFlag(),
		},
		Action: p.preview,
	}
}

// window is which runs are shown.
type window struct {
	now         time.Time
	from, until time.Time // zero from is now, zero until is none
	count       int
}

// asked is the window as it was asked for.
type asked struct {
	from, until moment
	loc         *time.Location // of times without an offset; nil is that of each schedule
	count       int
}

// of is the window of a schedule.
func (a asked) of(now time.Time, d *scheduler.Definition) (window, error) {
	loc := a.loc
	if loc == nil {
		var err error
		if loc, err = time.LoadLocation(cmp.Or(d.TimeZone, "UTC")); err != nil {
			return window{}, err
		}
	}
	w := window{now: now, count: a.count}
	if !a.from.isZero() {
		w.from = a.from.in(loc)
	}
	if !a.until.isZero() {
		w.until = a.until.in(loc)
	}
	if !w.until.After(w.from) && !w.from.IsZero() && !w.until.IsZero() {
		return w, usage("--until: it is not after --from", "")
	}
	return w, nil
}

// clocks says on which clock times without an offset were read.
func (a asked) clocks() string {
	if !a.from.wall && !a.until.wall {
		return ""
	}
	if a.loc != nil {
		return clockWords("--from and --until", a.loc)
	}
	return "--from and --until without an offset: on the clock of each schedule"
}

func (p *program) preview(c *cli.Context) error {
	v := &values{c: c}
	a := asked{count: v.number("count", 10, mostPreviewed)}
	if found, ok := v.find("from"); ok {
		a.from = v.moment(found)
	}
	if found, ok := v.find("until"); ok {
		a.until = v.moment(found)
	}
	if !a.from.isZero() && !a.until.isZero() && a.from.wall == a.until.wall && !a.until.at.After(a.from.at) {
		v.refuse("--until", "it is not after --from")
	}
	names := scheduleNames(v, c.Args().Slice())
	isFile, isExpr := c.IsSet("file"), c.IsSet("expr")
	switch {
	case isFile && isExpr:
		v.refuse("--file, --expr", "give one of them, not both")
	case isExpr && len(names) > 0:
		v.refuse("--expr", "an expression has no NAME")
	case c.IsSet("tz") && !isExpr && !a.from.wall && !a.until.wall:
		v.refuse("--tz", "it is the zone of --expr, and of times without an offset; schedules have their own")
	}
	loc := v.zone("tz")
	if err := v.err(); err != nil {
		return err
	}
	if c.IsSet("tz") || isExpr {
		a.loc = loc
	}
	now := clock.Now()
	switch {
	case isExpr:
		list, err := fromExpressions(c.StringSlice("expr"), loc)
		if err != nil {
			return err
		}
		return p.writePreview(list, now, a)
	case isFile:
		definitions, err := p.loadFiles(c, c.StringSlice("file"), false)
		if err != nil {
			return err
		}
		list, err := chosen(scheduled(definitions), names, "the file has no such schedule", "bide check shows what is in it")
		if err != nil {
			return err
		}
		return p.writePreview(list, now, a)
	}
	return p.withRedis(c.Context, shortCommand, func(ctx context.Context, conn *conn) error {
		applied, err := p.manager(conn).List(ctx)
		if err != nil {
			return err
		}
		list, err := chosen(statuses(applied.Schedules), names, "no such schedule", "bide schedules list shows them")
		if err != nil {
			return err
		}
		return p.writePreview(list, applied.Now, a)
	})
}

// previewed is a schedule whose runs are shown.
type previewed struct {
	definition scheduler.Definition
	anonymous  bool // an expression: it has no name
	pause      *scheduler.Hold
}

func fromExpressions(texts []string, loc *time.Location) ([]previewed, error) {
	d := scheduler.Definition{Name: "preview", TimeZone: loc.String(), Job: "preview"}
	for _, text := range texts {
		e, err := expression("--expr", text)
		if err != nil {
			return nil, err
		}
		d.Schedule = append(d.Schedule, e.Text())
	}
	return []previewed{{definition: d, anonymous: true}}, nil
}

func scheduled(definitions []scheduler.Definition) []previewed {
	var list []previewed
	for _, d := range definitions {
		list = append(list, previewed{definition: d})
	}
	return list
}

func statuses(applied []scheduler.Status) []previewed {
	var list []previewed
	for _, s := range applied {
		list = append(list, previewed{definition: s.Definition, pause: s.Pause})
	}
	return list
}

// chosen are the schedules with these names, in that order, or all if there are none.
func chosen(list []previewed, names []string, missing, next string) ([]previewed, error) {
	if len(names) == 0 {
		return list, nil
	}
	all := make([]string, len(list))
	for i, s := range list {
		all[i] = s.definition.Name
	}
	var found []previewed
	var errs several
	for _, name := range names {
		known := len(found)
		for _, s := range list {
			if s.definition.Name == name {
				found = append(found, s)
			}
		}
		if len(found) == known {
			errs = append(errs, unknownSchedule(missing, name, all))
		}
	}
	if errs != nil {
		return nil, &failure{code: exitState, err: shorten(errs), next: next}
	}
	return found, nil
}

// previewItem is one run in the JSON of preview.
type previewItem struct {
	Schedule      text     `json:"schedule"`
	Tick          stamp    `json:"tick"`
	Local         zoned    `json:"local"`
	TimeZone      string   `json:"timeZone"`
	Due           stamp    `json:"due"`
	InSeconds     seconds  `json:"inSeconds"`
	JitterSeconds seconds  `json:"jitterSeconds"`
	Suspended     bool     `json:"suspended"`
	Notes         []string `json:"notes"`
}

func (p *program) writePreview(list []previewed, now time.Time, a asked) error {
	if len(list) == 0 && !p.set.json {
		p.say("no schedules")
		return nil
	}
	if words := a.clocks(); words != "" {
		p.say("%s", words)
	}
	items := []previewItem{}
	for i, s := range list {
		w, err := a.of(now, &s.definition)
		if err != nil {
			return err
		}
		t, err := s.timeline(w)
		if err != nil {
			return err
		}
		if t.more {
			p.say("%s runs more often until then: the first %d are shown, --count shows more", t.name(), w.count)
		}
		if !p.set.json {
			if i > 0 {
				fmt.Fprintln(p.stdout)
			}
			if err := p.showTimeline(t, w); err != nil {
				return err
			}
			continue
		}
		for i, tick := range t.ticks {
			item := previewItem{
				Schedule: text(s.definition.Name), Tick: stamp(tick.Tick), Local: zoned(tick.Tick), TimeZone: t.loc.String(),
				Due: stamp(tick.Due), InSeconds: seconds(tick.Due.Sub(w.now).Round(time.Millisecond)), JitterSeconds: seconds(tick.Jitter),
				Suspended: s.definition.Suspend, Notes: t.notes[i],
			}
			if s.anonymous {
				item.Schedule = ""
			}
			items = append(items, item)
		}
	}
	if !p.set.json {
		return nil
	}
	return p.writeJSON(struct {
		Items []previewItem `json:"items"`
	}{items})
}
