// Package timely says how long something may take in a test. A limit holds for a machine
// that does nothing else; one that has more to do than it has cores may take as many
// times as long, and the limit still tells what is prompt from what hangs.
package timely

import (
	"fmt"
	"os"
	"runtime"
	"testing"
	"time"
)

// Limit is how long may take here and now what may take d on a machine that does nothing
// else.
func Limit(d time.Duration) time.Duration {
	return times(loadAverage(), runtime.NumCPU(), d)
}

// Check fails the test if something took longer than it may take on a machine that does
// nothing else.
func Check(t testing.TB, what string, took, d time.Duration) {
	t.Helper()
	t.Logf("%s: %v", what, took.Round(time.Millisecond))
	if most := Limit(d); took > most {
		t.Errorf("%s took %v, want at most %v", what, took, most)
	}
}

func times(load float64, cores int, d time.Duration) time.Duration {
	return time.Duration(max(1, load/float64(cores)) * float64(d))
}

// loadAverage is how many tasks ran or wanted to in the last minute, 0 where nobody
// tells.
func loadAverage() (load float64) {
	data, err := os.ReadFile("/proc/loadavg")
	if err == nil {
		_, _ = fmt.Sscan(string(data), &load)
	}
	return load
}
