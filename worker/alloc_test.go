//go:build !race

package worker_test

import (
	"testing"

	"github.com/bide-go/bide/job"
	"github.com/bide-go/bide/worker"
)

func TestRunAllocatesLittle(t *testing.T) {
	reg := worker.NewRegistry()
	reg.Use(passOn, passOn, passOn)
	reg.Handle("nothing", nothing)
	j := &job.Job{Name: "nothing"}
	ctx := t.Context()
	got := testing.AllocsPerRun(1000, func() {
		if err := reg.Run(ctx, j); err != nil {
			t.Fatal(err)
		}
	})
	// The context, the attempt, and the go statement's function.
	if got > 3 {
		t.Errorf("Run makes %v allocations, want at most 3", got)
	}
}
