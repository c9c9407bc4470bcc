package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/bide-go/bide/scheduler"
)

func (p *program) diffCommand() *cli.Command {
	return &cli.Command{
		Name: "diff", Usage: "show what applying schedules files would change", ArgsUsage: "FILE…",
		Description: "All files together are one set; - is standard input. With any error in them nothing is compared, and the exit\n" +
			"code is 3. Nothing is changed.",
		Flags:  []cli.Flag{&cli.BoolFlag{Name: "exit-code", Usage: "exit with 1 if something differs"}, allowExecFlag()},
		Action: p.diff,
	}
}

func (p *program) applyCommand() *cli.Command {
	return &cli.Command{
		Name: "apply", Usage: "make schedules files the set of schedules", ArgsUsage: "FILE…",
		Description: "All files together are one set, in place of the one applied before; - is standard input. With any error in\n" +
			"them nothing is applied, and the exit code is 3. Asks first if schedules are removed. A running bide serve\n" +
			"with files of its own applies them again when they change, or when Redis loses its data.",
		Flags:  []cli.Flag{allowExecFlag()},
		Action: p.apply,
	}
}

// differenceReply is the JSON of diff and apply.
type differenceReply struct {
	Added     []addedReply   `json:"added"`
	Changed   []changedReply `json:"changed"`
	Removed   []removedReply `json:"removed"`
	Unchanged int            `json:"unchanged"`
	Applied   bool           `json:"applied"`
	Replaced  *replacedReply `json:"replaced"`
}

type addedReply struct {
	Name string `json:"name"`
	Next stamp  `json:"next"`
}

type changedReply struct {
	Name       string        `json:"name"`
	Fields     []fieldChange `json:"fields"`
	NextBefore stamp         `json:"nextBefore"`
	NextAfter  stamp         `json:"nextAfter"`
}

type fieldChange struct {
	Field string `json:"field"`
	From  any    `json:"from"`
	To    any    `json:"to"`
}

type removedReply struct {
	Name string `json:"name"`
}

type replacedReply struct {
	By text  `json:"by"`
	At stamp `json:"at"`
}

var errDiffers = errors.New("the schedules differ")

func differenceOf(d scheduler.Difference) differenceReply {
	r := differenceReply{Added: []addedReply{}, Changed: []changedReply{}, Removed: []removedReply{}, Unchanged: d.Unchanged, Applied: d.Applied}
	for _, a := range d.Added {
		r.Added = append(r.Added, addedReply{a.Name, stamp(a.Next)})
	}
	for _, m := range d.Changed {
		c := changedReply{Name: m.Name, Fields: []fieldChange{}, NextBefore: stamp(m.NextBefore), NextAfter: stamp(m.NextAfter)}
		for _, f := range m.Fields {
			c.Fields = append(c.Fields, fieldChange(f))
		}
		r.Changed = append(r.Changed, c)
	}
	for _, name := range d.Removed {
		r.Removed = append(r.Removed, removedReply{name})
	}
	if d.Replaced != nil {
		r.Replaced = &replacedReply{text(d.Replaced.By), stamp(d.Replaced.At)}
	}
	return r
}

func (p *program) diff(c *cli.Context) error {
	definitions, err := p.definitions(c)
	if err != nil {
		return err
	}
	return p.withRedis(c.Context, shortCommand, func(ctx context.Context, conn *conn) error {
		d, err := p.manager(conn).Diff(ctx, definitions)
		if err != nil {
			return err
		}
		if err := p.writeDifference(ctx, conn, d); err != nil {
			return err
		}
		if c.Bool("exit-code") && !d.Empty() {
			return &failure{code: exitFailed, err: errDiffers, told: true}
		}
		return nil
	})
}

func (p *program) apply(c *cli.Context) error {
	definitions, err := p.definitions(c)
	if err != nil {
		return err
	}
	var planned scheduler.Difference
	err = p.withRedis(c.Context, shortCommand, func(ctx context.Context, conn *conn) (err error) {
		if planned, err = p.manager(conn).Diff(ctx, definitions); err != nil || len(planned.Removed) == 0 || p.set.json || p.set.yes {
			return err
		}
		return p.writeDifference(ctx, conn, planned) // for the question
	})
	if err != nil {
		return err
	}
	if n := len(planned.Removed); n > 0 {
		if err := p.confirm(c.Context, fmt.Sprintf("remove %s (%s)", many(int64(n), "schedule", "schedules"), firstFew(planned.Removed))); err != nil {
			return err
		}
	}
	return p.withRedis(c.Context, shortCommand, func(ctx context.Context, conn *conn) error {
		done, err := p.manager(conn).Apply(ctx, definitions)
		if err != nil {
			return err
		}
		return p.writeDifference(ctx, conn, done)
	})
}

// definitions reads the files that are the arguments of a command.
func (p *program) definitions(c *cli.Context) ([]scheduler.Definition, error) {
	if c.NArg() == 0 {
		return nil, usage(c.Command.HelpName+" needs a FILE", "such as "+c.Command.HelpName+" schedules.yaml, or - for standard input")
	}
	return p.loadFiles(c, c.Args().Slice(), true)
}

func (p *program) writeDifference(ctx context.Context, conn *conn, d scheduler.Difference) error {
	if p.set.json {
		return p.writeJSON(differenceOf(d))
	}
	t, err := p.timesFor(ctx, conn)
	if err != nil {
		return err
	}
	_, err = p.stdout.Write([]byte(p.differenceText(d, t)))
	return err
}

// differenceText says what differs, a line for each thing.
func (p *program) differenceText(d scheduler.Difference, t times) string {
	var b strings.Builder
	line := func(paint, sign, format string, args ...any) {
		fmt.Fprintf(&b, "%s %s\n", painted(p.set.color, paint, sign), clean(fmt.Sprintf(format, args...)))
	}
	for _, a := range d.Added {
		line(green, "+", "%s  next run: %s", a.Name, nextWords(t, a.Next))
	}
	for _, m := range d.Changed {
		line(yellow, "~", "%s", m.Name)
		for _, f := range m.Fields {
			line("", "   ", "%s: %s → %s", f.Field, fieldValue(f.From), fieldValue(f.To))
		}
		if !m.NextBefore.Equal(m.NextAfter) {
			line("", "   ", "next run: %s → %s", nextWords(t, m.NextBefore), nextWords(t, m.NextAfter))
		}
	}
	for _, name := range d.Removed {
		line(red, "-", "%s  its planned ticks are cancelled", name)
	}
	words := fmt.Sprintf("%d added, %d changed, %d removed, %d unchanged", len(d.Added), len(d.Changed), len(d.Removed), d.Unchanged)
	if d.Applied {
		words += "; applied"
	} else if !d.Empty() {
		words += "; not applied"
	}
	if r := d.Replaced; r != nil {
		words += fmt.Sprintf("; the set before was applied by %s %s", r.By, t.both(r.At))
	}
	fmt.Fprintln(&b, clean(words))
	return b.String()
}

// nextWords is an instant, if there is one.
func nextWords(t times, at time.Time) string {
	if at.IsZero() {
		return "no run"
	}
	return t.both(at)
}

// fieldValue shows a value as a file would have it.
func fieldValue(v any) string {
	switch v := v.(type) {
	case nil:
		return "none"
	case json.RawMessage:
		return shortArgs(v)
	}
	text, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return shortArgs(text)
}
