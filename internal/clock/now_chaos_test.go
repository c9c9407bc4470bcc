//go:build chaos

package clock

import (
	"testing"
	"time"
)

// A step moves what the clock shows and nothing that is measured by it.
func TestAStepLeavesTheMonotonicClockAlone(t *testing.T) {
	for _, seconds := range []int64{0, 1, -1, 3600, -3600, 400 * 86400} {
		before := time.Now()
		after := step(before, seconds)
		if got := after.UnixNano() - before.UnixNano(); got != seconds*1e9 {
			t.Errorf("a step of %d s moved the wall clock by %v", seconds, time.Duration(got))
		}
		if got := after.Sub(before); got != 0 {
			t.Errorf("a step of %d s moved the monotonic clock by %v", seconds, got)
		}
	}
}
