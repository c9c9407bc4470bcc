package cli

import (
	"context"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/urfave/cli/v2"

	"github.com/bide-go/bide/scheduler"
)

func selectFlags() []cli.Flag {
	return []cli.Flag{
		&cli.BoolFlag{Name: "all", Usage: "all schedules"},
		labelFlag(),
	}
}

func (p *program) schedulesPauseCommand() *cli.Command {
	return &cli.Command{
		Name: "pause", Usage: "keep schedules from running their ticks", ArgsUsage: "NAME…",
		Description: "A pause lasts through restarts, reloads and edits, until it is resumed, its time is up, or the schedule is\n" +
			"removed. Ticks that pass are counted and not made up for. Open runs go on. All are tried; without NAMEs it\n" +
			"counts those that --all or --label means, and asks first.",
		Flags: append([]cli.Flag{
			&cli.StringFlag{Name: "reason", Usage: "`TEXT` that tells others why (required, up to 500 characters)"},
			&cli.StringFlag{Name: "for", Usage: "resume by itself after `DURATION`"},
			&cli.StringFlag{Name: "until", Usage: "resume by itself at `TIME`"},
		}, selectFlags()...),
		Action: p.schedulesPause,
	}
}

func (p *program) schedulesResumeCommand() *cli.Command {
	return &cli.Command{
		Name: "resume", Usage: "let paused schedules run again", ArgsUsage: "NAME…",
		Description: "Ticks of the pause are not made up for; bide schedules backfill does that. All are tried; one that is not\n" +
			"paused stays as it is. A schedule that its file suspends stays suspended.",
		Flags:  selectFlags(),
		Action: p.schedulesResume,
	}
}

// heldItem is what became of one schedule.
type heldItem struct {
	Name  string `json:"name"`
	State string `json:"state"`
	Until stamp  `json:"until"`
	// Replaced is the earlier pause that this one took the place of.
	Replaced *pauseReply `json:"replaced"`
}

func (p *program) schedulesPause(c *cli.Context) error {
	v := &values{c: c}
	o := scheduler.PauseOptions{}
	if found, ok := v.find("reason"); ok {
		o.Reason = found.text
		if n := utf8.RuneCountInString(o.Reason); n > 500 || !utf8.ValidString(o.Reason) {
			v.refuse(found.from, fmt.Sprintf("give at most 500 characters of text; these are %d", n))
		}
	} else if !c.IsSet("reason") {
		v.refuse("--reason", "say why, for whoever finds it paused at night")
	}
	o.For = v.span("for", 0, time.Second)
	if found, ok := v.find("until"); ok {
		o.Until = v.instant(found)
	}
	if c.IsSet("for") && c.IsSet("until") {
		v.refuse("--for, --until", "give one of them, not both")
	}
	return p.hold(c, v, "pause", func(ctx context.Context, m *scheduler.Manager, name string) (scheduler.Paused, error) {
		return m.Pause(ctx, name, o)
	})
}

func (p *program) schedulesResume(c *cli.Context) error {
	return p.hold(c, &values{c: c}, "resume", func(ctx context.Context, m *scheduler.Manager, name string) (scheduler.Paused, error) {
		return m.Resume(ctx, name)
	})
}

// hold pauses or resumes every schedule that is meant. One that is refused does not
// stop the others.
func (p *program) hold(c *cli.Context, v *values, word string, do func(context.Context, *scheduler.Manager, string) (scheduler.Paused, error)) error {
	names := scheduleNames(v, c.Args().Slice())
	labels, all := v.labels(), c.Bool("all")
	switch ways := boolCount(len(c.Args().Slice()) > 0, all, c.IsSet("label")); {
	case ways == 0:
		v.refuse(c.Command.HelpName, "give the NAMEs of schedules, --label or --all")
	case ways > 1:
		v.refuse(c.Command.HelpName, "give NAMEs, --label or --all, not several of them")
	}
	if err := v.err(); err != nil {
		return err
	}
	if len(names) == 0 {
		err := p.withRedis(c.Context, shortCommand, func(ctx context.Context, conn *conn) error {
			list, err := p.manager(conn).List(ctx)
			for _, s := range list.Schedules {
				if labelled(s.Definition, labels) {
					names = append(names, s.Definition.Name)
				}
			}
			return err
		})
		if err != nil {
			return err
		}
		if len(names) == 0 {
			p.say("no schedule matches")
			return p.writeHeld(nil)
		}
		if err := p.confirm(c.Context, word+" "+many(int64(len(names)), "schedule", "schedules")); err != nil {
			return err
		}
	}
	return p.withRedis(c.Context, shortCommand, func(ctx context.Context, conn *conn) error {
		m := p.manager(conn)
		var items []scheduler.Paused
		var errs several
		var fatal error
		for _, name := range names {
			held, err := do(ctx, m, name)
			if err == nil {
				items = append(items, held)
				continue
			}
			if stops(err) {
				fatal = err
				break
			}
			errs = append(errs, noSchedule(ctx, conn, name, err))
		}
		if err := p.writeHeld(items); err != nil {
			return err
		}
		if fatal != nil {
			return fatal
		}
		return refused(errs)
	})
}

func boolCount(list ...bool) int {
	n := 0
	for _, b := range list {
		if b {
			n++
		}
	}
	return n
}

func (p *program) writeHeld(held []scheduler.Paused) error {
	if p.set.json {
		items := []heldItem{}
		for _, h := range held {
			items = append(items, heldItem{h.Name, string(h.State), stamp(h.Until), pauseOf(h.Replaced)})
		}
		return p.writeJSON(struct {
			Items []heldItem `json:"items"`
		}{items})
	}
	var b strings.Builder
	for _, h := range held {
		fmt.Fprintf(&b, "%s  %s", clean(h.Name), h.State)
		if !h.Until.IsZero() {
			fmt.Fprintf(&b, " until %s", stamp(h.Until))
		}
		if r := h.Replaced; r != nil {
			b.WriteString(replacedWords(*r, h.Until))
		}
		b.WriteString("\n")
	}
	_, err := p.stdout.Write([]byte(b.String()))
	return err
}

// replacedWords say what a pause has taken the place of: one that ends by itself may
// have become one that does not.
func replacedWords(before scheduler.Hold, until time.Time) string {
	words := " without end"
	if !until.IsZero() {
		words = ""
	}
	words += "; the pause before was by " + clean(before.By)
	if before.Until.IsZero() {
		words += " without end"
	} else {
		words += " until " + stamp(before.Until).String()
	}
	if before.Reason != "" {
		words += ": " + clean(before.Reason)
	}
	return words
}
