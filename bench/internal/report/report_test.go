package report

import (
	"bytes"
	"flag"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bide-go/bide/bench/internal/machine"
	"github.com/bide-go/bide/bench/internal/result"
	"github.com/bide-go/bide/bench/internal/runner"
)

var update = flag.Bool("update", false, "write the golden file anew")

// sample has one row of every kind: rounds, one round, a peer that is better, one that
// is early, a disturbed run, a missing system, and growth that bends.
func sample() result.File {
	f := result.File{
		Date: "2026-01-02 03:04 UTC", Command: "make bench", Threshold: 0.1,
		Machine:  machine.Facts{CPU: "Some CPU", Cores: 2, Kernel: "Linux 6.1", Memory: "4.0 GiB"},
		Versions: map[string]string{"go": "1.26.0", "redis": "7.0.15", "bide": "v1", "asynq": "0.26.0"},
		Systems:  []result.Settings{{System: "bide", Version: "v1", Settings: "defaults"}, {System: "asynq", Version: "0.26.0", Settings: "defaults"}},
		Notes:    []string{"BullMQ is left out: node is not installed"},
		Failures: []string{"burst, all at once: round 2: asynq work: the adapter ended without a word\nand more"},
	}
	add := func(workload, variant, system string, rounds ...map[string]float64) {
		for i, v := range rounds {
			f.Runs = append(f.Runs, result.Run{Workload: workload, Variant: variant, System: system, Round: i + 1, Values: v})
		}
	}
	type values = map[string]float64
	add("enqueue", "1 producer", "bide", values{result.JobsPerSec: 9000, result.Commands: 4}, values{result.JobsPerSec: 11_000, result.Commands: 4}, values{result.JobsPerSec: 10_000, result.Commands: 4})
	add("enqueue", "1 producer", "asynq", values{result.JobsPerSec: 20_000, result.Commands: 3.5})
	add("process", "concurrency 100", "bide", values{result.JobsPerSec: 100_000})
	add("process", "concurrency 100", "asynq", values{result.JobsPerSec: 10_000})
	add("precision", "250 a second", "bide", values{result.P50: 0.5, result.P99: 1.234, result.Early: 0, result.Never: 0}, values{result.P50: 0.5, result.P99: 1.3, result.Early: 1, result.Never: 0})
	add("precision", "250 a second", "asynq", values{result.P50: 0.4, result.P99: 5300, result.Early: 4900, result.Never: 0})
	add("growth", "10 delayed", "bide", values{result.DrainRate: 100, result.PromoteRate: 100, result.P99: 1})
	add("growth", "1,000 delayed", "bide", values{result.DrainRate: 84, result.PromoteRate: 120, result.P99: 2.5})
	f.Runs[0].Pinned, f.Runs[1].Pinned = true, true
	f.Runs[2].Disturbed, f.Runs[2].Dropped, f.Runs[2].OtherCPU = true, 2, 0.3
	return f
}

func TestReport(t *testing.T) {
	const golden = "testdata/report.md"
	var b bytes.Buffer
	if err := Write(&b, sample(), []string{"throughput.svg"}); err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile(golden, b.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), b.String()); d != "" {
		t.Errorf("differs from %s (-update writes it anew):\n%s", golden, d)
	}
}

func TestEveryWorkloadHasASection(t *testing.T) {
	var got []string
	for _, s := range sections {
		got = append(got, s.workload)
	}
	if d := cmp.Diff(runner.Workloads, got); d != "" {
		t.Error(d)
	}
}

func TestEveryTargetIsMeasured(t *testing.T) {
	variants := runner.Variants()
	for _, target := range targets {
		if !slices.Contains(variants[target.workload], target.variant) {
			t.Errorf("%s has no variant %q: %q", target.workload, target.variant, variants[target.workload])
		}
		i := slices.IndexFunc(sections, func(s section) bool { return s.workload == target.workload })
		if i < 0 || sections[i].column(target.value).better == neither {
			t.Errorf("%s: %s has no column that gets better", target.workload, target.value)
		}
	}
}

func TestRatio(t *testing.T) {
	for _, tc := range []struct {
		better          better
		own, peer, want float64
	}{
		{more, 20, 10, 2}, {more, 10, 20, 0.5}, {less, 10, 20, 2}, {less, 20, 10, 0.5}, {less, 0, 0, 1}, {more, 5, 0, 0}, {less, 0, 5, 0},
	} {
		if got := ratio(tc.better, tc.own, tc.peer); got != tc.want {
			t.Errorf("%+v: got %v", tc, got)
		}
	}
}

func TestNumber(t *testing.T) {
	for v, want := range map[float64]string{
		0: "0", 0.26149: "0.261", 3.14159: "3.14", 41.97: "42", 985.4: "985", 999.9: "1,000", 1234567.8: "1,234,568", -0.5: "-0.5",
	} {
		if got := number(v); got != want {
			t.Errorf("%v: got %s, want %s", v, got, want)
		}
	}
}

func TestAnEmptyFileIsReported(t *testing.T) {
	var b bytes.Buffer
	if err := Write(&b, result.File{}, nil); err != nil || !strings.HasPrefix(b.String(), "# Results") {
		t.Errorf("%v: %s", err, b.String())
	}
}
