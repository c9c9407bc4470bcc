package cli

import (
	"fmt"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	prettytext "github.com/jedib0t/go-pretty/v6/text"
)

// column is a column of a table. One that may shrink gives way when the terminal
// is too narrow for the table.
type column struct {
	head   string
	right  bool
	shrink bool
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
		head[i] = painted(p.set.color, bold, fit(strings.ToUpper(c.head), limits[i]))
		configs[i] = table.ColumnConfig{Number: i + 1}
		if c.right {
			configs[i].Align, configs[i].AlignHeader = prettytext.AlignRight, prettytext.AlignRight
		}
	}
	t.AppendHeader(head)
	t.SetColumnConfigs(configs)
	for _, row := range rows {
		shown := make(table.Row, len(row))
		for i, c := range row {
			shown[i] = painted(p.set.color, c.paint, fit(c.text, limits[i]))
		}
		t.AppendRow(shown)
	}
	_, err := fmt.Fprintln(p.stdout, t.Render())
	return err
}

// limits finds how wide each column may be so that the table fits; 0 is any width.
func (p *program) limits(columns []column, rows [][]cell) []int {
	limits := make([]int, len(columns))
	if !p.env.Terminal || p.env.Width <= 0 {
		return limits
	}
	widths := make([]int, len(columns))
	total := 0
	for i, c := range columns {
		widths[i] = len(c.head)
		for _, row := range rows {
			widths[i] = max(widths[i], prettytext.StringWidth(row[i].text))
		}
		total += widths[i] + 2
	}
	for over := total - 2 - p.env.Width; over > 0; over-- {
		widest := -1
		for i, c := range columns {
			if widths[i] > 4 && (widest < 0 || c.shrink && !columns[widest].shrink ||
				c.shrink == columns[widest].shrink && widths[i] > widths[widest]) && (c.shrink && widths[i] > 8 || !anyAbove(columns, widths, 8)) {
				widest = i
			}
		}
		if widest < 0 {
			break
		}
		widths[widest]--
		limits[widest] = widths[widest]
	}
	return limits
}

// anyAbove reports whether a column that may shrink is still wider than least.
func anyAbove(columns []column, widths []int, least int) bool {
	for i, c := range columns {
		if c.shrink && widths[i] > least {
			return true
		}
	}
	return false
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
