//go:build unix

package bundled_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bide-go/bide/internal/timely"
	"github.com/bide-go/bide/job"
	"github.com/bide-go/bide/worker/bundled"
)

// shell is a job of exec that has a shell run a script.
func shell(script string, more map[string]any) *job.Job {
	args := map[string]any{"command": []string{"sh", "-c", script}}
	for name, value := range more {
		args[name] = value
	}
	text, _ := json.Marshal(args)
	return newJob("exec", string(text))
}

func execute(t *testing.T, ctx context.Context, j *job.Job) error {
	t.Helper()
	return registry(t, bundled.Options{AllowExec: true}).Run(ctx, j)
}

func TestExecEnds(t *testing.T) {
	for _, tt := range []struct {
		name   string
		script string
		more   map[string]any
		want   string // the error, empty for none
	}{
		{"well", "exit 0", nil, ""},
		{"well, whatever it says", "echo fine; echo odd >&2", nil, ""},
		{"with a status", "exit 3", nil, `"sh" ended with exit status 3 after 0s`},
		{"with a status and output", "echo one; echo two >&2; exit 1", nil, `"sh" ended with exit status 1 after 0s; the end of its output:` + "\none\ntwo"},
		{"by a signal", "kill -9 $$", nil, `"sh" ended with signal: killed after 0s`},
		{"with input", `test "$(cat)" = "a
b"`, map[string]any{"stdin": "a\nb\n"}, ""},
		{"without input", `test -z "$(cat)"`, nil, ""},
		{"with input that it does not read", "exit 0", map[string]any{"stdin": strings.Repeat("x", 1<<19)}, ""},
		{"in a folder", `test "$(pwd)" = /`, map[string]any{"dir": "/"}, ""},
		{"in no folder", "exit 0", map[string]any{"dir": "/no/such"}, `"sh" cannot be started: chdir /no/such: no such file or directory`},
		{"with a child that holds the output", "sleep 1000 & echo on my own; exit 4", nil, `"sh" ended with exit status 4 after 0s; the end of its output:` + "\non my own"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			err := execute(t, t.Context(), shell(tt.script, tt.more))
			switch {
			case err == nil || tt.want == "":
				if err != nil || tt.want != "" {
					t.Errorf("Run = %v, want %q", err, tt.want)
				}
			case untimed(err) != tt.want || job.IsPermanent(err):
				t.Errorf("Run = %q, want %q", err, tt.want)
			}
		})
	}

	err := execute(t, t.Context(), newJob("exec", `{"command":["bide-no-such-program"]}`))
	if err == nil || job.IsPermanent(err) || !strings.HasPrefix(err.Error(), `"bide-no-such-program" cannot be started: `) {
		t.Errorf("Run of no program = %v, want an error that can be retried elsewhere", err)
	}
}

// The end of the output is kept, all the way to its last byte, and nothing that
// storing the error would have to cut.
func TestExecKeepsTheEnd(t *testing.T) {
	for name, script := range map[string]string{
		"long":      "head -c 100000 /dev/zero | tr '\\0' x; echo; echo the last line; exit 1",
		"of binary": "head -c 100000 /dev/zero; echo; echo the last line; exit 1",
		"of wide":   "yes ééé | head -5000; echo the last line; exit 1",
	} {
		t.Run(name, func(t *testing.T) {
			err := execute(t, t.Context(), shell(script, nil))
			if err == nil {
				t.Fatal("Run = nil, want an error")
			}
			text := err.Error()
			if len(text) > job.MaxText || len(text) < job.MaxText-10 || !strings.HasSuffix(text, "\nthe last line") || !strings.HasPrefix(text, `"sh" ended with exit status 1 after `) {
				t.Errorf("the error has %d bytes, %.60q … %q", len(text), text, text[len(text)-30:])
			}
		})
	}
}

func TestExecEnvironment(t *testing.T) {
	t.Setenv("BUNDLED_TEST_INHERITED", "no")
	t.Setenv("BUNDLED_TEST_TOKEN", "s3cret")
	t.Setenv("BIDE_REDIS_URL", "redis://:password@example.com")
	out := filepath.Join(t.TempDir(), "env")
	env := func(j *job.Job) map[string]string {
		if err := execute(t, t.Context(), j); err != nil {
			t.Fatalf("Run = %v, want nil", err)
		}
		text, err := os.ReadFile(out)
		if err != nil {
			t.Fatal(err)
		}
		got := map[string]string{}
		for line := range strings.Lines(string(text)) {
			name, value, _ := strings.Cut(strings.TrimSpace(line), "=")
			got[name] = value
		}
		for _, own := range []string{"PWD", "OLDPWD", "SHLVL", "_"} { // the shell's
			delete(got, own)
		}
		return got
	}
	want := map[string]string{
		"PATH": os.Getenv("PATH"), "BIDE_JOB_ID": "j1", "BIDE_JOB_NAME": "exec", "BIDE_QUEUE": "", "BIDE_ATTEMPT": "1", "BIDE_MAX_ATTEMPTS": "0",
		"BIDE_TRIGGER": "", "BIDE_SCHEDULE": "", "BIDE_TICK": "", "BIDE_PREVIOUS_STATUS": "", "BIDE_WORKER": "", "TRACEPARENT": "",
	}
	if diff := cmp.Diff(want, env(shell("env >"+out, nil))); diff != "" {
		t.Errorf("environment of a plain job (-want +got):\n%s", diff)
	}

	j := shell("env >"+out, map[string]any{"env": map[string]any{
		"A": "b=c", "PATH": "/bin:/usr/bin", "TOKEN": map[string]string{"env": "BUNDLED_TEST_TOKEN", "prefix": "x-"},
	}})
	j.ID, j.Queue, j.Attempts, j.MaxAttempts, j.Trigger, j.Worker = "nightly@2026-12-01T00:30:00Z", "high", 1, 5, job.TriggerSchedule, "w-1"
	j.Schedule, j.Tick, j.PreviousStatus, j.FromDefinition = "nightly", time.Date(2026, 12, 1, 0, 30, 0, 0, time.UTC), job.Completed, true
	j.Headers = map[string]string{"traceparent": "00-a-b-01"}
	want = map[string]string{
		"A": "b=c", "PATH": "/bin:/usr/bin", "TOKEN": "x-s3cret",
		"BIDE_JOB_ID": "nightly@2026-12-01T00:30:00Z", "BIDE_JOB_NAME": "exec", "BIDE_QUEUE": "high", "BIDE_ATTEMPT": "2", "BIDE_MAX_ATTEMPTS": "5",
		"BIDE_TRIGGER": "schedule", "BIDE_SCHEDULE": "nightly", "BIDE_TICK": "2026-12-01T00:30:00Z", "BIDE_PREVIOUS_STATUS": "completed",
		"BIDE_WORKER": "w-1", "TRACEPARENT": "00-a-b-01",
	}
	if diff := cmp.Diff(want, env(j)); diff != "" {
		t.Errorf("environment of a schedule's run (-want +got):\n%s", diff)
	}
}

func TestExecSecrets(t *testing.T) {
	// So long that what is left of it when the output is cut does not fall to the
	// cut that makes room for the rest of the error.
	t.Setenv("BUNDLED_TEST_TOKEN", strings.Repeat("s3cret-of-mine-", 20))
	script := `echo "$TOKEN"; head -c 100 /dev/zero | tr '\0' x; head -c 4090 /dev/zero | tr '\0' y; exit 1`
	for name, script := range map[string]string{"as it is": `echo "it is $TOKEN" >&2; exit 1`, "cut": `printf %s "$TOKEN"; head -c 3946 /dev/zero | tr '\0' y; exit 1`, "gone": script} {
		t.Run(name, func(t *testing.T) {
			j := shell(script, map[string]any{"env": map[string]any{"TOKEN": map[string]string{"env": "BUNDLED_TEST_TOKEN"}}})
			err := execute(t, t.Context(), j)
			if !job.IsPermanent(err) || !strings.Contains(err.Error(), `field "env.TOKEN" refers to a secret`) {
				t.Errorf("Run of a job that is no schedule's = %v, want a permanent error", err)
			}
			j.FromDefinition = true
			err = execute(t, t.Context(), j)
			if err == nil || strings.Contains(err.Error(), "of-mine") || strings.Contains(err.Error(), "mine") {
				t.Errorf("Run = %v, want an error without the secret", err)
			}
			if name == "as it is" && !strings.HasSuffix(err.Error(), "\nit is <secret>") {
				t.Errorf("Run = %v, want a mark for the secret", err)
			}
		})
	}
}

// family is a script that writes its own number and that of a child to a file and
// waits, with the child ending on its own terms.
func family(t *testing.T, child, wait string) (script, file string) {
	file = filepath.Join(t.TempDir(), "family")
	return fmt.Sprintf(`sh -c %q & echo $$ $! >%[2]s.new; mv %[2]s.new %[2]s; %[3]s`, child, file, wait), file
}

// members waits for the numbers in a family's file.
func members(t *testing.T, file string) (list []int) {
	t.Helper()
	for deadline := time.Now().Add(patience); ; time.Sleep(5 * time.Millisecond) {
		text, err := os.ReadFile(file)
		if err == nil {
			for word := range strings.FieldsSeq(string(text)) {
				n, _ := strconv.Atoi(word)
				list = append(list, n)
			}
			return list
		}
		if time.Now().After(deadline) {
			t.Fatal("the command does not begin")
		}
	}
}

// alive reports whether a process still does anything. One that nobody has waited
// for does not, nor does one that has been killed, even if the kernel has not yet
// come to end it.
func alive(pid int) bool {
	if syscall.Kill(pid, 0) != nil {
		return false
	}
	if runtime.GOOS != "linux" {
		return true
	}
	const killed, exiting = 1 << (syscall.SIGKILL - 1), 0x4 // PF_EXITING of the kernel
	status, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	_, after, _ := bytes.Cut(status, []byte("\nSigPnd:\t"))
	line, _, _ := bytes.Cut(after, []byte("\n"))
	if pending, _ := strconv.ParseUint(string(line), 16, 64); pending&killed != 0 {
		return false
	}
	stat, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	_, after, _ = bytes.Cut(stat, []byte(") "))
	fields := bytes.Fields(after) // from the third on: state, ..., flags
	if len(fields) < 7 || bytes.ContainsAny(fields[0], "ZX") {
		return false
	}
	flags, _ := strconv.ParseUint(string(fields[6]), 10, 64)
	return flags&exiting == 0
}

// gone fails the test if a process goes on running.
func gone(t *testing.T, pids ...int) {
	t.Helper()
	for _, pid := range pids {
		for deadline := time.Now().Add(patience); alive(pid); time.Sleep(5 * time.Millisecond) {
			if time.Now().After(deadline) {
				t.Errorf("process %d is still there", pid)
				_ = syscall.Kill(pid, syscall.SIGKILL)
				break
			}
		}
	}
}

func TestExecInterrupted(t *testing.T) {
	const stubborn = "trap '' TERM; while :; do sleep 0.1; done"
	for _, tt := range []struct {
		name        string
		child, wait string
		cause       error
		least, most time.Duration // until it has ended
		want        string
	}{
		{"times out", "exec sleep 1000", "wait", job.ErrTimeout, 0, 4 * time.Second, "the attempt timed out (signal: terminated)"},
		{"is cancelled", "exec sleep 1000", "wait", job.ErrCancelled, 0, 4 * time.Second, "the job was cancelled (signal: terminated)"},
		{"loses its lease", "exec sleep 1000", "wait", job.ErrLeaseLost, 0, 4 * time.Second, "the lease on this job was lost (signal: terminated)"},
		{"cleans up", "exec sleep 1000", "trap 'echo cleaning; sleep 0.3; echo cleaned; exit 0' TERM; wait", job.ErrCancelled, 300 * time.Millisecond, 4 * time.Second,
			"the job was cancelled (exit status 0); the end of its output:\ncleaning\ncleaned"},
		{"has a child that cleans up", "trap 'sleep 0.5; echo child cleaned; exit' TERM; while :; do sleep 0.05; done", "wait", job.ErrCancelled, 500 * time.Millisecond, 4500 * time.Millisecond,
			"\nchild cleaned"},
		{"will not end", "exec sleep 1000", stubborn, job.ErrTimeout, 5 * time.Second, 7 * time.Second, "the attempt timed out (signal: killed)"},
		{"has a child that will not end", stubborn, "wait", job.ErrTimeout, 5 * time.Second, 7 * time.Second, "the attempt timed out (signal: terminated)"},
		{"is given back", "exec sleep 1000", "wait", job.ErrShutdown, 0, time.Second, "the worker is shutting down (signal: killed)"},
		{"is given back and will not end", stubborn, stubborn, job.ErrShutdown, 0, time.Second, "the worker is shutting down (signal: killed)"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			script, file := family(t, tt.child, tt.wait)
			ctx, cancel := context.WithCancelCause(context.Background())
			done := make(chan error, 1)
			go func() { done <- execute(t, ctx, shell(script, nil)) }()
			pids := members(t, file)
			time.Sleep(200 * time.Millisecond) // traps take a moment to be set
			start := time.Now()
			cancel(tt.cause)
			err := <-done
			took := time.Since(start)
			for _, pid := range pids {
				if alive(pid) {
					t.Errorf("process %d outlives its attempt", pid)
				}
			}
			if !errors.Is(err, tt.cause) || !strings.HasSuffix(err.Error(), tt.want) {
				t.Errorf("Run = %v, want the cause %v and %q at the end", err, tt.cause, tt.want)
			}
			if took < tt.least || took > timely.Limit(tt.most+2*time.Second) {
				t.Errorf("it ended after %v, want %v to %v", took, tt.least, tt.most)
			}
			gone(t, pids...)
		})
	}
}

// What a command leaves running goes when it ends.
func TestExecLeavesNothing(t *testing.T) {
	script, file := family(t, "exec sleep 1000", "exit 0")
	if err := execute(t, t.Context(), shell(script, nil)); err != nil {
		t.Errorf("Run = %v, want nil", err)
	}
	gone(t, members(t, file)...)
}

// A child that has left the process group holds the output and delays nobody for
// long.
func TestExecWithAProcessBeyondReach(t *testing.T) {
	file := filepath.Join(t.TempDir(), "pid")
	j := shell("setsid sh -c 'echo $$ >"+file+"; exec sleep 1000' & while ! test -s "+file+"; do sleep 0.01; done; echo hi; exit 1", nil)
	start := time.Now()
	err := execute(t, t.Context(), j)
	if err == nil || !strings.HasSuffix(err.Error(), "\nhi") || time.Since(start) > timely.Limit(15*time.Second) {
		t.Errorf("Run = %v after %v, want the output soon", err, time.Since(start))
	}
	for _, pid := range members(t, file) {
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
}

func TestExecMany(t *testing.T) {
	reg := registry(t, bundled.Options{AllowExec: true})
	errs := make(chan error)
	for i := range 40 {
		go func() { errs <- reg.Run(t.Context(), shell(fmt.Sprintf("exit %d", i%2*7), nil)) }()
	}
	failed := 0
	for range 40 {
		if err := <-errs; err != nil {
			failed++
		}
	}
	if failed != 20 {
		t.Errorf("%d commands failed, want 20", failed)
	}
}
