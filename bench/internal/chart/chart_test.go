package chart

import (
	"encoding/xml"
	"errors"
	"flag"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bide-go/bide/bench/internal/result"
)

var update = flag.Bool("update", false, "write the golden files anew")

func sample() result.File {
	f := result.File{Systems: []result.Settings{{System: "bide"}, {System: "asynq-1ms"}, {System: "bullmq"}}}
	for i, system := range []string{"bide", "asynq-1ms", "bullmq"} {
		slow := float64(i*i*10 + 1)
		if system != "asynq-1ms" {
			for _, c := range []string{"concurrency 1", "concurrency 100"} {
				f.Runs = append(f.Runs, result.Run{Workload: "process", Variant: c, System: system,
					Values: map[string]float64{result.JobsPerSec: 90_000 / slow}})
			}
		}
		f.Runs = append(f.Runs,
			result.Run{Workload: "precision", Variant: "250 a second", System: system,
				Values: map[string]float64{result.P50: slow, result.P99: 2 * slow, result.Early: float64(i % 2 * 49)},
				Points: [][2]float64{{0, 0}, {50, slow}, {99, 2 * slow}, {100, 3 * slow}}},
			result.Run{Workload: "burst", Variant: "all at once", System: system,
				Values: map[string]float64{result.Settled: 1100 * slow},
				Points: [][2]float64{{-20, 10}, {500 * slow, 50_000}, {1000 * slow, 100_000}}})
	}
	return f
}

func TestCharts(t *testing.T) {
	files := All(sample())
	if len(files) != 3 {
		t.Fatalf("%d charts", len(files))
	}
	for name, got := range files {
		golden := filepath.Join("testdata", name)
		if *update {
			if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(golden)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(string(want), got); d != "" {
			t.Errorf("%s differs (-update writes it anew):\n%s", name, d)
		}
		for _, must := range []string{`role="img"`, "<title", "<desc"} {
			if !strings.Contains(got, must) {
				t.Errorf("%s has no %s", name, must)
			}
		}
		d := xml.NewDecoder(strings.NewReader(got))
		for {
			if _, err := d.Token(); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				t.Errorf("%s: %v", name, err)
				break
			}
		}
		for _, bad := range []string{"NaN", "Inf"} {
			if strings.Contains(got, bad) {
				t.Errorf("%s has a coordinate %s", name, bad)
			}
		}
	}
}

func TestNothingMeasuredIsNoChart(t *testing.T) {
	if files := All(result.File{Systems: []result.Settings{{System: "bide"}}}); len(files) != 0 {
		t.Errorf("%d charts of nothing", len(files))
	}
}

func TestScales(t *testing.T) {
	s, ticks := linear(86_607, 340, 84)
	if s.to != 100_000 || len(ticks) != 6 || s.at(0) != 340 || s.at(s.to) != 84 {
		t.Errorf("linear: %+v %v", s, ticks)
	}
	for _, most := range []float64{0, 0.003, 1, 6, 7, 11, 1e6} {
		if s, ticks := linear(most, 0, 1); s.to < most || len(ticks) < 2 || len(ticks) > 8 {
			t.Errorf("linear up to %v: %+v %v", most, s, ticks)
		}
	}
	s, ticks = decades(0.2, 5300, 340, 84)
	if s.from != 0.1 || s.to != 10_000 || len(ticks) != 6 || math.Abs(s.at(1)-(340-256.0/5)) > 1e-9 {
		t.Errorf("decades: %+v %v", s, ticks)
	}
	if s, _ := decades(1, 1, 0, 1); s.to <= s.from {
		t.Errorf("decades of one value: %+v", s)
	}
}

func TestShort(t *testing.T) {
	for v, want := range map[float64]string{0: "0", 0.1: "0.1", 6.789: "6.79", 999: "999", 1000: "1k", 6182.9: "6.18k", 150_000: "150k"} {
		if got := short(v); got != want {
			t.Errorf("%v: got %s, want %s", v, got, want)
		}
	}
}
