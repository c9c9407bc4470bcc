package chaos

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// Figure is how long something took, over a run.
type Figure struct {
	What     string
	N        int
	P50, P99 time.Duration
}

func figure(what string, took []time.Duration) Figure {
	f := Figure{What: what, N: len(took)}
	if f.N > 0 {
		slices.Sort(took)
		f.P50, f.P99 = took[f.N/2], took[min(f.N-1, f.N*99/100)]
	}
	return f
}

// stopBefore is when the process was last stopped before at, 0 if it never was.
func (p *process) stopBefore(at int64) (from int64) {
	for _, s := range p.stops {
		if s.from < at {
			from = s.from
		}
	}
	return from
}

// Recovery measures how soon a run was itself again after its faults.
func Recovery(events []Event) []Figure {
	c := newChecker(events)
	var starts []Event
	var killed, stopped, lateness, promoter []time.Duration
	after := map[string][]time.Duration{}
	for _, j := range c.order {
		for i, r := range j.runs {
			starts = append(starts, r.Event)
			if i > 0 {
				last := j.runs[i-1]
				p := c.procs[last.Proc]
				if p == nil || last.ended != nil || r.Lost <= last.Lost {
					continue
				}
				switch {
				case p.killed && p.dead < r.At:
					killed = append(killed, time.Duration(r.At-p.dead))
				case p.stopBefore(r.At) > last.At:
					stopped = append(stopped, time.Duration(r.At-p.stopBefore(r.At)))
				}
			}
		}
		if len(j.runs) > 0 && len(j.acked) > 0 && j.acked[0].Due > 0 && j.runs[0].Attempt == 1 && j.runs[0].Lost == 0 {
			due := max(j.acked[0].Due*int64(time.Millisecond), j.acked[0].At)
			late := time.Duration(max(j.runs[0].At-due, 0))
			lateness = append(lateness, late)
			for _, p := range c.procs {
				if p.killed && strings.HasPrefix(p.name, "promoter") && due >= p.dead && due < p.dead+int64(500*time.Millisecond) {
					promoter = append(promoter, late)
				}
			}
		}
	}
	slices.SortFunc(starts, func(a, b Event) int { return int(min(max(a.At-b.At, -1), 1)) })
	var shutdowns []time.Duration
	for _, p := range c.procs {
		if p.termed != 0 && p.exit != nil {
			shutdowns = append(shutdowns, time.Duration(p.exit.At-p.termed))
		}
	}
	for _, e := range c.rest {
		if e.Kind != Up {
			continue
		}
		for _, s := range starts {
			if s.At > e.At {
				after[e.What] = append(after[e.What], time.Duration(s.At-e.At))
				break
			}
		}
	}
	figures := []Figure{
		figure("job of a killed worker runs again", killed),
		figure("job of a worker that stands still runs again", stopped),
		figure("start behind due time, all through", lateness),
		figure("start behind due time, in the half second after a promoter's death", promoter),
		figure("SIGTERM to exit", shutdowns),
	}
	var words []string
	for what := range after {
		words = append(words, what)
	}
	slices.Sort(words)
	for _, what := range words {
		figures = append(figures, figure("first start after: "+what, after[what]))
	}
	return figures
}

// tally prints how often each event of a kind was there.
func tally(b *strings.Builder, title string, events []Event, kind Kind) {
	counts := map[string]int{}
	for _, e := range events {
		if e.Kind == kind {
			counts[e.What]++
		}
	}
	fmt.Fprintf(b, "\n| %s | times |\n| --- | --- |\n", title)
	for _, what := range slices.Sorted(maps.Keys(counts)) {
		fmt.Fprintf(b, "| %s | %d |\n", what, counts[what])
	}
}

// Summarise is a run in numbers, as Markdown.
func Summarise(events []Event, bulk BulkCount) string {
	c := newChecker(events)
	var b strings.Builder
	acked, unknown, runs, again, completed, dead := 0, 0, 0, 0, 0, 0
	for _, j := range c.order {
		if len(j.acked) > 0 {
			acked++
		} else if len(j.sent) > 0 {
			unknown++
		}
		runs += len(j.runs)
		for i := 1; i < len(j.runs); i++ {
			if j.runs[i].Lost > j.runs[i-1].Lost {
				again++
			}
		}
		if j.final != nil {
			switch j.final.State {
			case "completed":
				completed++
			case "dead":
				dead++
			}
		}
	}
	lost, span := LostByRedis(events)
	fmt.Fprintf(&b, "jobs acknowledged %d, of unknown outcome %d, attempts %d, repeated after a lost lease %d, completed %d, dead %d\n", acked, unknown, runs, again, completed, dead)
	if bulk.Acked > 0 {
		fmt.Fprintf(&b, "bulk jobs acknowledged %d, runs %d, lost %d, repeated after a lost lease %d, doubled %d\n", bulk.Acked, bulk.Ran, bulk.Lost, bulk.Repeated, bulk.Doubled)
	}
	fmt.Fprintf(&b, "lost by Redis itself %d, of at most %v each time\n", lost, span.Round(time.Millisecond))
	tally(&b, "fault", c.rest, Fault)
	tally(&b, "bad input", c.rest, Bad)
	b.WriteString("\n| recovery | times | p50 | p99 |\n| --- | --- | --- | --- |\n")
	for _, f := range Recovery(events) {
		if f.N > 0 {
			fmt.Fprintf(&b, "| %s | %d | %v | %v |\n", f.What, f.N, f.P50.Round(time.Millisecond), f.P99.Round(time.Millisecond))
		}
	}
	return b.String()
}
