// Package machine reads what the CPUs did, places processes on cores, and tells what
// kind of machine this is. On systems other than Linux it knows only the number of
// cores: then nothing is pinned, and no run can be told to be disturbed.
package machine

import (
	"context"
	"os/exec"
	"runtime"
	"strings"
)

// Busy is CPU time in seconds since the machine, or a process, started.
type Busy struct {
	All   float64 // used by anyone, stolen time not included
	Steal float64 // taken by other machines on the same host
}

// Facts tell a reader what the numbers were measured on.
type Facts struct {
	CPU    string `json:"cpu"`
	Cores  int    `json:"cores"`
	Kernel string `json:"kernel"`
	Memory string `json:"memory"`
}

// Describe tells what is known of this machine.
func Describe(ctx context.Context) Facts {
	f := Facts{CPU: cpuModel(), Cores: runtime.NumCPU(), Memory: memory()}
	f.Kernel = Output(ctx, "uname", "-sr")
	return f
}

// Output is the first line that a command prints, or "" if it fails.
func Output(ctx context.Context, name string, args ...string) string {
	b, err := exec.CommandContext(ctx, name, args...).Output()
	if err != nil {
		return ""
	}
	line, _, _ := strings.Cut(string(b), "\n")
	return strings.TrimSpace(line)
}
