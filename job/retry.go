package job

import (
	"math/rand/v2"
	"time"
)

// Backoff returns the pause before attempt n (n >= 2): uniform between lo and
// lo·2^(n-1), the upper end being at most hi. It is never below lo, and equals
// lo where hi is smaller. Zero lo and hi mean DefaultMinBackoff and
// DefaultMaxBackoff. The spread keeps jobs that failed together from coming back
// together.
func Backoff(n int, lo, hi time.Duration) time.Duration {
	return backoff(n, lo, hi, rand.Int64N)
}

func backoff(n int, lo, hi time.Duration, below func(int64) int64) time.Duration {
	if lo <= 0 {
		lo = DefaultMinBackoff
	}
	if hi <= 0 {
		hi = DefaultMaxBackoff
	}
	upper := lo
	for i := 1; i < n && upper < hi; i++ {
		if upper > hi/2 {
			upper = hi
			break
		}
		upper *= 2
	}
	upper = min(upper, hi)
	if upper <= lo {
		return lo
	}
	return lo + time.Duration(below(int64(upper-lo)+1))
}
