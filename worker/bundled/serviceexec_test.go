//go:build unix

package bundled_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/bide-go/bide/job"
	"github.com/bide-go/bide/scheduler"
	"github.com/bide-go/bide/worker/bundled"
)

func TestExecInService(t *testing.T) {
	s := newService(t, bundled.Options{AllowExec: true})

	id := s.add("exec", `{"command":["sh","-c","echo out of order; exit $BIDE_ATTEMPT"]}`, scheduler.WithMaxAttempts(2), scheduler.WithBackoff(time.Millisecond, time.Millisecond))
	first, second := s.next(), s.next()
	j := s.get(id)
	if first.State != job.Delayed || second.State != job.Dead || j.Reason != job.ReasonAttempts || !strings.Contains(j.LastError(), "exit status 2") || !strings.HasSuffix(j.LastError(), "\nout of order") {
		t.Errorf("outcomes %+v, %+v, job %+v, want two attempts and the output", first, second, j)
	}

	// A command that does not heed SIGTERM has its time, and its error is kept all
	// the same.
	id = s.add("exec", `{"command":["sh","-c","trap '' TERM; echo stuck; while :; do sleep 1; done"]}`, scheduler.WithTimeout(500*time.Millisecond), scheduler.WithMaxAttempts(1))
	if o, j := s.next(), s.get(id); o.State != job.Dead || j.Errors[0].Kind != job.KindTimeout || !strings.HasSuffix(j.LastError(), "(signal: killed); the end of its output:\nstuck") {
		t.Errorf("outcome %+v, job %+v, want it timed out with its output", o, j)
	}

	script, file := family(t, "exec sleep 1000", "wait")
	id = s.add("exec", fmt.Sprintf(`{"command":["sh","-c",%q]}`, script))
	pids := members(t, file)
	if _, err := s.Cancel(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	if o, j := s.next(), s.get(id); o.State != job.Cancelled || j.State != job.Cancelled {
		t.Errorf("outcome %+v, job %+v, want it cancelled", o, j)
	}
	gone(t, pids...)
}
