package chart

import (
	"fmt"
	"math"
	"strings"

	"github.com/bide-go/bide/bench/internal/result"
)

// All draws every chart that there are results for, by file name.
func All(f result.File) map[string]string {
	files := map[string]string{}
	for name, draw := range map[string]func(result.File) string{
		"throughput.svg": throughput, "lateness.svg": lateness, "burst.svg": burst,
	} {
		if s := draw(f); s != "" {
			files[name] = s
		}
	}
	return files
}

// throughput is a group of bars for each concurrency.
func throughput(f result.File) string {
	type bar struct {
		system string
		rate   float64
	}
	var groups []string
	bars := map[string][]bar{}
	most := 0.0
	var names, summary []string
	for _, system := range f.Names() {
		has := false
		for _, v := range f.Variants("process") {
			s, ok := result.Summarize(f.Of("process", v, system), result.JobsPerSec)
			if !ok {
				continue
			}
			if len(bars[v]) == 0 {
				groups = append(groups, v)
			}
			bars[v] = append(bars[v], bar{system, s.Median})
			most, has = max(most, s.Median), true
			summary = append(summary, fmt.Sprintf("%s at %s: %s jobs a second", system, v, short(s.Median)))
		}
		if has {
			names = append(names, system)
		}
	}
	if len(names) == 0 {
		return ""
	}
	p := newPicture("Waiting jobs drained by one process", "jobs per second, more is better", strings.Join(summary, "; "))
	y, ticks := linear(most, bottom, top)
	p.rows(y, ticks)
	each := float64(right-left) / float64(len(groups))
	wide := math.Min(56, each*0.8/float64(len(names)))
	for i, v := range groups {
		x := left + each*(float64(i)+0.5) - wide*float64(len(bars[v]))/2
		for _, b := range bars[v] {
			p.bar(x+2, y.at(b.rate), wide-4, bottom-y.at(b.rate), colour(b.system))
			p.text(x+wide/2, y.at(b.rate)-5, "middle", ink, ` font-size="11"`, short(b.rate))
			x += wide
		}
		p.text(left+each*(float64(i)+0.5), bottom+20, "middle", ink, "", v)
	}
	p.legend(names, names)
	return p.end()
}

// lateness is the distribution for the steady workload: both axes are stretched
// towards the tail.
func lateness(f result.File) string {
	const variant = "250 a second"
	lines := map[string][][2]float64{}
	var names, labels, summary []string
	least, most := math.Inf(1), 0.0
	for _, system := range f.Names() {
		run, ok := result.Middle(f.Of("precision", variant, system), result.P99)
		if !ok || len(run.Points) == 0 {
			continue
		}
		names, lines[system] = append(names, system), run.Points
		label := system
		if n := run.Values[result.Early]; n > 0 {
			label += fmt.Sprintf(", %s early", short(n)) // these are in no percentile
		}
		labels = append(labels, label)
		summary = append(summary, fmt.Sprintf("%s: median %s ms, 99th percentile %s ms", system, short(run.Values[result.P50]), short(run.Values[result.P99])))
		for _, at := range run.Points {
			least, most = min(least, max(at[1], 0.01)), max(most, at[1])
		}
	}
	if len(names) == 0 {
		return ""
	}
	p := newPicture("How late jobs start, 250 a second", "milliseconds after the due time by share of jobs, less is better", strings.Join(summary, "; "))
	y, ticks := decades(least, most, bottom, top)
	p.rows(y, ticks)
	x := scale{from: 0, to: 3.7, a: left, b: right}
	place := func(q float64) float64 { return x.at(math.Min(x.to, -math.Log10(1-math.Min(q, 99.99)/100))) }
	for _, q := range []float64{0, 50, 90, 99, 99.9} {
		p.line(place(q), top, place(q), bottom, grid)
		p.text(place(q), bottom+20, "middle", ink, "", short(q)+" %")
	}
	p.text(right, bottom+20, "middle", ink, "", "max")
	for _, name := range names {
		var points [][2]float64
		for _, at := range lines[name] {
			points = append(points, [2]float64{place(at[0]), y.at(at[1])})
		}
		p.path(points, colour(name))
	}
	p.legend(names, labels)
	return p.end()
}

// burst is how many jobs have started by when.
func burst(f result.File) string {
	lines := map[string][][2]float64{}
	var names, summary []string
	mostX, mostY := 0.0, 0.0
	for _, system := range f.Names() {
		var runs []result.Run
		for _, v := range f.Variants("burst") {
			runs = append(runs, f.Of("burst", v, system)...)
		}
		run, ok := result.Middle(runs, result.Settled)
		if !ok || len(run.Points) == 0 {
			continue
		}
		names, lines[system] = append(names, system), run.Points
		last := run.Points[len(run.Points)-1]
		mostX, mostY = max(mostX, last[0]/1000), max(mostY, last[1])
		summary = append(summary, fmt.Sprintf("%s: all settled after %s s", system, short(run.Values[result.Settled]/1000)))
	}
	if len(names) == 0 {
		return ""
	}
	p := newPicture(short(mostY)+" jobs due at one instant", "jobs started by seconds after that instant, steeper is better", strings.Join(summary, "; "))
	y, ticks := linear(mostY, bottom, top)
	p.rows(y, ticks)
	x, columns := linear(mostX, left, right)
	for _, v := range columns {
		p.line(x.at(v), top, x.at(v), bottom, grid)
		p.text(x.at(v), bottom+20, "middle", ink, "", short(v)+" s")
	}
	for _, name := range names {
		points := [][2]float64{{x.at(max(0, lines[name][0][0]/1000)), y.at(0)}}
		for _, at := range lines[name] {
			points = append(points, [2]float64{x.at(max(0, at[0]/1000)), y.at(at[1])})
		}
		p.path(points, colour(name))
	}
	p.legend(names, names)
	return p.end()
}

// rows draws the horizontal lines of a scale and their numbers.
func (p *picture) rows(y scale, ticks []float64) {
	for _, v := range ticks {
		p.line(left, y.at(v), right, y.at(v), grid)
		p.text(left-10, y.at(v)+4, "end", faint, "", short(v))
	}
}
