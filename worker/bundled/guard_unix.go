//go:build unix

package bundled

import (
	"context"
	"io"
	"os/exec"
	"strconv"
	"syscall"

	"github.com/rs/zerolog"
)

// guard is a small process that kills a process group when this process is gone:
// the parent-death signal reaches the command alone, not what it has started. It
// waits on a pipe, which ends with this process whatever kills it.
//
// A nil guard does nothing.
type guard struct {
	cmd  *exec.Cmd
	pipe io.WriteCloser
}

// guardScript waits for the number of the group, then for the end of the pipe.
const guardScript = `trap '' HUP INT QUIT TERM; read -r group && { read -r end; kill -9 "-$group"; }`

// newGuard starts a guard. Without a shell on this machine there is none: that is
// so in an image with nothing but bide, where the kernel kills everything together
// with the first process.
func newGuard(log zerolog.Logger) *guard {
	cmd := exec.CommandContext(context.Background(), "/bin/sh", "-c", guardScript)
	cmd.Env, cmd.Dir = []string{}, "/"
	// Signals for our own process group are not for the guard.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	pipe, err := cmd.StdinPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		log.Debug().Err(err).Msg("no guard for a command; what it starts may outlive a killed worker")
		return nil
	}
	return &guard{cmd, pipe}
}

// watch tells the guard which group it is for. A guard that was killed cannot be
// helped.
func (g *guard) watch(group int) {
	if g != nil {
		_, _ = io.WriteString(g.pipe, strconv.Itoa(group)+"\n")
	}
}

// dismiss ends the guard before it could act.
func (g *guard) dismiss() {
	if g != nil {
		_ = g.cmd.Process.Kill()
		_ = g.cmd.Wait() // closes the pipe
	}
}
