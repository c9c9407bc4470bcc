package job

import (
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestBackoffBounds(t *testing.T) {
	lowest := func(int64) int64 { return 0 }
	highest := func(n int64) int64 { return n - 1 }
	for _, c := range []struct {
		n             int
		lo, hi        time.Duration
		least, utmost time.Duration
	}{
		{2, 0, 0, time.Second, 2 * time.Second},
		{3, 0, 0, time.Second, 4 * time.Second},
		{4, 0, 0, time.Second, 8 * time.Second},
		{1, 0, 0, time.Second, time.Second},
		{0, 0, 0, time.Second, time.Second},
		{-5, 0, 0, time.Second, time.Second},
		{13, 0, 0, time.Second, time.Hour},
		{math.MaxInt, 0, 0, time.Second, time.Hour},
		{5, time.Minute, 3 * time.Minute, time.Minute, 3 * time.Minute},
		{3, time.Minute, 4 * time.Minute, time.Minute, 4 * time.Minute},
		{3, time.Minute, time.Second, time.Minute, time.Minute},
		{3, time.Minute, time.Minute, time.Minute, time.Minute},
		{100, time.Hour, math.MaxInt64, time.Hour, math.MaxInt64},
		{100, math.MaxInt64, math.MaxInt64, math.MaxInt64, math.MaxInt64},
		{2, math.MaxInt64/2 + 1, math.MaxInt64, math.MaxInt64/2 + 1, math.MaxInt64},
		{9, 1, 3, 1, 3},
	} {
		if got := backoff(c.n, c.lo, c.hi, lowest); got != c.least {
			t.Errorf("backoff(%d, %v, %v) is at least %v, want %v", c.n, c.lo, c.hi, got, c.least)
		}
		if got := backoff(c.n, c.lo, c.hi, highest); got != c.utmost {
			t.Errorf("backoff(%d, %v, %v) is at most %v, want %v", c.n, c.lo, c.hi, got, c.utmost)
		}
	}
}

func TestBackoffStaysWithinItsBounds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(-2, 200).Draw(t, "n")
		lo := time.Duration(rapid.Int64Range(1, math.MaxInt64).Draw(t, "lo"))
		hi := time.Duration(rapid.Int64Range(1, math.MaxInt64).Draw(t, "hi"))
		upper := math.Min(float64(lo)*math.Pow(2, float64(n-1)), float64(hi))
		got := Backoff(n, lo, hi)
		if got < lo || float64(got) > math.Max(upper, float64(lo))*(1+1e-9) {
			t.Fatalf("Backoff(%d, %v, %v) = %v", n, lo, hi, got)
		}
	})
}

// The pause is spread over the whole range.
func TestBackoffIsUniform(t *testing.T) {
	var buckets [4]int
	const draws = 40000
	for range draws {
		d := Backoff(2, time.Second, time.Hour) - time.Second
		buckets[min(int(d/(250*time.Millisecond)), 3)]++
	}
	for i, n := range buckets {
		if n < draws/4-draws/20 || n > draws/4+draws/20 {
			t.Errorf("quarter %d got %d of %d", i, n, draws)
		}
	}
}
