package app

import (
	"context"
	"strings"
	"testing"
	"time"
)

// A process tells the others when its files are not in effect as they stand.
func TestFilesAmissAreTold(t *testing.T) {
	t.Parallel()
	for _, roles := range [][]string{Roles, {"scheduler"}} {
		t.Run(strings.Join(roles, " "), func(t *testing.T) {
			t.Parallel()
			r := mini(t)
			r.opts.Roles = roles
			r.write(twoGood)
			r.serve()
			wantApplied(t, r, "one", "two")
			tells := func(want string) {
				t.Helper()
				eventually(t, inEffect+10*time.Second, "told: "+want, func() bool {
					live, err := r.Scripts().Workers(context.Background())
					if err != nil || len(live) != 1 {
						return false
					}
					got, known := live[0].Fields["files"]
					return known && strings.HasPrefix(got, want) && (want != "" || got == "")
				})
			}
			tells("")
			r.write(oneBad)
			tells("bad entries keep their last good definition: new-and-bad, one; ")
			r.write(noYAML)
			tells("refused as a whole: ")
			r.write(twoGood)
			tells("")
		})
	}
}
