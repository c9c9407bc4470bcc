package bundled

import (
	"net/http"
	"os"
	"regexp"
	"slices"
	"testing"
	"time"

	"github.com/bide-go/bide/job"
)

// The table of the docs names every header and variable that tells which run it is,
// and no other.
func TestDocsOfIdentity(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../docs/schedules.md")
	if err != nil {
		t.Fatal(err)
	}
	j := &job.Job{
		ID: "s@t", Name: "n", Queue: "q", MaxAttempts: 1, Trigger: job.TriggerSchedule, Schedule: "s", Tick: time.Unix(1, 0),
		PreviousStatus: job.Completed, Worker: "w", Headers: map[string]string{traceparent: "x"},
	}
	h := http.Header{}
	identify(h, j)
	var want []string
	for name := range h {
		want = append(want, name)
	}
	for name := range identity(j) {
		want = append(want, name)
	}
	var got []string
	for _, row := range regexp.MustCompile("(?m)^\\|[^|]*\\|[^|`]*`(?:BIDE_|TRACEPARENT)[^|]*\\|").FindAllString(string(text), -1) {
		for _, m := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(row, -1) {
			got = append(got, m[1])
		}
	}
	slices.Sort(want)
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("the docs have %q, want %q", got, want)
	}
}
