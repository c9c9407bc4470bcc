package proctest

import (
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/bide-go/bide/internal/timely"
	"github.com/bide-go/bide/job"
	"github.com/bide-go/bide/scheduler"
)

// Under Forbid an open run keeps others from starting: through an edit, while it
// pauses between attempts, and for as long as nobody can know that its worker is
// dead, but no longer.
func TestOpenRunsKeepOthersOut(t *testing.T) {
	r := newRig(t)
	const lease = time.Second
	entries := `
  guarded:
    schedule: "@every 1s"
    job: exec
    args: { command: [sh, -c, %q] }
  failing:
    schedule: "@yearly"
    retry: { minBackoff: 10m }
    job: exec
    args: { command: ["false"] }
`
	file := write(t, "", fmt.Sprintf(entries, "sleep 1000"))
	sched := r.serve("scheduler", "--file", file)
	worker := func() *service {
		return r.serve("promoter,worker", "--lease", lease.String(), "--max-lost", "1")
	}
	doomed := worker()
	begun := func() bool {
		return len(r.runs("guarded", active)) == 1
	}
	r.eventually("a run has begun", func() bool { return r.status("guarded").Running == 1 && begun() })
	open := r.runs("guarded", active)[0]
	other := worker()

	write(t, file, fmt.Sprintf(entries, "true"))
	sched.signal(syscall.SIGHUP)
	r.eventually("the edit is applied", func() bool { return strings.Contains(string(r.status("guarded").Definition.Args), "true") })
	skipped := r.status("guarded").Skipped
	r.eventually("ticks are skipped", func() bool { return r.status("guarded").Skipped >= skipped+2 })
	if all := r.runs("guarded", "waiting", "delayed", active, completed, "dead"); len(all) != 1 || all[0].ID != open.ID {
		t.Errorf("beside the open run %s: %+v", open.ID, all)
	}

	failing, err := r.schedules.Run(r.ctx(), "failing", scheduler.RunOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if j := r.becomes(failing.ID, job.Delayed); j.Attempts != 1 {
		t.Errorf("job = %+v, want it to pause after one attempt", j)
	}
	second, err := r.schedules.Run(r.ctx(), "failing", scheduler.RunOptions{})
	if err != nil || second.State != job.Skipped || r.status("failing").Running != 1 {
		t.Errorf("while a run pauses another one is %+v, %v; open: %d", second, err, r.status("failing").Running)
	}

	doomed.kill()
	killed := r.now()
	r.eventually("another run has completed", func() bool { return len(r.runs("guarded", completed)) > 0 })
	next := r.runs("guarded", completed)[0]
	timely.Check(t, "the next run after the kill", next.Started.Sub(killed), lease*3/2+time.Second+slack)
	if lost := r.runs("guarded", "dead"); len(lost) != 1 || lost[0].ID != open.ID || lost[0].Reason != job.ReasonLost {
		t.Errorf("dead: %+v, want %s alone, for the lease it lost", lost, open.ID)
	}
	sched.stop()
	other.stop()
}

// What an operator has paused stays so whatever happens to processes and files, and
// bad entries hold up no good ones.
func TestAPauseOutlivesRestartAndReload(t *testing.T) {
	r := newRig(t)
	entries := `
  s: { schedule: "* * * * * *", catchUp: All, job: log, args: { message: %s } }
  other: { schedule: %q, job: log, args: { message: other } }
`
	hourly, bad := "0 * * * *", "61 * * * *"
	file := write(t, "", fmt.Sprintf(entries, "first", bad))

	// At a start one bad entry is fatal, and in apply.
	serve := []string{"serve", "--roles", "scheduler,promoter,worker", "--file", file}
	if said := r.commandEnds(3, serve...); !strings.Contains(said, "error E010") {
		t.Errorf("serve said: %s", said)
	}
	if l, err := r.schedules.List(r.ctx()); err != nil || len(l.Schedules) != 0 || !l.AppliedAt.IsZero() {
		t.Errorf("after a refused start: %+v, %v", l, err)
	}
	write(t, file, fmt.Sprintf(entries, "first", hourly))
	all := r.serve("scheduler,promoter,worker", "--file", file)
	r.eventually("a tick ran", func() bool { return len(r.runs("s", completed)) > 0 })
	r.commandEnds(0, "schedules", "pause", "s", "--reason", "the bank is closed")
	pause := *r.status("s").Pause
	time.Sleep(time.Until(r.now().Truncate(time.Second).Add(3 * time.Second / 2))) // between ticks: no run is open
	all.kill()
	all = r.serve("scheduler,promoter,worker", "--file", file)
	r.eventually("it is back", func() bool { return strings.Contains(all.out.String(), "schedules are as applied") })

	write(t, file, fmt.Sprintf(entries, "second", bad))
	all.signal(syscall.SIGHUP)
	r.eventually("the good entry is applied", func() bool { return strings.Contains(string(r.status("s").Definition.Args), "second") })
	if !strings.Contains(all.out.String(), "error E010") {
		t.Errorf("the bad entry is not told: %s", all.out)
	}
	if said := r.commandEnds(3, "apply", file); !strings.Contains(said, "error E010") {
		t.Errorf("apply said: %s", said)
	}
	if other := r.status("other"); len(other.Definition.Schedule) != 1 || other.Definition.Schedule[0] != hourly {
		t.Errorf("the bad entry is applied: %+v", other)
	}
	r.commandEnds(0, "schedules", "run", "s", "--wait")
	missed := r.status("s").Missed
	r.eventually("ticks pass", func() bool { return r.status("s").Missed >= missed+2 })
	if got := r.status("s"); got.State != scheduler.SchedulePaused || got.Pause == nil || *got.Pause != pause {
		t.Errorf("status %+v with pause %+v, want %+v", got, got.Pause, pause)
	}

	until := r.now()
	r.commandEnds(0, "schedules", "resume", "s")
	resumed := r.now()
	r.eventually("it goes on", func() bool {
		runs := r.runs("s", completed)
		return runs[len(runs)-1].Tick.After(resumed.Add(time.Second))
	})
	all.stop()
	manual := 0
	for _, run := range r.runs("s", completed) {
		switch {
		case run.Trigger == job.TriggerManual:
			manual++
		case run.Tick.After(pause.At) && !run.Tick.After(until):
			t.Errorf("%v ran although it was paused", run.Tick)
		}
	}
	if manual != 1 {
		t.Errorf("%d runs by hand completed, want 1", manual)
	}
	want := int(until.Truncate(time.Second).Sub(pause.At.Truncate(time.Second)) / time.Second)
	if got := r.status("s").Missed; got < want || got > want+1 { // one may fall between until and the resumption
		t.Errorf("%d ticks of the pause are counted, want %d", got, want)
	}
}
