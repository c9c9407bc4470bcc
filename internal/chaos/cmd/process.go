package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/bide-go/bide/internal/chaos"
)

// slot is a process that is started again whenever it has ended, as a supervisor
// does.
type slot struct {
	h    *harness
	name string // also the name of its connections, behind "faultnet-"
	role string
	// start returns the command of a new incarnation.
	start func(proc string) *exec.Cmd

	mu       sync.Mutex
	proc     string // the incarnation: name.number
	n        int
	cmd      *exec.Cmd
	busy     bool // a fault has it
	retired  bool // not started again
	gone     chan struct{}
	restarts int
}

func (s *slot) conn() string { return "faultnet-" + s.name }

// supervise keeps the slot's process alive until it is retired.
func (s *slot) supervise() {
	for {
		s.mu.Lock()
		if s.retired {
			s.mu.Unlock()
			return
		}
		s.n++
		s.proc = s.name + "." + strconv.Itoa(s.n)
		cmd := s.start(s.proc)
		log := logFile(s.h.dir, s.proc)
		cmd.Stdout, cmd.Stderr = log, log
		cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}
		err := cmd.Start()
		if err != nil {
			s.mu.Unlock()
			panic(err)
		}
		s.cmd, s.gone = cmd, make(chan struct{})
		proc, gone := s.proc, s.gone
		s.h.rec.Note(chaos.Event{Kind: chaos.Born, Proc: proc})
		s.mu.Unlock()

		_ = cmd.Wait()
		log.Close()
		code := cmd.ProcessState.ExitCode()
		s.mu.Lock()
		s.cmd = nil
		s.restarts++
		s.mu.Unlock()
		s.h.rec.Note(chaos.Event{Kind: chaos.Exited, Proc: proc, Code: code})
		close(gone)
		time.Sleep(time.Duration(100+s.h.roll(300)) * time.Millisecond)
	}
}

// take lets a fault have the process, if it runs and no other has it. done gives it
// back.
func (s *slot) take() (proc string, gone chan struct{}, done func(), ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.cmd == nil || s.busy || s.retired {
		return "", nil, nil, false
	}
	s.busy = true
	return s.proc, s.gone, func() {
		s.mu.Lock()
		s.busy = false
		s.mu.Unlock()
	}, true
}

func (s *slot) signal(sig syscall.Signal) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.cmd != nil {
		_ = s.cmd.Process.Signal(sig)
	}
}

// mostShutdown is how long a process may take from SIGTERM to its end: its grace, and
// the five seconds that operators are told to add, on a busy machine.
const mostShutdown = grace + 10*time.Second

// term tells the process to stop and waits for its end.
func (s *slot) term(proc string, gone chan struct{}) {
	s.h.rec.Note(chaos.Event{Kind: chaos.Termed, Proc: proc})
	s.signal(syscall.SIGTERM)
	most := mostShutdown + 10*time.Duration(s.h.stalled.Load())
	select {
	case <-gone:
	case <-time.After(most):
		s.h.rec.Note(chaos.Event{Kind: chaos.Stuck, Proc: proc, What: fmt.Sprintf("%s does not end within %v of SIGTERM", proc, most)})
		s.signal(syscall.SIGQUIT)
		<-gone
	}
}

// retire ends the process for good.
func (s *slot) retire(end func(proc string, gone chan struct{})) {
	for {
		s.mu.Lock()
		s.retired = true
		running := s.cmd != nil
		proc, gone := s.proc, s.gone
		s.mu.Unlock()
		if !running {
			return
		}
		end(proc, gone)
	}
}

// count asks the process, by SIGQUIT, what goroutines it has.
func (s *slot) count(proc string, gone chan struct{}) {
	s.h.rec.Note(chaos.Event{Kind: chaos.Killed, Proc: proc})
	s.signal(syscall.SIGQUIT)
	<-gone
	text, _ := os.ReadFile(s.h.dir + "/" + proc + ".log")
	s.h.rec.Note(chaos.Event{Kind: chaos.Goroutines, Proc: proc, N: int64(strings.Count(string(text), "\ngoroutine "))})
}

// memory is the resident size of the process; 0 if it does not run.
func (s *slot) memory() (proc string, bytes int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.cmd == nil {
		return "", 0
	}
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", s.cmd.Process.Pid))
	if err != nil {
		return "", 0
	}
	fields := strings.Fields(string(text))
	if len(fields) < 2 {
		return "", 0
	}
	pages, _ := strconv.ParseInt(fields[1], 10, 64)
	return s.proc, pages * int64(os.Getpagesize())
}

// child is the command of a worker or a producer.
func (h *harness) child(name string, c child) *slot {
	s := &slot{h: h, name: name, role: c.Role}
	s.start = func(proc string) *exec.Cmd {
		c.Proc, c.URL, c.Dir = proc, h.store.url(s.conn()), h.dir
		c.Seed = h.seed + int64(s.n)*1000
		text, _ := json.Marshal(c)
		cmd := exec.CommandContext(context.Background(), h.self)
		cmd.Env = append(os.Environ(), childEnv+"="+string(text), offsetVariable+"="+h.offsetFile(name))
		return cmd
	}
	return s
}

// service is the command of a process of bide serve.
func (h *harness) service(name, role string) *slot {
	s := &slot{h: h, name: name, role: role}
	s.start = func(string) *exec.Cmd {
		args := []string{"serve", "--roles", role, "--redis-url", h.store.url(s.conn())}
		if role == "scheduler" {
			args = append(args, "--file", h.schedules())
		}
		cmd := exec.CommandContext(context.Background(), h.bide, args...)
		cmd.Env = append(os.Environ(), offsetVariable+"="+h.offsetFile(name))
		return cmd
	}
	return s
}

// offsetVariable is clock.OffsetFile, which is there only in binaries built with the
// tag chaos.
const offsetVariable = "BIDE_CLOCK_OFFSET_FILE"

func (h *harness) offsetFile(name string) string { return h.dir + "/" + name + ".offset" }
