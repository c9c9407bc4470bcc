package result

import (
	"math"
	"slices"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// Summary is one value over the rounds.
type Summary struct {
	Median, Min, Max float64
	N                int
}

// Summarize returns a value's summary, and false if no run has it.
func Summarize(runs []Run, value string) (Summary, bool) {
	var list []float64
	for _, r := range runs {
		if v, ok := r.Values[value]; ok {
			list = append(list, v)
		}
	}
	if len(list) == 0 {
		return Summary{}, false
	}
	return Summary{Median: median(list), Min: slices.Min(list), Max: slices.Max(list), N: len(list)}, true
}

// median of an even number of values is the mean of the middle two.
func median(list []float64) float64 {
	list = slices.Sorted(slices.Values(list))
	n := len(list)
	return (list[(n-1)/2] + list[n/2]) / 2
}

// quantiles at which curves are drawn.
var quantiles = []float64{0, 0.1, 1, 5, 10, 20, 30, 40, 50, 60, 70, 80, 90, 95, 98, 99, 99.5, 99.9, 100}

// Lateness summarizes how late jobs were, from microseconds of which negative ones
// are early. Early jobs are counted apart and are in no percentile: they are wrong,
// not quick.
func Lateness(micros []int64) (map[string]float64, [][2]float64) {
	h := hdrhistogram.New(1, 3_600_000_000, 3)
	early, earliest := 0, int64(0)
	for _, v := range micros {
		if v < 0 {
			early++
			earliest = min(earliest, v)
			continue
		}
		_ = h.RecordValue(min(v, h.HighestTrackableValue()))
	}
	values := map[string]float64{Early: float64(early), Earliest: float64(-earliest) / 1000}
	if h.TotalCount() == 0 {
		return values, nil
	}
	ms := func(q float64) float64 { return float64(h.ValueAtQuantile(q)) / 1000 }
	values[P50], values[P99], values[P999], values[Max] = ms(50), ms(99), ms(99.9), float64(h.Max())/1000
	var points [][2]float64
	for _, q := range quantiles {
		points = append(points, [2]float64{q, ms(q)})
	}
	return values, points
}

// Drain is the curve of a burst: how many jobs had started, at some hundred instants
// in milliseconds after they were due.
func Drain(micros []int64) [][2]float64 {
	list := slices.Sorted(slices.Values(micros))
	const most = 150
	step := max(1, len(list)/most)
	var points [][2]float64
	for i := step - 1; i < len(list); i += step {
		points = append(points, [2]float64{float64(list[i]) / 1000, float64(i + 1)})
	}
	if n := len(list); n > 0 && (len(points) == 0 || points[len(points)-1][1] != float64(n)) {
		points = append(points, [2]float64{float64(list[n-1]) / 1000, float64(n)})
	}
	return points
}

// Middle is the run whose value is nearest to the median, for curves.
func Middle(runs []Run, value string) (Run, bool) {
	s, ok := Summarize(runs, value)
	if !ok {
		return Run{}, false
	}
	best := runs[0]
	distance := math.Inf(1)
	for _, r := range runs {
		if v, has := r.Values[value]; has && math.Abs(v-s.Median) < distance {
			best, distance = r, math.Abs(v-s.Median)
		}
	}
	return best, true
}
