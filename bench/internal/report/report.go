// Package report writes RESULTS.md from results.json.
package report

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/dustin/go-humanize"

	"github.com/bide-go/bide/bench/internal/result"
)

// Write writes the report. charts are the file names of the charts there are.
func Write(w io.Writer, f result.File, charts []string) error {
	d := &document{file: f}
	d.head()
	d.verdicts()
	d.peers()
	for _, s := range sections {
		d.section(s, charts)
	}
	d.method()
	_, err := io.WriteString(w, d.b.String())
	return err
}

type document struct {
	b    strings.Builder
	file result.File
}

func (d *document) say(format string, args ...any) { fmt.Fprintf(&d.b, format+"\n", args...) }

func (d *document) head() {
	f := d.file
	m := f.Machine
	d.say("# Results\n")
	d.say("Written by `%s` on %s. Do not edit; [README.md](README.md) tells how to make it anew and how to read it.\n", f.Command, f.Date)
	about := []string{fmt.Sprintf("%d cores", m.Cores)}
	for _, s := range []string{m.CPU, m.Memory, m.Kernel} {
		if s != "" {
			about = append(about, s)
		}
	}
	d.say("Machine: %s, shared by Redis, the program and whatever else ran. Redis %s, Go %s%s.\n", strings.Join(about, ", "),
		f.Versions["redis"], f.Versions["go"], node(f.Versions))
	d.say("| system | version | settings |\n| --- | --- | --- |")
	for _, s := range f.Systems {
		d.say("| %s | %s | %s |", s.System, s.Version, s.Settings)
	}
	d.say("")
	for _, n := range f.Notes {
		d.say("- %s", n)
	}
	for _, n := range f.Failures {
		line, _, _ := strings.Cut(n, "\n")
		d.say("- **No result:** %s", line)
	}
	if len(f.Notes)+len(f.Failures) > 0 {
		d.say("")
	}
}

func node(v map[string]string) string {
	if v["node"] == "" {
		return ""
	}
	return fmt.Sprintf(", go-redis %s; Node %s, ioredis %s", v["go-redis"], v["node"], v["ioredis"])
}

// verdicts is the table of bide's own targets.
func (d *document) verdicts() {
	var missed, all int
	var rows []string
	for _, s := range sections {
		for _, v := range judge(d.file, s) {
			all++
			word := "yes"
			if !v.holds {
				word = "**no**"
				missed++
			}
			rows = append(rows, fmt.Sprintf("| %s, %s | %s | %s | %s |", s.workload, v.variant, v.target, v.measured, word))
		}
	}
	if all == 0 {
		return
	}
	d.say("## bide's own targets\n\n%d of %d hold.\n", all-missed, all)
	d.say("| workload | target | measured | holds |\n| --- | --- | --- | --- |\n%s\n", strings.Join(rows, "\n"))
}

// peers says in words where another system is better.
func (d *document) peers() {
	if len(d.file.Names()) < 2 {
		return
	}
	var lines []string
	for _, s := range sections {
		for _, v := range d.file.Variants(s.workload) {
			for _, name := range d.file.Names() {
				if line := d.ahead(s, v, name); line != "" {
					lines = append(lines, line)
				}
			}
		}
	}
	d.say("## Where a peer is better\n")
	if len(lines) == 0 {
		d.say("Nowhere in this run.\n")
		return
	}
	d.say("By the medians of every column of the tables below, the lesser ones included:\n\n%s\n", strings.Join(lines, "\n"))
}

// ahead is the sentence on one peer in one variant, empty if it is better in nothing.
func (d *document) ahead(s section, variant, name string) string {
	if name == "bide" {
		return ""
	}
	runs := d.file.Of(s.workload, variant, name)
	var parts []string
	for _, c := range s.columns {
		own, ok := result.Summarize(d.file.Of(s.workload, variant, "bide"), c.value)
		peer, has := result.Summarize(runs, c.value)
		if !ok || !has || c.better == neither || peer.Median == own.Median || (c.better == more) != (peer.Median > own.Median) {
			continue
		}
		parts = append(parts, fmt.Sprintf("%s %s (bide %s)", number(peer.Median), c.title, number(own.Median)))
	}
	if len(parts) == 0 {
		return ""
	}
	line := fmt.Sprintf("- %s, %s: %s has %s.", s.workload, variant, name, strings.Join(parts, ", "))
	if early, ok := result.Summarize(runs, result.Early); ok && early.Median > 0 {
		line += fmt.Sprintf(" But %s of its jobs started early and are in no percentile.", number(early.Median))
	}
	return line
}

func (d *document) section(s section, charts []string) {
	variants := d.file.Variants(s.workload)
	if len(variants) == 0 {
		return
	}
	d.say("## %s\n\n%s\n", s.title, s.text)
	if slices.Contains(charts, s.chart) {
		d.say("![%s](%s)\n", s.title, s.chart)
	}
	main := s.columns[0]
	withRatio := s.workload != "growth" && len(d.file.Names()) > 1
	titles, rule := []string{"", "system", main.title + ", median (min–max)"}, "| --- | --- | --: |"
	if withRatio {
		titles, rule = append(titles, "bide is"), rule+" --: |"
	}
	for _, c := range s.columns[1:] {
		titles, rule = append(titles, c.title), rule+" --: |"
	}
	d.say("| %s |\n%s", strings.Join(titles, " | "), rule)
	for _, v := range variants {
		own, _ := result.Summarize(d.file.Of(s.workload, v, "bide"), main.value)
		for _, name := range d.file.Names() {
			runs := d.file.Of(s.workload, v, name)
			if len(runs) == 0 {
				continue
			}
			d.say("| %s |", strings.Join(cells(s, v, name, runs, own, withRatio), " | "))
		}
	}
	d.say("")
}

// cells is one row: one system in one variant.
func cells(s section, variant, name string, runs []result.Run, own result.Summary, withRatio bool) []string {
	main := s.columns[0]
	list := []string{variant + marks(runs), name}
	value := "–"
	sum, ok := result.Summarize(runs, main.value)
	if ok {
		value = number(sum.Median)
		if sum.N > 1 {
			value += fmt.Sprintf(" (%s–%s)", number(sum.Min), number(sum.Max))
		}
	}
	list = append(list, value)
	if withRatio {
		r := ""
		if name != "bide" && ok && own.N > 0 {
			r = comparison(ratio(main.better, own.Median, sum.Median))
		}
		list = append(list, r)
	}
	for _, c := range s.columns[1:] {
		sum, ok := result.Summarize(runs, c.value)
		if !ok {
			list = append(list, "–")
			continue
		}
		list = append(list, number(sum.Median))
	}
	return list
}

func comparison(r float64) string {
	switch {
	case r == 0:
		return ""
	case r >= 1:
		return fmt.Sprintf("**%sx** better", number(r))
	}
	return fmt.Sprintf("%sx worse", number(1/r))
}

// marks are footnotes of a row: pinned, and kept although disturbed.
func marks(runs []result.Run) string {
	s := ""
	if slices.ContainsFunc(runs, func(r result.Run) bool { return r.Pinned }) {
		s += " ¹"
	}
	if slices.ContainsFunc(runs, func(r result.Run) bool { return r.Disturbed }) {
		s += " ²"
	}
	return s
}

func (d *document) method() {
	f := d.file
	dropped, disturbed := 0, 0
	most := 0.0
	for _, r := range f.Runs {
		dropped += r.Dropped
		if r.Disturbed {
			disturbed++
		}
		most = math.Max(most, r.OtherCPU+r.Steal)
	}
	d.say("## How it was measured\n")
	d.say("Each measurement has a fresh `redis-server` (no persistence, loopback) and fresh processes of the system. Within a workload "+
		"the systems take turns, and a table shows the median of the rounds. The job is the same for all: %s of JSON, and a handler that "+
		"does nothing. Each run of bide ended with its audit at gap 0.\n", "some 120 bytes")
	if slices.ContainsFunc(f.Runs, func(r result.Run) bool { return r.Pinned }) {
		d.say("¹ Redis was pinned to one core and the program to another: where one reply at a time is awaited, chance would otherwise choose the placement.\n")
	}
	if disturbed > 0 {
		d.say("² Kept although disturbed, as the least disturbed of all attempts: %d measurements.\n", disturbed)
	}
	d.say("A measurement during which others used more than %s of a core, time stolen by the host included, was dropped and repeated: "+
		"%d were. In those that were kept it was at most %s of a core.", number(f.Threshold), dropped, number(most))
}

// number writes three significant digits, with commas from a thousand on.
func number(v float64) string {
	if math.Abs(v) >= 999.5 {
		return humanize.Comma(int64(math.Round(v)))
	}
	v, _ = strconv.ParseFloat(strconv.FormatFloat(v, 'g', 3, 64), 64)
	return strconv.FormatFloat(v, 'f', -1, 64)
}
