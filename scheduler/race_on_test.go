//go:build race

package scheduler

import "testing"

// steppedByHand is for long tests whose roles take turns in one goroutine: the race
// detector, which watches, has nothing to see in them.
func steppedByHand(t *testing.T) {
	t.Helper()
	t.Skip("one goroutine")
}
