package runner

import "slices"

// System is one of those that are compared.
type System struct {
	Name    string
	adapter string // bide, asynq or bullmq
	pollMs  int    // see protocol.Spec
	bulk    bool   // whether it has a bulk API
	// fillRate is how many delayed jobs a second a slow machine makes of it, for
	// planning ahead.
	fillRate int
	// latencyOnly keeps settings that matter to latency out of the other workloads.
	latencyOnly bool
	settings    string
}

// Systems are all there are, in the order of their turns.
var Systems = []System{
	{Name: "bide", adapter: "bide", bulk: true, fillRate: 60_000,
		settings: "defaults; promoter and dispatcher in one process, as `bide serve` has them"},
	{Name: "asynq", adapter: "asynq", fillRate: 20_000,
		settings: "defaults: delayed tasks are looked for every 5 s, an empty queue every 1 s"},
	{Name: "asynq-1ms", adapter: "asynq", pollMs: 1, fillRate: 20_000, latencyOnly: true,
		settings: "`DelayedTaskCheckInterval` and `TaskCheckInterval` 1 ms, its best for latency; the other workloads do not depend on them"},
	{Name: "bullmq", adapter: "bullmq", bulk: true, fillRate: 12_000,
		settings: "defaults and `removeOnComplete: true`, so that like the others it keeps nothing of a finished job"},
}

// latencyWorkloads are those in which polling intervals matter.
var latencyWorkloads = []string{"precision", "burst", "roundtrip", "idle"}

func (s System) takes(v variant) bool {
	if v.bideOnly && s.Name != "bide" {
		return false
	}
	if v.batch > 0 && !s.bulk {
		return false
	}
	return !s.latencyOnly || slices.Contains(latencyWorkloads, v.workload)
}
