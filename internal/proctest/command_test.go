package proctest

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/bide-go/bide/internal/timely"
	"github.com/bide-go/bide/job"
)

// command adds a job whose command has a child and a grandchild, all of which
// ignore what they can, and returns their process numbers.
func (r *rig) command() (id string, pids []int) {
	r.t.Helper()
	file := filepath.Join(r.t.TempDir(), "pids")
	script := fmt.Sprintf(`trap '' TERM HUP; sh -c 'sleep 1000 & echo $$ $! >%[1]s.new; wait' & sleep 0.1
while ! test -s %[1]s.new; do sleep 0.01; done; echo $$ >>%[1]s.new; mv %[1]s.new %[1]s; while :; do sleep 1; done`, file)
	id = r.add("exec", map[string]any{"command": []string{"sh", "-c", script}})
	for deadline := time.Now().Add(patience); ; time.Sleep(5 * time.Millisecond) {
		text, err := os.ReadFile(file)
		if err == nil {
			for word := range strings.FieldsSeq(string(text)) {
				pid, _ := strconv.Atoi(word)
				pids = append(pids, pid)
			}
			r.t.Cleanup(func() {
				for _, pid := range pids {
					if alive(pid) {
						_ = syscall.Kill(pid, syscall.SIGKILL)
					}
				}
			})
			return id, pids
		}
		if time.Now().After(deadline) {
			r.t.Fatal("the command does not begin")
		}
	}
}

// alive reports whether a process runs. One that nobody has waited for does not.
func alive(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false
	}
	_, after, _ := bytes.Cut(stat, []byte(") "))
	return !bytes.HasPrefix(after, []byte("Z")) && !bytes.HasPrefix(after, []byte("X"))
}

// allGone fails the test if one of the processes outlives the instant since by
// more than a moment.
func allGone(t *testing.T, pids []int, since time.Time) {
	t.Helper()
	for _, pid := range pids {
		for deadline := time.Now().Add(patience); alive(pid); time.Sleep(time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatalf("process %d of the command %v outlives its worker", pid, pids)
			}
		}
	}
	timely.Check(t, "end of the command", time.Since(since), slack)
}

// A command and all that it has started die with a worker that is killed.
func TestKilledWorkerTakesItsCommandAlong(t *testing.T) {
	r := newRig(t)
	for range 5 {
		p := r.worker(settings{})
		id, pids := r.command()
		p.kill()
		allGone(t, pids, p.at)
		if _, err := r.Cancel(r.ctx(), id); err != nil {
			t.Fatal(err)
		}
	}
}

// A command is killed before its job can start elsewhere, although it would have
// had longer to end if it had been cancelled.
func TestDrainingWorkerEndsItsCommand(t *testing.T) {
	r := newRig(t)
	first := r.worker(settings{Grace: 300 * time.Millisecond})
	id, pids := r.command()
	first.signal(syscall.SIGTERM)
	first.want("stopping", "")
	first.ends()
	allGone(t, pids, first.at)
	if j := r.get(id); j.State != job.Waiting || j.Attempts != 0 || j.Lost != 0 {
		t.Errorf("job = %+v, want it given back with nothing counted", j)
	}
}

// A command may end within the grace period.
func TestDrainingWorkerWaitsForItsCommand(t *testing.T) {
	r := newRig(t)
	file := filepath.Join(t.TempDir(), "begun")
	first := r.worker(settings{Grace: time.Minute})
	id := r.add("exec", map[string]any{"command": []string{"sh", "-c", "echo >" + file + "; sleep 1"}})
	for deadline := time.Now().Add(patience); ; time.Sleep(5 * time.Millisecond) {
		if _, err := os.Stat(file); err == nil {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("the command does not begin")
		}
	}
	first.signal(syscall.SIGTERM)
	first.want("stopping", "")
	first.ends()
	if j := r.get(id); j.State != job.Completed || j.Attempts != 0 {
		t.Errorf("job = %+v, want it completed", j)
	}
}
