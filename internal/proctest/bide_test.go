package proctest

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/bide-go/bide/job"
	"github.com/bide-go/bide/scheduler"
)

// buildDir is where built is, empty before that.
var buildDir string

// built is the program itself, as it is released, made once for all tests.
var built = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "bide")
	if err != nil {
		return "", err
	}
	buildDir = dir
	path := filepath.Join(dir, "bide")
	cmd := exec.Command("go", "build", "-trimpath", "-o", path, strings.TrimSuffix(module, "/"))
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if text, err := cmd.CombinedOutput(); err != nil {
		return path, fmt.Errorf("go build: %w\n%s", err, text)
	}
	return path, nil
})

// program is the path of bide.
func program(t testing.TB) string {
	t.Helper()
	path, err := built()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// output is what a process writes. It is safe for concurrent use.
type output struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buf.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buf.String()
}

// bide prepares the program with nothing of the environment but the path.
func (r *rig) bide(args ...string) (*exec.Cmd, *output) {
	r.t.Helper()
	out := &output{}
	cmd := exec.Command(program(r.t), args...)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "BIDE_REDIS_URL=" + r.URL()}
	cmd.Dir = r.t.TempDir()
	cmd.Stdout, cmd.Stderr = out, out
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	return cmd, out
}

// commandEnds runs a short command, which must end with code, and returns what it said.
func (r *rig) commandEnds(code int, args ...string) string {
	r.t.Helper()
	cmd, out := r.bide(args...)
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		r.t.Fatal(err)
	}
	if got := cmd.ProcessState.ExitCode(); got != code {
		r.t.Fatalf("bide %s: exit code %d, want %d\n%s", strings.Join(args, " "), got, code, out)
	}
	return out.String()
}

// service is a running bide serve.
type service struct {
	t      testing.TB
	cmd    *exec.Cmd
	out    *output
	exited chan struct{}
}

// serve runs roles until the end of the test.
func (r *rig) serve(roles string, args ...string) *service {
	r.t.Helper()
	cmd, out := r.bide(append([]string{"serve", "--roles", roles, "--allow-exec"}, args...)...)
	if err := cmd.Start(); err != nil {
		r.t.Fatal(err)
	}
	s := &service{t: r.t, cmd: cmd, out: out, exited: make(chan struct{})}
	go func() {
		_ = cmd.Wait() // the exit code is in its state
		close(s.exited)
	}()
	r.t.Cleanup(func() {
		s.kill()
		if r.t.Failed() {
			r.t.Logf("roles %s, process %d said:\n%s", roles, cmd.Process.Pid, out)
		}
	})
	return s
}

func (s *service) kill() {
	_ = s.cmd.Process.Kill()
	<-s.exited
}

func (s *service) signal(sig syscall.Signal) {
	s.t.Helper()
	if err := s.cmd.Process.Signal(sig); err != nil {
		s.t.Error(err)
	}
}

// stop drains it.
func (s *service) stop() {
	s.t.Helper()
	s.signal(syscall.SIGTERM)
	select {
	case <-s.exited:
		if code := s.cmd.ProcessState.ExitCode(); code != 0 {
			s.t.Errorf("it ended with %d", code)
		}
	case <-time.After(patience):
		s.t.Fatal("it does not end")
	}
}

// write makes a schedules file with these entries, in place of the one at path if
// there is one.
func write(t testing.TB, path, entries string) string {
	t.Helper()
	if path == "" {
		path = filepath.Join(t.TempDir(), "schedules.yaml")
	}
	// Nobody reads half a file.
	if err := os.WriteFile(path+".new", []byte("version: 1\nschedules:\n"+entries), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(path+".new", path); err != nil {
		t.Fatal(err)
	}
	return path
}

// eventually polls ok until it holds.
func (r *rig) eventually(what string, ok func() bool) {
	r.t.Helper()
	for deadline := time.Now().Add(patience); !ok(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			r.t.Fatalf("not within %v: %s", patience, what)
		}
	}
}

// status is that of an applied schedule, zero if there is none of the name yet.
func (r *rig) status(name string) scheduler.Status {
	r.t.Helper()
	l, err := r.schedules.List(r.ctx())
	if err != nil {
		r.t.Fatal(err)
	}
	for _, s := range l.Schedules {
		if s.Definition.Name == name {
			return s
		}
	}
	return scheduler.Status{}
}

// runs are the kept records of a schedule with one of these outcomes, oldest first;
// none if it is not applied yet.
func (r *rig) runs(name string, outcomes ...scheduler.Outcome) []scheduler.Run {
	r.t.Helper()
	page, err := r.schedules.History(r.ctx(), name, scheduler.HistoryFilter{Limit: 1000})
	if err != nil && !errors.Is(err, job.ErrNotFound) {
		r.t.Fatal(err)
	}
	var found []scheduler.Run
	for _, run := range page.Runs {
		for _, o := range outcomes {
			if run.Outcome == o {
				found = append([]scheduler.Run{run}, found...)
			}
		}
	}
	return found
}

// now is Redis' time.
func (r *rig) now() time.Time {
	r.t.Helper()
	l, err := r.schedules.List(r.ctx())
	if err != nil {
		r.t.Fatal(err)
	}
	return l.Now
}
