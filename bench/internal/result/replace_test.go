package result

import (
	"strings"
	"testing"
)

func file(bide string, rounds int, value float64, workloads ...string) File {
	f := File{Date: bide + "'s day", Command: "make bench", Versions: map[string]string{"bide": bide, "go": "1"}, Systems: []Settings{{System: "bide"}, {System: "peer"}}}
	for _, w := range workloads {
		for round := range rounds {
			for _, s := range f.Names() {
				f.Runs = append(f.Runs, Run{Workload: w, Variant: "v", System: s, Round: round + 1, Values: map[string]float64{P50: value}})
			}
		}
	}
	return f
}

func TestReplace(t *testing.T) {
	f := file("a", 3, 1, "enqueue", "precision", "idle")
	if err := f.Replace(file("b", 3, 2, "precision")); err != nil {
		t.Fatal(err)
	}
	if len(f.Runs) != 18 || len(f.Notes) != 1 || !strings.Contains(f.Notes[0], "precision was measured later, on b's day at bide b") {
		t.Errorf("%d runs, notes %q", len(f.Runs), f.Notes)
	}
	for i, r := range f.Runs {
		want := map[bool]string{i < 6: "enqueue", i >= 6 && i < 12: "precision", i >= 12: "idle"}[true]
		if r.Workload != want || (r.Values[P50] == 2) != (want == "precision") {
			t.Errorf("run %d is %+v, want one of %s", i, r, want)
		}
	}
	other := file("b", 3, 2, "precision")
	other.Versions["go"] = "2"
	for what, later := range map[string]File{
		"fewer rounds":   file("b", 2, 2, "precision"),
		"fewer systems":  {Versions: f.Versions, Systems: f.Systems[:1]},
		"other versions": other,
	} {
		if err := f.Replace(later); err == nil || len(f.Runs) != 18 || len(f.Notes) != 1 {
			t.Errorf("%s: %v, %d runs", what, err, len(f.Runs))
		}
	}
}
