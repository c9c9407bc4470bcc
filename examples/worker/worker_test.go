package main

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/bide-go/bide/internal/redistest"
	"github.com/bide-go/bide/internal/timely"
	"github.com/bide-go/bide/job"
	"github.com/bide-go/bide/scheduler"
)

// mainEnv has the test binary be the example.
const mainEnv = "WORKER_TEST_MAIN"

func TestMain(m *testing.M) {
	if os.Getenv(mainEnv) != "" {
		main()
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// process is the example as a process.
type process struct {
	*testing.T
	*exec.Cmd
	*redistest.Server
	*scheduler.Client
	rdb  *redis.Client
	out  output
	done chan error
}

// output collects what a process prints. It is safe for concurrent use.
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

func start(t *testing.T, s *redistest.Server) *process {
	p := &process{T: t, Server: s, rdb: s.Client(), done: make(chan error, 1)}
	p.Client = scheduler.NewClient(p.rdb)
	p.Cmd = exec.Command(os.Args[0])
	p.Env = append(os.Environ(), mainEnv+"=1", "REDIS_URL="+s.URL())
	p.Stdout, p.Stderr = &p.out, &p.out
	p.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { p.done <- p.Wait() }()
	t.Cleanup(func() { _ = p.Process.Kill() })
	p.prints("working")
	return p
}

func (p *process) eventually(what string, ok func() bool) {
	p.Helper()
	for deadline := time.Now().Add(30 * time.Second); !ok(); time.Sleep(5 * time.Millisecond) { // Redis tells nobody
		if time.Now().After(deadline) {
			p.Fatalf("not within 30s: %s; it printed\n%s", what, p.out.String())
		}
	}
}

func (p *process) prints(text string) {
	p.Helper()
	p.eventually("print "+text, func() bool { return strings.Contains(p.out.String(), text) })
}

func (p *process) add(name string, args any, id string, opts ...scheduler.Option) {
	p.Helper()
	if _, err := p.Execute(context.Background(), "high", name, args, append(opts, scheduler.WithID(id), scheduler.WithRetention(time.Hour))...); err != nil {
		p.Fatal(err)
	}
}

func (p *process) state(id string) job.State {
	j, err := p.Get(context.Background(), id)
	if err != nil {
		p.Fatal(err)
	}
	return j.State
}

func (p *process) ends(id string, state job.State) {
	p.Helper()
	p.eventually(id+" is "+string(state), func() bool { return p.state(id) == state })
}

func (p *process) signal(s os.Signal) {
	if err := p.Process.Signal(s); err != nil {
		p.Fatal(err)
	}
}

// stops waits for a good end and returns how long it took.
func (p *process) stops() time.Duration {
	p.Helper()
	from := time.Now()
	select {
	case err := <-p.done:
		if err != nil {
			p.Errorf("it ended with %v\n%s", err, p.out.String())
		}
	case <-time.After(30 * time.Second):
		p.Fatalf("it does not stop\n%s", p.out.String())
	}
	return time.Since(from)
}

func TestHandlers(t *testing.T) {
	t.Parallel()
	p := start(t, redistest.NewReal(t))
	ctx := context.Background()
	p.rdb.Set(ctx, "example:balance:ana", 1000, 0)

	p.add("send-email", Mail{"ana@example.com", "Hello"}, "good")
	p.add("send-email", Mail{"nowhere", "Hello"}, "no-address")
	p.add("send-email", []int{1}, "no-mail")
	p.add("charge", map[string]any{"account": "ana", "cents": 250}, "charge", scheduler.WithBackoff(10*time.Millisecond, 20*time.Millisecond))
	p.add("call-partner", nil, "partner")
	p.add("report", map[string]int{"pages": 2}, "report")

	p.ends("good", job.Completed)
	p.prints("e-mail to ana@example.com: Hello")
	p.prints("send-email good, attempt 1 of 4: done")
	for id, why := range map[string]string{"no-address": "is no address", "no-mail": "args of"} {
		p.ends(id, job.Dead)
		if j, err := p.Get(ctx, id); err != nil || j.Reason != job.ReasonPermanent || !strings.Contains(j.LastError(), why) {
			t.Errorf("%s: %+v, %v; want it dead for good because it %s", id, j, err, why)
		}
	}
	p.ends("charge", job.Completed)
	p.prints("charge charge, attempt 2 of 4: done")
	if got := p.rdb.Get(ctx, "example:balance:ana").Val(); got != "750" {
		t.Errorf("ana has %s cents after two attempts, want 750", got)
	}
	p.ends("partner", job.Completed)
	if j, err := p.Get(ctx, "partner"); err != nil || j.Attempts != 1 {
		t.Errorf("partner: %+v, %v; want a second attempt", j, err)
	} else if pause := j.Due.Sub(j.Errors[0].At); pause < 500*time.Millisecond || pause > 502*time.Millisecond {
		t.Errorf("partner: the pause was %v, want 500ms", pause)
	}
	p.ends("report", job.Completed)

	// A cancelled report stops at a page.
	p.add("report", map[string]int{"pages": 1000}, "endless")
	p.ends("endless", job.Active)
	if _, err := p.Client.Cancel(ctx, "endless"); err != nil {
		t.Fatal(err)
	}
	p.ends("endless", job.Cancelled)
	p.prints(": " + job.ErrCancelled.Error())

	p.signal(syscall.SIGTERM)
	p.stops()
	p.prints("draining")
	p.prints("stopped")
}

// At the first signal running jobs may finish.
func TestDrain(t *testing.T) {
	t.Parallel()
	p := start(t, redistest.NewReal(t))
	p.add("report", map[string]int{"pages": 10}, "report")
	p.prints("report report, attempt 1 of 4: started")
	p.signal(os.Interrupt)
	p.prints("draining")
	p.add("send-email", Mail{"ana@example.com", "Hello"}, "late")
	p.stops()
	if report, late := p.state("report"), p.state("late"); report != job.Completed || late != job.Waiting {
		t.Errorf("the running report is %s and the late mail %s, want them completed and waiting", report, late)
	}
}

// At the second signal they are given back, and the next process runs them.
func TestGiveBack(t *testing.T) {
	t.Parallel()
	s := redistest.NewReal(t)
	p := start(t, s)
	p.add("report", map[string]int{"pages": 30}, "report")
	p.prints("report report, attempt 1 of 4: started")
	p.signal(syscall.SIGTERM)
	p.prints("draining")
	p.signal(syscall.SIGTERM)
	if took := p.stops(); took > timely.Limit(4*time.Second) {
		t.Errorf("it took %v to stop, want it at once", took)
	}
	if j, err := p.Get(context.Background(), "report"); err != nil || j.State != job.Waiting || j.Attempts != 0 || j.Lost != 0 {
		t.Errorf("report: %+v, %v; want it waiting, with nothing counted", j, err)
	}
	next := start(t, s)
	next.ends("report", job.Completed)
	next.signal(syscall.SIGTERM)
	next.stops()
}

func TestBadAddress(t *testing.T) {
	t.Parallel()
	err := run("http://u:secret@x", nil, new(bytes.Buffer))
	if err == nil || strings.Contains(err.Error(), "secret") || errors.Is(err, context.Canceled) {
		t.Errorf("%v, want an error without the password", err)
	}
}
