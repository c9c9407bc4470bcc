package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	prettytext "github.com/jedib0t/go-pretty/v6/text"
)

// column is a column of a table. When the terminal is too narrow for the table,
// columns give way to a readable width, those with the highest yield first, and
// only then to less. A column that is optional is left out if it is empty. What
// does not fit is cut, in a column that wraps continued on the next line.
type column struct {
	head     string
	exact    bool // the head is a name, and not written in capitals
	right    bool
	wrap     bool
	yield    int
	optional bool
}

// cell is a text in a table; whatever stands in it is made fit for a terminal.
type cell struct {
	text  string
	paint string // an escape sequence for colour, or none
}

func plain(text string) cell { return cell{text: text} }

// Colours of states and findings.
const (
	red    = "\x1b[31m"
	green  = "\x1b[32m"
	yellow = "\x1b[33m"
	bold   = "\x1b[1m"
	reset  = "\x1b[0m"
)

func painted(on bool, paint, text string) string {
	if !on || paint == "" || text == "" {
		return text
	}
	return paint + text + reset
}

// table writes rows under their heads. On a terminal it fits; elsewhere nothing
// is cut.
func (p *program) table(columns []column, rows [][]cell) error {
	columns, rows = withoutEmpty(columns, rows)
	for _, row := range rows {
		for i := range row {
			row[i].text = clean(row[i].text)
		}
	}
	limits := p.limits(columns, rows)
	t := table.NewWriter()
	style := table.StyleDefault
	style.Options = table.Options{}
	style.Box.PaddingLeft, style.Box.PaddingRight = "", "  "
	style.Format.Header = prettytext.FormatDefault
	t.SetStyle(style)
	t.SuppressTrailingSpaces()

	head := make(table.Row, len(columns))
	configs := make([]table.ColumnConfig, len(columns))
	for i, c := range columns {
		title := c.head
		if !c.exact {
			title = strings.ToUpper(title)
		}
		head[i] = painted(p.set.color, bold, fit(title, limits[i]))
		configs[i] = table.ColumnConfig{Number: i + 1}
		if c.wrap && limits[i] > 0 {
			configs[i].WidthMax, configs[i].WidthMaxEnforcer = limits[i], prettytext.WrapSoft
		}
		if c.right {
			configs[i].Align, configs[i].AlignHeader = prettytext.AlignRight, prettytext.AlignRight
		}
	}
	t.AppendHeader(head)
	t.SetColumnConfigs(configs)
	for _, row := range rows {
		shown := make(table.Row, len(row))
		for i, c := range row {
			limit := limits[i]
			if columns[i].wrap {
				limit = 0
			}
			shown[i] = painted(p.set.color, c.paint, fit(c.text, limit))
		}
		t.AppendRow(shown)
	}
	_, err := fmt.Fprintln(p.stdout, t.Render())
	return err
}

// readable and narrowest are the widths that columns shrink to, first and last.
const (
	readable  = 10
	narrowest = 4
)

// limits finds how wide each column may be so that the table fits; 0 is any width.
func (p *program) limits(columns []column, rows [][]cell) []int {
	limits := make([]int, len(columns))
	if !p.env.Terminal || p.env.Width <= 0 {
		return limits
	}
	over := -2 - p.env.Width
	widths := make([]int, len(columns))
	for i, c := range columns {
		widths[i] = len(c.head)
		for _, row := range rows {
			widths[i] = max(widths[i], prettytext.StringWidth(row[i].text))
		}
		over += widths[i] + 2
	}
	for _, least := range []int{readable, narrowest} {
		for yield := 2; yield >= 0; yield-- {
			for i, c := range columns {
				if c.yield == yield && over > 0 && widths[i] > least {
					cut := min(over, widths[i]-least)
					widths[i] -= cut
					over -= cut
					limits[i] = widths[i]
				}
			}
		}
	}
	return limits
}

// withoutEmpty leaves out the optional columns in which nothing stands.
func withoutEmpty(columns []column, rows [][]cell) ([]column, [][]cell) {
	keep := func(i int) bool {
		return !columns[i].optional || slices.ContainsFunc(rows, func(row []cell) bool { return row[i].text != "" })
	}
	var kept []column
	shown := make([][]cell, len(rows))
	for i, c := range columns {
		if !keep(i) {
			continue
		}
		kept = append(kept, c)
		for r, row := range rows {
			shown[r] = append(shown[r], row[i])
		}
	}
	return kept, shown
}

func fit(text string, limit int) string {
	if limit == 0 || prettytext.StringWidth(text) <= limit {
		return text
	}
	return prettytext.Snip(text, limit, "…")
}

// pair is a line of a description.
type pair struct {
	key  string
	cell cell
}

// pairs writes a description, one thing a line. Empty ones are left out.
func (p *program) pairs(list []pair) error {
	width := 0
	for _, e := range list {
		if e.cell.text != "" {
			width = max(width, len(e.key))
		}
	}
	var b strings.Builder
	for _, e := range list {
		if e.cell.text == "" {
			continue
		}
		fmt.Fprintf(&b, "%-*s  %s\n", width, e.key, painted(p.set.color, e.cell.paint, clean(e.cell.text)))
	}
	_, err := p.stdout.Write([]byte(b.String()))
	return err
}

// say writes words for people, unless they asked for quiet.
func (p *program) say(format string, args ...any) {
	if !p.set.quiet {
		fmt.Fprintln(p.env.Stderr, clean(fmt.Sprintf(format, args...)))
	}
}
