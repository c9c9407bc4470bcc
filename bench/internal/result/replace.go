package result

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Replace puts the measurements of a later run, of some workloads with all systems, in
// the place of those in f, and notes it. An error says that they cannot stand together.
func (f *File) Replace(later File) error {
	if !slices.Equal(f.Names(), later.Names()) || len(later.Failures) > 0 {
		return errors.New("the later run must have all of its measurements, with the same systems")
	}
	was, is := maps.Clone(f.Versions), maps.Clone(later.Versions)
	delete(was, "bide")
	delete(is, "bide")
	if f.Machine != later.Machine || !maps.Equal(was, is) {
		return errors.New("the later run is of another machine or of other versions")
	}
	var workloads []string
	for _, r := range later.Runs {
		if !slices.Contains(workloads, r.Workload) {
			workloads = append(workloads, r.Workload)
		}
	}
	var runs []Run
	for _, r := range f.Runs {
		if !slices.Contains(workloads, r.Workload) {
			runs = append(runs, r)
			continue
		}
		if !slices.ContainsFunc(runs, func(o Run) bool { return o.Workload == r.Workload }) {
			for _, l := range later.Runs {
				if l.Workload == r.Workload {
					runs = append(runs, l)
				}
			}
		}
		if n := len(later.Of(r.Workload, r.Variant, r.System)); n != len(f.Of(r.Workload, r.Variant, r.System)) {
			return fmt.Errorf("%s, %s: the later run has %d measurements of %s, which is not as many", r.Workload, r.Variant, n, r.System)
		}
	}
	f.Runs = runs
	f.Notes = append(f.Notes, fmt.Sprintf("The workload %s was measured later, on %s at bide %s, by `%s`.",
		strings.Join(workloads, ", "), later.Date, later.Versions["bide"], later.Command))
	return nil
}
