// Package result holds what was measured, as it lies in results.json, and the
// statistics over it.
package result

import (
	"encoding/json"
	"os"
	"slices"

	"github.com/bide-go/bide/bench/internal/machine"
)

// Names of values. Those with a unit have it in their name.
const (
	JobsPerSec   = "jobsPerSec"
	Commands     = "redisCommandsPerJob" // those inside of scripts included
	RedisCPU     = "redisCPUSec"
	ProgramCPU   = "programCPUSec"
	P50          = "p50Ms"
	P99          = "p99Ms"
	P999         = "p999Ms"
	Max          = "maxMs"
	Early        = "earlyJobs"
	Earliest     = "earliestMs" // how early the earliest was
	Never        = "neverRunJobs"
	Trips        = "trips"
	First        = "firstStartMs"
	Half         = "halfStartedMs"
	Settled      = "allSettledMs"
	ClientPerSec = "clientCommandsPerSec"
	RedisShare   = "redisCPUPercent" // of one core
	ProgramShare = "programCPUPercent"
	BytesPerJob  = "bytesPerJob"
	DrainRate    = "drainJobsPerSec"
	PromoteRate  = "promotedJobsPerSec"
)

// Run is one measurement.
type Run struct {
	Workload string             `json:"workload"`
	Variant  string             `json:"variant"`
	System   string             `json:"system"`
	Round    int                `json:"round"` // from 1
	Values   map[string]float64 `json:"values"`
	// Points are a curve: lateness in ms over the share of jobs, or jobs started over
	// the ms since they were due.
	Points [][2]float64 `json:"points,omitempty"`
	Pinned bool         `json:"pinned,omitempty"`
	// OtherCPU is what everybody else used while it was measured, Steal what the host
	// took away, both in cores.
	OtherCPU float64 `json:"otherCPU"`
	Steal    float64 `json:"steal"`
	// Dropped are the attempts before this one that were disturbed; Disturbed says
	// that this one was, too, and was kept as the least bad.
	Dropped   int  `json:"dropped,omitempty"`
	Disturbed bool `json:"disturbed,omitempty"`
}

// Settings is how a system was set up.
type Settings struct {
	System   string `json:"system"`
	Version  string `json:"version"`
	Settings string `json:"settings"`
}

// File is one run of the whole program.
type File struct {
	Date      string            `json:"date"`
	Command   string            `json:"command"`
	Machine   machine.Facts     `json:"machine"`
	Versions  map[string]string `json:"versions"`
	Systems   []Settings        `json:"systems"`
	Threshold float64           `json:"threshold"` // OtherCPU + Steal above which a run is repeated
	Notes     []string          `json:"notes"`     // what was left out, and why
	Failures  []string          `json:"failures"`  // measurements without a result
	Runs      []Run             `json:"runs"`
}

// Load reads a file that Save wrote.
func Load(name string) (File, error) {
	var f File
	b, err := os.ReadFile(name)
	if err != nil {
		return f, err
	}
	return f, json.Unmarshal(b, &f)
}

// Save writes the file.
func (f File) Save(name string) error {
	b, err := json.MarshalIndent(f, "", " ")
	if err != nil {
		return err
	}
	return os.WriteFile(name, append(b, '\n'), 0o644)
}

// Of returns the runs of one system in one variant of a workload.
func (f File) Of(workload, variant, system string) []Run {
	return slices.DeleteFunc(slices.Clone(f.Runs), func(r Run) bool {
		return r.Workload != workload || r.Variant != variant || r.System != system
	})
}

// Variants lists those of a workload in the order they were measured.
func (f File) Variants(workload string) []string {
	var list []string
	for _, r := range f.Runs {
		if r.Workload == workload && !slices.Contains(list, r.Variant) {
			list = append(list, r.Variant)
		}
	}
	return list
}

// Names lists the systems in order.
func (f File) Names() []string {
	var list []string
	for _, s := range f.Systems {
		list = append(list, s.System)
	}
	return list
}
