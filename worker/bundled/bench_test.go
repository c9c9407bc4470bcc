//go:build unix

package bundled_test

import (
	"testing"

	"github.com/bide-go/bide/worker"
	"github.com/bide-go/bide/worker/bundled"
)

// What a command costs beyond itself: its guard, its pipes, its group.
func BenchmarkExec(b *testing.B) {
	reg := worker.NewRegistry()
	bundled.Register(reg, bundled.Options{AllowExec: true})
	j := newJob("exec", `{"command":["true"]}`)
	for b.Loop() {
		if err := reg.Run(b.Context(), j); err != nil {
			b.Fatal(err)
		}
	}
}
