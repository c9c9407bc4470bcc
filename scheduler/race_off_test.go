//go:build !race

package scheduler

import "testing"

// steppedByHand is for long tests whose roles take turns in one goroutine: the race
// detector, if it watched, has nothing to see in them.
func steppedByHand(*testing.T) {}
