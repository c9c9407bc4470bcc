//go:build unix

package bundled

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"time"

	"github.com/rs/zerolog"

	"github.com/bide-go/bide/internal/clock"
	"github.com/bide-go/bide/job"
)

const canExec = true

const (
	// killAfter is how long an interrupted command may take to end. The dispatcher
	// gives a handler somewhat longer.
	killAfter = 5 * time.Second
	// readAfter is how long what a command has written is read after its end, in
	// case somebody beyond its process group still holds the pipe.
	readAfter = time.Second
)

// command is one command and the process group that it leads.
type command struct {
	words  []string
	env    []string
	dir    string
	stdin  string
	output tail
	log    zerolog.Logger
}

// run runs the command to its end. When ctx ends, the process group gets SIGTERM and
// 5 s later SIGKILL; if the worker is stopping, SIGKILL at once. Nothing of the group
// is left when run returns.
func (c *command) run(ctx context.Context) ending {
	// On Linux the command dies with the thread that started it: keep that for as
	// long as it runs.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()

	start := clock.Now()
	if err := checkDir(c.dir); err != nil {
		return ending{words: fmt.Sprintf("cannot be started: %v", err)}
	}
	out, in, err := os.Pipe()
	if err != nil {
		return ending{words: fmt.Sprintf("cannot be started: %v", err)}
	}
	defer out.Close()
	cmd := c.prepare(ctx, in)
	guard := newGuard(c.log)
	defer guard.dismiss()
	err = cmd.Start()
	in.Close()
	if err != nil {
		return ending{words: fmt.Sprintf("cannot be started: %v", err)}
	}
	group := cmd.Process.Pid
	guard.watch(group)

	read := make(chan struct{})
	go func() { _, _ = io.Copy(&c.output, out); close(read) }()
	exited := make(chan struct{})
	go func() { _ = cmd.Wait(); close(exited) }()
	interrupted := false
	select {
	case <-exited:
	case <-ctx.Done():
		interrupted = interrupt(group, exited, context.Cause(ctx))
	}
	// What the command has left running goes with it. No process can have come by
	// this number meanwhile: the kernel goes through all others first.
	_ = syscall.Kill(-group, syscall.SIGKILL)
	_ = out.SetReadDeadline(clock.Now().Add(readAfter))
	<-read

	took := rounded(clock.Since(start))
	switch state := cmd.ProcessState; {
	case interrupted:
		cause := context.Cause(ctx)
		return ending{words: fmt.Sprintf("was ended after %s: %v (%s)", took, cause, state), cause: cause}
	case state != nil && state.Success():
		return ending{ok: true}
	default:
		return ending{words: fmt.Sprintf("ended with %s after %s", state, took)}
	}
}

// checkDir says what is wrong with a folder; starting a command in one that is not
// there would say so of the command.
func checkDir(dir string) error {
	if dir == "" {
		return nil
	}
	info, err := os.Stat(dir)
	switch {
	case errors.Is(err, syscall.ENOENT):
		return &os.PathError{Op: "chdir", Path: dir, Err: syscall.ENOENT}
	case err == nil && !info.IsDir():
		return &os.PathError{Op: "chdir", Path: dir, Err: syscall.ENOTDIR}
	}
	return err
}

func (c *command) prepare(ctx context.Context, out *os.File) *exec.Cmd {
	// Without the end of ctx, which is for the whole group and not for the command
	// alone.
	cmd := exec.CommandContext(context.WithoutCancel(ctx), c.words[0], c.words[1:]...)
	cmd.Env, cmd.Dir = c.env, c.dir
	cmd.Stdout, cmd.Stderr = out, out
	if c.stdin != "" {
		cmd.Stdin = strings.NewReader(c.stdin)
	}
	cmd.WaitDelay = readAfter // for input that nobody reads
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	dieWithParent(cmd.SysProcAttr)
	return cmd
}

// interrupt ends a process group and waits until its leader has exited. It is false
// if that had exited by itself already.
func interrupt(group int, exited <-chan struct{}, cause error) bool {
	select {
	case <-exited:
		return false
	default:
	}
	if errors.Is(cause, job.ErrShutdown) {
		// The job is being given back: it may start elsewhere at any moment.
		_ = syscall.Kill(-group, syscall.SIGKILL)
		<-exited
		return true
	}
	_ = syscall.Kill(-group, syscall.SIGTERM)
	deadline := clock.NewTimer(killAfter)
	defer deadline.Stop()
	select {
	case <-exited:
		awaitGroup(group, deadline.C) // the others have the same time as their leader
	case <-deadline.C:
		_ = syscall.Kill(-group, syscall.SIGKILL)
		<-exited
	}
	return true
}

// awaitGroup waits until nothing is left of a process group whose leader is gone.
// Nobody tells.
func awaitGroup(group int, deadline <-chan time.Time) {
	for syscall.Kill(-group, 0) == nil {
		look := clock.NewTimer(10 * time.Millisecond)
		select {
		case <-look.C:
		case <-deadline:
			look.Stop()
			return
		}
	}
}
