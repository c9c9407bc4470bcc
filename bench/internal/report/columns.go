package report

import "github.com/bide-go/bide/bench/internal/result"

// better says in which direction a value improves.
type better int

const (
	neither better = iota
	more
	less
)

// column is one value of a workload's table.
type column struct {
	value, title string
	better       better
}

// section is one workload in the report.
type section struct {
	workload, title string
	text            string
	columns         []column // the ratio is over the first
	chart           string
}

var sections = []section{
	{
		workload: "enqueue", title: "Enqueue",
		text: "Jobs made per second: one by one by 1 producer, one by one by 32 producers of one process, and " +
			"with the bulk API, 1,000 jobs a call. asynq has no bulk API.",
		columns: throughput,
	},
	{
		workload: "process", title: "Process",
		text: "Waiting jobs (100,000 in a full run) drained by one worker process: from the start of the worker until the system's own API says " +
			"that no job is left, waiting or active. Another process made the jobs.",
		columns: throughput, chart: "throughput.svg",
	},
	{
		workload: "precision", title: "Precision",
		text: "How late the handlers of jobs with a due time start, at concurrency 50: the instant at which the handler begins less " +
			"the due time given to the API, by one clock. Jobs that start early are in no percentile; they are counted apart.",
		columns: []column{
			{result.P99, "p99 ms", less}, {result.P50, "p50 ms", less}, {result.P999, "p99.9 ms", less}, {result.Max, "max ms", less},
			{result.Early, "early", less}, {result.Earliest, "earliest ms", less}, {result.Never, "never run", less},
		},
		chart: "lateness.svg",
	},
	{
		workload: "burst", title: "Burst",
		text: "Jobs (100,000 in a full run) that are all due at one instant, a whole second, at concurrency 100: milliseconds until the first " +
			"and half of them have started and all are settled.",
		columns: []column{{result.Settled, "all settled ms", less}, {result.Half, "half started ms", less}, {result.First, "first started ms", less}},
		chart:   "burst.svg",
	},
	{
		workload: "roundtrip", title: "Round trip",
		text: "From the call that makes a job until its handler begins, one job at a time, concurrency 10, in one process. A system " +
			"that takes long makes as many as 15 s allow.",
		columns: []column{{result.P50, "p50 ms", less}, {result.P99, "p99 ms", less}, {result.Trips, "trips", neither}},
	},
	{
		workload: "idle", title: "Idle",
		text: "A worker with nothing to do, and one job an hour ahead. Commands are those that clients send, as MONITOR shows them: a " +
			"script counts as the one command that called it. They are counted in a second run, so that MONITOR is not in the CPU times. " +
			"CPU is in percent of one core; an idle Redis takes some of it by itself.",
		columns: []column{
			{result.ClientPerSec, "commands/s", less}, {result.ProgramShare, "CPU of the program %", less},
			{result.RedisShare, "CPU of Redis %", less},
		},
	},
	{
		workload: "memory", title: "Memory",
		text:    "By how many bytes Redis' used_memory grows for each job, payload included.",
		columns: []column{{result.BytesPerJob, "bytes a job", less}},
	},
	{
		workload: "growth", title: "Growth",
		text: "bide alone: whether many jobs that lie a day ahead slow down those of today. Drained and promoted are waiting and due jobs " +
			"beside them, once Redis has done with growing its hash tables; the lateness is that of 1,000 jobs a second.",
		columns: []column{{result.DrainRate, "drained jobs/s", more}, {result.PromoteRate, "promoted jobs/s", more}, {result.P99, "lateness p99 ms", less}},
	},
}

var throughput = []column{
	{result.JobsPerSec, "jobs/s", more}, {result.Commands, "Redis commands a job", less},
	{result.RedisCPU, "CPU s of Redis", less}, {result.ProgramCPU, "CPU s of the program", less},
}
