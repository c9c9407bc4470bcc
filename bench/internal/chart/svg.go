// Package chart draws the results as SVG. Every picture brings its own background, so
// that it reads on light and dark pages, and a title for those who cannot see it.
package chart

import (
	"fmt"
	"html"
	"strconv"
	"strings"
)

// The picture and its plotting area, in pixels.
const (
	width, height = 720, 400
	left, right   = 76, 696
	top, bottom   = 84, 340
)

const (
	ink   = "#24292f"
	faint = "#57606a"
	grid  = "#d8dee4"
	paper = "#ffffff"
)

var colours = map[string]string{"bide": "#0a66c2", "asynq": "#d9730d", "asynq-1ms": "#8a7a00", "bullmq": "#b4236a"}

func colour(system string) string {
	if c, ok := colours[system]; ok {
		return c
	}
	return faint
}

// picture is an SVG that grows.
type picture struct{ b strings.Builder }

// newPicture begins one with its title, a line on what the axes are, and a summary for
// those who cannot see it.
func newPicture(title, axes, summary string) *picture {
	p := &picture{}
	fmt.Fprintf(&p.b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%d" height="%d" role="img" aria-labelledby="t d" font-family="system-ui, -apple-system, 'Segoe UI', sans-serif" font-size="13">`+"\n",
		width, height, width, height)
	fmt.Fprintf(&p.b, "<title id=\"t\">%s</title>\n<desc id=\"d\">%s</desc>\n", html.EscapeString(title), html.EscapeString(summary))
	fmt.Fprintf(&p.b, `<rect width="%d" height="%d" rx="8" fill="%s" stroke="%s"/>`+"\n", width, height, paper, grid)
	p.text(24, 32, "start", ink, ` font-size="17" font-weight="600"`, title)
	p.text(24, 54, "start", faint, "", axes)
	return p
}

func (p *picture) text(x, y float64, anchor, fill, more, s string) {
	fmt.Fprintf(&p.b, `<text x="%s" y="%s" text-anchor="%s" fill="%s"%s>%s</text>`+"\n",
		num(x), num(y), anchor, fill, more, html.EscapeString(s))
}

func (p *picture) line(x1, y1, x2, y2 float64, stroke string) {
	fmt.Fprintf(&p.b, `<line x1="%s" y1="%s" x2="%s" y2="%s" stroke="%s"/>`+"\n", num(x1), num(y1), num(x2), num(y2), stroke)
}

func (p *picture) bar(x, y, w, h float64, fill string) {
	fmt.Fprintf(&p.b, `<rect x="%s" y="%s" width="%s" height="%s" fill="%s"/>`+"\n", num(x), num(y), num(w), num(h), fill)
}

func (p *picture) path(points [][2]float64, stroke string) {
	var d strings.Builder
	for i, at := range points {
		d.WriteString(map[bool]string{true: "M", false: "L"}[i == 0])
		d.WriteString(num(at[0]) + " " + num(at[1]))
	}
	fmt.Fprintf(&p.b, `<path d="%s" fill="none" stroke="%s" stroke-width="2.5" stroke-linejoin="round"/>`+"\n", d.String(), stroke)
}

// legend names the systems under the plot.
func (p *picture) legend(names, labels []string) {
	step := float64(right-left) / float64(max(3, len(names)))
	for i, name := range names {
		x := left + float64(i)*step
		p.bar(x, height-25, 12, 12, colour(name))
		p.text(x+17, height-14, "start", ink, ` font-size="12"`, labels[i])
	}
}

func (p *picture) end() string { return p.b.String() + "</svg>\n" }

// num writes a coordinate with at most one decimal.
func num(v float64) string {
	return strings.TrimSuffix(strconv.FormatFloat(v, 'f', 1, 64), ".0")
}
