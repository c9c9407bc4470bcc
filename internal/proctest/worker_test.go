package proctest

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/bide-go/bide/dispatcher"
	"github.com/bide-go/bide/job"
	"github.com/bide-go/bide/promoter"
	"github.com/bide-go/bide/worker"
	"github.com/bide-go/bide/worker/bundled"
)

// workerEnv holds the settings of a worker process, as JSON.
const workerEnv = "BIDE_TEST_WORKER"

// settings of a worker process.
type settings struct {
	Addr        string
	Lease       time.Duration
	Grace       time.Duration
	MaxLost     int
	Concurrency int
}

// event is a line that a worker process writes.
type event struct {
	What    string // ready, start, lost, interrupted, end
	ID      string
	Attempt int
	Lost    int
	at      time.Time // when the test read it
}

// beWorker is the main function of a worker process. Standard input releases its
// handlers: each line is the id of a job that may end.
func beWorker() int {
	var s settings
	if err := json.Unmarshal([]byte(os.Getenv(workerEnv)), &s); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 3
	}
	var mu sync.Mutex
	say := func(what string, j *job.Job) {
		mu.Lock()
		defer mu.Unlock()
		line, _ := json.Marshal(event{What: what, ID: j.ID, Attempt: j.Attempt(), Lost: j.Lost})
		_, _ = os.Stdout.Write(append(line, '\n'))
	}
	released := make(chan struct{})
	go func() {
		in := bufio.NewScanner(os.Stdin)
		if in.Scan() {
			close(released)
		}
	}()

	reg := worker.NewRegistry()
	bundled.Register(reg, bundled.Options{AllowExec: true})
	reg.Handle("quick", func(_ context.Context, j *job.Job) error { say("start", j); return nil })
	reg.Handle("sleep", func(ctx context.Context, j *job.Job) error {
		say("start", j)
		var d time.Duration
		if err := json.Unmarshal(j.Args, &d); err != nil {
			return err
		}
		select {
		case <-time.After(d):
			say("end", j)
			return nil
		case <-ctx.Done():
			say("interrupted", j)
			return ctx.Err()
		}
	})
	reg.Handle("kill", func(_ context.Context, j *job.Job) error {
		say("start", j)
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		select {}
	})
	// hold ignores its context, and says when it ends and why.
	reg.Handle("hold", func(ctx context.Context, j *job.Job) error {
		say("start", j)
		select {
		case <-released:
			say("end", j)
			return nil
		case <-ctx.Done():
		}
		if errors.Is(context.Cause(ctx), job.ErrLeaseLost) {
			say("lost", j)
		} else {
			say("interrupted", j)
		}
		<-released
		say("end", j)
		return nil
	})

	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	rdb := redis.NewClient(&redis.Options{Addr: s.Addr})
	d := dispatcher.New(rdb, reg, dispatcher.Config{Lease: s.Lease, Grace: s.Grace, MaxLost: s.MaxLost, Concurrency: s.Concurrency})
	signals := make(chan os.Signal, 4)
	signal.Notify(signals, syscall.SIGTERM)
	go func() {
		<-signals
		say("stopping", &job.Job{})
		cancel()
		<-signals
		d.Abort()
	}()
	go func() { _ = promoter.New(rdb, promoter.Config{}).Run(ctx) }()
	say("ready", &job.Job{})
	if err := d.Run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// patience is how long a test waits for what must happen. It is no promise of the
// service: where one is tested, the test measures it.
const patience = 30 * time.Second

// process is a running worker process.
type process struct {
	t      testing.TB
	cmd    *exec.Cmd
	in     interface{ Write([]byte) (int, error) }
	events chan event
	exited chan struct{}
	at     time.Time // of the exit; set before exited
	err    error
}

// start runs a worker process until the end of the test.
func start(t testing.TB, s settings) *process {
	t.Helper()
	text, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe)
	// The race detector would hold up each exit for a second.
	cmd.Env = append(os.Environ(), workerEnv+"="+string(text), "GORACE="+strings.TrimSpace(os.Getenv("GORACE")+" atexit_sleep_ms=0"))
	cmd.Stderr = os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	p := &process{t: t, cmd: cmd, in: in, events: make(chan event, 10_000), exited: make(chan struct{})}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		lines := bufio.NewScanner(out)
		for lines.Scan() {
			e := event{}
			if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
				continue // what the test binary itself may say
			}
			e.at = time.Now()
			p.events <- e
		}
		p.err = cmd.Wait()
		p.at = time.Now()
		close(p.exited)
	}()
	t.Cleanup(p.kill)
	p.want("ready", "")
	return p
}

func (p *process) signal(s syscall.Signal) {
	p.t.Helper()
	if err := p.cmd.Process.Signal(s); err != nil {
		p.t.Errorf("signal %v: %v", s, err)
	}
}

// kill ends the process as a crash would, wherever it is.
func (p *process) kill() {
	_ = p.cmd.Process.Kill()
	<-p.exited
}

// release lets the handlers that hold go on.
func (p *process) release() {
	p.t.Helper()
	if _, err := p.in.Write([]byte("go\n")); err != nil {
		p.t.Error(err)
	}
}

// next is the next thing that the process says.
func (p *process) next() event {
	p.t.Helper()
	select {
	case e := <-p.events:
		return e
	case <-time.After(patience):
		p.t.Fatal("the process says nothing")
		return event{}
	}
}

func (p *process) want(what, id string) event {
	p.t.Helper()
	e := p.next()
	if e.What != what || e.ID != id {
		p.t.Fatalf("the process says %+v, want %s %s", e, what, id)
	}
	return e
}

// silent fails the test if the process says anything for a while.
func (p *process) silent(d time.Duration) {
	p.t.Helper()
	select {
	case e := <-p.events:
		p.t.Errorf("the process says %+v, want nothing", e)
	case <-time.After(d):
	}
}

// ends waits for the process to end by itself, well.
func (p *process) ends() {
	p.t.Helper()
	select {
	case <-p.exited:
		if p.err != nil {
			p.t.Errorf("the process ended with %v, want status 0", p.err)
		}
	case <-time.After(patience):
		p.t.Fatal("the process does not end")
	}
}
