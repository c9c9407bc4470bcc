package promoter

import (
	"testing"
	"time"
)

// The promoter is back a little before a job that is not due soon, asks at once when it
// is about to be, and sleeps to the instant between jobs that follow each other closely.
func TestUntil(t *testing.T) {
	for next, want := range map[time.Duration]time.Duration{
		0:                0,
		ahead:            0,
		ahead + 1:        ahead + 1,
		aheadFrom:        aheadFrom,
		aheadFrom + 1:    aheadFrom + 1 - ahead,
		50 * time.Second: 50*time.Second - ahead,
	} {
		if got := until(next, false); got != want {
			t.Errorf("a job due after %v: sleeps %v, want %v", next, got, want)
		}
	}
	for next, want := range map[time.Duration]time.Duration{
		0: 0, ahead + 1: 0, aheadQuiet: 0, aheadQuiet + 1: 1, 50 * time.Second: 50*time.Second - aheadQuiet,
	} {
		if got := until(next, true); got != want {
			t.Errorf("a single job due after %v: sleeps %v, want %v", next, got, want)
		}
	}
}
