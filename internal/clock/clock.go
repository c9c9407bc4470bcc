// Package clock is the only place that asks this machine for the time or waits for
// it. What bide decides about jobs rests on Redis' clock; this one serves for
// waiting, for measuring how long something took, and for a lease's local end, all
// of which are monotonic. Built with the tag chaos, its wall clock can be made wrong
// while the process runs.
package clock

import (
	"context"
	"time"
)

// Since is how long ago t was, by the monotonic clock.
func Since(t time.Time) time.Duration { return time.Since(t) }

// Until is how long it is until t, by the monotonic clock.
func Until(t time.Time) time.Duration { return time.Until(t) }

// NewTimer returns a timer that fires once after d.
func NewTimer(d time.Duration) *time.Timer { return time.NewTimer(d) }

// AfterFunc calls f on a goroutine of its own after d.
func AfterFunc(d time.Duration, f func()) *time.Timer { return time.AfterFunc(d, f) }

// Sleep waits for d or for the end of ctx, and reports whether d passed.
func Sleep(ctx context.Context, d time.Duration) bool {
	if d <= 0 {
		return ctx.Err() == nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// SleepOr is Sleep that a wake-up call ends as well. It reports whether one did.
func SleepOr(ctx context.Context, d time.Duration, wake <-chan struct{}) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-wake:
		return true
	case <-ctx.Done():
	}
	return false
}
