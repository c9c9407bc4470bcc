package result

import (
	"math"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func runs(value string, list ...float64) []Run {
	var out []Run
	for i, v := range list {
		out = append(out, Run{Round: i + 1, Values: map[string]float64{value: v}})
	}
	return out
}

func TestSummarize(t *testing.T) {
	for _, tc := range []struct {
		in   []float64
		want Summary
	}{
		{[]float64{3}, Summary{3, 3, 3, 1}},
		{[]float64{9, 1, 4}, Summary{4, 1, 9, 3}},
		{[]float64{9, 1, 4, 6}, Summary{5, 1, 9, 4}},
	} {
		if got, ok := Summarize(runs(P50, tc.in...), P50); !ok || got != tc.want {
			t.Errorf("%v: got %+v, want %+v", tc.in, got, tc.want)
		}
	}
	if _, ok := Summarize(runs(P50, 1), P99); ok {
		t.Error("a value that no run has was summarized")
	}
}

func TestLatenessCountsEarlyJobsApart(t *testing.T) {
	var micros []int64
	for i := range int64(1000) {
		micros = append(micros, (i+1)*1000) // 1 ms to 1 s
	}
	values, points := Lateness(append(micros, -1, -2500))
	for name, want := range map[string]float64{P50: 500, P99: 990, P999: 999, Max: 1000, Early: 2, Earliest: 2.5} {
		if got := values[name]; math.Abs(got-want) > want*0.002 {
			t.Errorf("%s: got %v, want %v", name, got, want)
		}
	}
	if first, last := points[0], points[len(points)-1]; first[1] > 1.01 || last[0] != 100 || math.Abs(last[1]-1000) > 1 {
		t.Errorf("the curve goes from %v to %v", first, last)
	}
	if values, points := Lateness([]int64{-5}); points != nil || values[Early] != 1 {
		t.Errorf("of one early job: %v, %v", values, points)
	}
}

func TestDrainEndsWithTheLastJob(t *testing.T) {
	for _, n := range []int{0, 1, 149, 150, 151, 1000} {
		var micros []int64
		for i := range n {
			micros = append(micros, int64(n-i)*1000)
		}
		points := Drain(micros)
		if n == 0 {
			if points != nil {
				t.Errorf("of nothing: %v", points)
			}
			continue
		}
		if last := points[len(points)-1]; last != [2]float64{float64(n), float64(n)} || len(points) > 200 {
			t.Errorf("%d jobs: %d points, the last %v", n, len(points), last)
		}
	}
}

func TestMiddle(t *testing.T) {
	list := append([]Run{{Values: map[string]float64{}}}, runs(Settled, 10, 30, 20)...)
	if r, ok := Middle(list, Settled); !ok || r.Values[Settled] != 20 {
		t.Errorf("got %+v", r)
	}
}

func TestFileRoundTrip(t *testing.T) {
	f := File{Command: "make bench", Systems: []Settings{{System: "bide"}}, Runs: []Run{
		{Workload: "w", Variant: "b", System: "bide", Round: 1, Values: map[string]float64{P50: 1}, Points: [][2]float64{{1, 2}}},
		{Workload: "w", Variant: "a", System: "bide", Round: 1, Values: map[string]float64{}},
		{Workload: "w", Variant: "b", System: "asynq", Round: 1, Values: map[string]float64{}},
	}}
	name := filepath.Join(t.TempDir(), "results.json")
	if err := f.Save(name); err != nil {
		t.Fatal(err)
	}
	got, err := Load(name)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(f, got); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]string{"b", "a"}, got.Variants("w")); d != "" {
		t.Error(d)
	}
	if n := len(got.Of("w", "b", "bide")); n != 1 {
		t.Errorf("%d runs of one system in one variant", n)
	}
}
