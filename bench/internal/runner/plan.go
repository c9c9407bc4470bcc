package runner

import (
	"context"
	"fmt"
	"time"

	"github.com/dustin/go-humanize"
)

// Workloads are the names of all, in the order they are measured.
var Workloads = []string{"enqueue", "process", "precision", "burst", "roundtrip", "idle", "memory", "growth"}

// variant is one table row: a workload with its numbers.
type variant struct {
	workload, name string
	// pin puts Redis on one core and the program on another: where one reply at a time
	// is awaited, the placement of the two decides, and chance would choose it.
	pin      bool
	bideOnly bool
	batch    int // jobs per call of the bulk API; only for systems that have one
	rounds   int // at most; 0 means as many as asked for
	measure  func(ctx context.Context, m *measurement) error
}

// sizes are the numbers of a full run, or of a smoke test.
type sizes struct {
	enqueueOne, enqueueMany, process, burst, trips, leastTrips, memory int
	precision                                                          []precisionSize
	tripLimit, idleSettle, idle, lead                                  time.Duration
	growth                                                             []int
	growthDrain, growthLate                                            int
}

type precisionSize struct {
	name string
	jobs int
	over time.Duration
}

var full = sizes{
	enqueueOne: 20_000, enqueueMany: 100_000, process: 100_000, burst: 100_000, trips: 2000, leastTrips: 10, memory: 100_000,
	precision: []precisionSize{
		{"250 a second", 5000, 20 * time.Second},
		{"2,000 a second", 20_000, 10 * time.Second},
		{"1 a second", 10, 10 * time.Second},
	},
	tripLimit: 15 * time.Second, idleSettle: 2 * time.Second, idle: 20 * time.Second, lead: 1500 * time.Millisecond,
	growth: []int{10_000, 100_000, 1_000_000}, growthDrain: 100_000, growthLate: 5000,
}

var smoke = sizes{
	enqueueOne: 200, enqueueMany: 1000, process: 500, burst: 500, trips: 20, leastTrips: 2, memory: 1000,
	precision: []precisionSize{
		{"250 a second", 100, 400 * time.Millisecond},
		{"2,000 a second", 200, 100 * time.Millisecond},
	},
	tripLimit: time.Millisecond, idleSettle: 200 * time.Millisecond, idle: 300 * time.Millisecond, lead: time.Second,
	growth: []int{100, 1000}, growthDrain: 500, growthLate: 100,
}

// plan lists what is measured.
func plan(z sizes) []variant {
	list := []variant{
		{workload: "enqueue", name: "1 producer", pin: true, measure: enqueue(z.enqueueOne, 1, 0)},
		{workload: "enqueue", name: "32 producers", measure: enqueue(z.enqueueMany, 32, 0)},
		{workload: "enqueue", name: "bulk", batch: 1000, measure: enqueue(z.enqueueMany, 1, 1000)},
	}
	for _, c := range []int{1, 10, 100} {
		list = append(list, variant{workload: "process", name: fmt.Sprintf("concurrency %d", c), pin: c == 1, measure: process(z.process, c)})
	}
	for _, p := range z.precision {
		list = append(list, variant{workload: "precision", name: p.name, measure: precision(p.jobs, p.over)})
	}
	list = append(list,
		variant{workload: "burst", name: "all at once", measure: burst(z.burst)},
		variant{workload: "roundtrip", name: "one at a time", pin: true, measure: roundtrip(z.trips, z.leastTrips, z.tripLimit)},
		variant{workload: "idle", name: "one job an hour ahead", pin: true, rounds: 1, measure: idle(z.idleSettle, z.idle)},
		variant{workload: "memory", name: "delayed", measure: memory(z.memory, true)},
		variant{workload: "memory", name: "waiting", measure: memory(z.memory, false)},
	)
	for _, n := range z.growth {
		name := humanize.Comma(int64(n)) + " delayed"
		list = append(list, variant{workload: "growth", name: name, bideOnly: true, rounds: 2, measure: growth(n, z.growthDrain, z.growthLate)})
	}
	return list
}

// Variants lists the variants of a full run by workload.
func Variants() map[string][]string {
	names := map[string][]string{}
	for _, v := range plan(full) {
		names[v.workload] = append(names[v.workload], v.name)
	}
	return names
}
