package cli

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/bide-go/bide/internal/clock"
	"github.com/bide-go/bide/internal/cronexpr"
	"github.com/bide-go/bide/internal/duration"
)

func (p *program) explainCommand() *cli.Command {
	return &cli.Command{
		Name: "explain", Usage: "say in words when an expression fires; no Redis is needed", ArgsUsage: "EXPR",
		Description: "Shows what each field means, the next runs on the clock of the zone and in UTC, and what the clock changes\n" +
			"of the next two years do to it. Intervals are between two runs, clock changes included.",
		Flags:  []cli.Flag{&cli.StringFlag{Name: "tz", Usage: "`ZONE` whose clock counts, such as Europe/Berlin (default UTC)"}},
		Action: p.explain,
	}
}

// explainNext is how many runs explain lists.
const explainNext = 5

// explainReply is the JSON of explain.
type explainReply struct {
	Expression         string         `json:"expression"`
	Normalized         string         `json:"normalized"`
	Words              string         `json:"words"`
	TimeZone           string         `json:"timeZone"`
	Fields             *explainFields `json:"fields"`
	MinIntervalSeconds seconds        `json:"minIntervalSeconds"`
	MaxIntervalSeconds seconds        `json:"maxIntervalSeconds"`
	Next               []nextRun      `json:"next"`
	Warnings           []warningReply `json:"warnings"`
}

type explainFields struct {
	Minute     []int `json:"minute"`
	Hour       []int `json:"hour"`
	DayOfMonth []int `json:"dayOfMonth"`
	Month      []int `json:"month"`
	DayOfWeek  []int `json:"dayOfWeek"`
}

type nextRun struct {
	UTC   stamp `json:"utc"`
	Local zoned `json:"local"`
}

type warningReply struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}

func (p *program) explain(c *cli.Context) error {
	v := &values{c: c}
	switch n := c.NArg(); {
	case n == 0:
		return usage("explain needs an expression", `such as: bide explain "30 1 * * *" --tz Europe/Berlin`)
	case n > 1:
		return usage(fmt.Sprintf("explain takes one expression, and there are %d arguments", n), `put it in quotes: bide explain "*/5 8-18 * * MON-FRI"`)
	}
	loc := v.zone("tz")
	if err := v.err(); err != nil {
		return err
	}
	e, err := expression("the expression", c.Args().First())
	if err != nil {
		return err
	}
	now := clock.Now()
	if p.set.json {
		return p.writeJSON(explained(e, loc, now))
	}
	return p.showExplained(e, loc, now)
}

// explained is all there is to know of an expression at an instant.
func explained(e *cronexpr.Expression, loc *time.Location, now time.Time) explainReply {
	shortest, longest := e.Intervals(loc, now)
	r := explainReply{
		Expression: e.Text(), Normalized: e.Normalized(), Words: e.Words(), TimeZone: loc.String(),
		MinIntervalSeconds: seconds(shortest), MaxIntervalSeconds: seconds(longest),
		Next: []nextRun{}, Warnings: []warningReply{},
	}
	if f := e.Fields(); f != nil {
		r.Fields = &explainFields{f.Minute, f.Hour, f.DayOfMonth, f.Month, f.DayOfWeek}
	}
	for _, t := range nextRuns(e, loc, now) {
		r.Next = append(r.Next, nextRun{stamp(t), zoned(t)})
	}
	for _, w := range e.Warnings(loc, now) {
		r.Warnings = append(r.Warnings, warningReply{w.Code, w.String()})
	}
	return r
}

func nextRuns(e *cronexpr.Expression, loc *time.Location, now time.Time) []time.Time {
	var list []time.Time
	for t := e.Next(now, loc); !t.IsZero() && len(list) < explainNext; t = e.Next(t, loc) {
		list = append(list, t)
	}
	return list
}

func (p *program) showExplained(e *cronexpr.Expression, loc *time.Location, now time.Time) error {
	if _, err := fmt.Fprintf(p.stdout, "%s, %s\n\n", painted(p.set.color, bold, e.Words()), loc); err != nil {
		return err
	}
	shortest, longest := e.Intervals(loc, now)
	interval := duration.Format(shortest)
	if longest != shortest {
		interval += " to " + duration.Format(longest)
	}
	list := []pair{{"expression", plain(e.Text())}, {"normalized", plain(e.Normalized())}}
	list = append(list, fieldPairs(e)...)
	if err := p.pairs(append(list, pair{"interval", plain(interval)})); err != nil {
		return err
	}
	next := nextRuns(e, loc, now)
	form := instantsOf(loc, next)
	var rows [][]cell
	for _, t := range next {
		rows = append(rows, append(form.cells(t), plain(relative(t.Sub(now)))))
	}
	fmt.Fprintln(p.stdout, "\nnext runs")
	if err := p.table(append(form.columns(), column{head: "when"}), rows); err != nil {
		return err
	}
	if err := p.showClockChanges([]*cronexpr.Expression{e}, loc, now, cronexpr.Ahead(now), true); err != nil {
		return err
	}
	return p.showWarnings(e.Warnings(loc, now))
}

// fieldPairs says what each field matches.
func fieldPairs(e *cronexpr.Expression) []pair {
	f := e.Fields()
	if f == nil {
		return nil
	}
	list := []pair{
		{"minute", plain(valueList(f.Minute, 60, strconv.Itoa))},
		{"hour", plain(valueList(f.Hour, 24, strconv.Itoa))},
		{"day of month", plain(valueList(f.DayOfMonth, 31, strconv.Itoa))},
		{"month", plain(valueList(f.Month, 12, func(m int) string { return time.Month(m).String()[:3] }))},
		{"day of week", plain(valueList(f.DayOfWeek, 7, func(d int) string { return time.Weekday(d).String()[:3] }))},
	}
	if e.HasSeconds() {
		list = append([]pair{{"second", plain(valueList(f.Second, 60, strconv.Itoa))}}, list...)
	}
	return list
}

// valueList names values of a field, three and more in a row as a-c.
func valueList(values []int, all int, name func(int) string) string {
	if len(values) == all {
		return "every"
	}
	var parts []string
	for i := 0; i < len(values); {
		end := i
		for end+1 < len(values) && values[end+1] == values[end]+1 {
			end++
		}
		if end-i < 2 {
			parts = append(parts, name(values[i]))
			i++
			continue
		}
		parts = append(parts, name(values[i])+"-"+name(values[end]))
		i = end + 1
	}
	return strings.Join(parts, ", ")
}

// showClockChanges lists the clock changes in (from, to] and what they do to the runs;
// those that do nothing only if all are wanted.
func (p *program) showClockChanges(expressions []*cronexpr.Expression, loc *time.Location, from, to time.Time, all bool) error {
	var rows [][]cell
	for i, e := range expressions {
		for _, c := range e.ClockChanges(loc, from, to) {
			if (i > 0 || !all) && !c.Touched {
				continue
			}
			effect := plain(c.Effect)
			if c.Touched {
				effect.paint = yellow
			}
			rows = append(rows, []cell{plain(c.Date), plain(c.From + " → " + c.To), plain(c.At.UTC().Format("2006-01-02 15:04")), effect})
		}
	}
	if len(rows) == 0 {
		return nil
	}
	fmt.Fprintf(p.stdout, "\nclock changes ahead in %s\n", loc)
	return p.table([]column{{head: "date"}, {head: "the clocks go"}, {head: "at UTC"}, {head: "what happens", wrap: true, yield: 2}}, rows)
}

// showWarnings lists all but those about clock changes, which have a table.
func (p *program) showWarnings(all []cronexpr.Warning) error {
	var rows [][]cell
	for _, w := range all {
		if w.Code != cronexpr.WarnClockChange {
			rows = append(rows, []cell{{w.Code, yellow}, plain(w.String())})
		}
	}
	if len(rows) == 0 {
		return nil
	}
	fmt.Fprintln(p.stdout, "\nworth a second look")
	return p.table([]column{{head: "code"}, {head: "warning", wrap: true, yield: 2}}, rows)
}
