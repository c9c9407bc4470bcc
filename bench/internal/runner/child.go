package runner

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/bide-go/bide/bench/internal/machine"
	"github.com/bide-go/bide/bench/internal/protocol"
	"github.com/bide-go/bide/internal/clock"
)

// errLate says that jobs were due before the worker was ready for them.
var errLate = errors.New("the first job was due before the worker was ready")

// usage is what a measured phase took, in seconds, commands and bytes.
type usage struct {
	seconds, redisCPU, programCPU, otherCPU, steal, commands, memory float64
}

func (u *usage) add(v usage) {
	u.seconds += v.seconds
	u.redisCPU += v.redisCPU
	u.programCPU += v.programCPU
	u.otherCPU += v.otherCPU
	u.steal += v.steal
	u.commands += v.commands
	u.memory += v.memory
}

// command is how the adapter of a system is started: this program again, or node.
// Every phase is a process of its own, so that no heap has seen an earlier one.
func (b *Bench) command(ctx context.Context, s System) (*exec.Cmd, error) {
	if s.adapter == "bullmq" {
		return exec.CommandContext(ctx, "node", filepath.Join(b.Dir, "bullmq", "adapter.mjs")), nil
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	return exec.CommandContext(ctx, self, "adapter", s.adapter), nil
}

// child runs one adapter process for spec and returns its result and what it took
// from go to result.
func (m *measurement) child(ctx context.Context, spec protocol.Spec) (_ protocol.Result, _ usage, err error) {
	spec.Host, spec.Port, spec.PollMs = m.host, m.srv.Port, m.sys.pollMs
	cmd, err := m.bench.command(ctx, m.sys)
	if err != nil {
		return protocol.Result{}, usage{}, err
	}
	var talk bytes.Buffer
	cmd.Stderr = &talk
	in, err := cmd.StdinPipe()
	if err != nil {
		return protocol.Result{}, usage{}, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return protocol.Result{}, usage{}, err
	}
	if err := machine.Start(cmd, m.programCore); err != nil {
		return protocol.Result{}, usage{}, fmt.Errorf("start the adapter: %w", err)
	}
	defer func() {
		in.Close()
		if err != nil {
			_ = cmd.Process.Kill()
		}
		end := cmd.Wait()
		if err == nil {
			err = end
		}
		if err != nil {
			err = fmt.Errorf("%s %s: %w\n%s", m.sys.Name, spec.Mode, err, tail(talk.String()))
		}
	}()
	c := &conversation{in: json.NewEncoder(in), out: json.NewDecoder(out)}
	if err := c.in.Encode(spec); err != nil {
		return protocol.Result{}, usage{}, err
	}
	if _, err := c.expect(protocol.Ready); err != nil {
		return protocol.Result{}, usage{}, err
	}
	before, err := m.sample(ctx, cmd.Process.Pid)
	if err != nil {
		return protocol.Result{}, usage{}, err
	}
	if spec.Mode == protocol.Work && spec.DueMs > 0 && clock.Now().UnixMilli() > spec.DueMs-200 {
		return protocol.Result{}, usage{}, errLate
	}
	stop := func() int { return 0 }
	if m.watch {
		if stop, err = m.srv.Watch(ctx); err != nil {
			return protocol.Result{}, usage{}, err
		}
	}
	if err := c.in.Encode(map[string]bool{"go": true}); err != nil {
		return protocol.Result{}, usage{}, err
	}
	r, err := c.expect(protocol.Done)
	m.watched = stop()
	if err != nil {
		return protocol.Result{}, usage{}, err
	}
	after, err := m.sample(ctx, cmd.Process.Pid)
	if err != nil {
		return protocol.Result{}, usage{}, err
	}
	return *r.Result, after.since(before), nil
}

type conversation struct {
	in  *json.Encoder
	out *json.Decoder
}

func (c *conversation) expect(event string) (protocol.Message, error) {
	var m protocol.Message
	err := c.out.Decode(&m)
	switch {
	case errors.Is(err, io.EOF):
		return m, errors.New("the adapter ended without a word")
	case err != nil:
		return m, err
	case m.Event == protocol.Failed:
		return m, errors.New(m.Text)
	case m.Event != event || (event == protocol.Done && m.Result == nil):
		return m, fmt.Errorf("the adapter said %q, want %q", m.Event, event)
	}
	return m, nil
}

// sample is the state of all counters at one instant.
type sample struct {
	usage
	self float64
}

func (m *measurement) sample(ctx context.Context, pid int) (sample, error) {
	st, err := m.srv.Stats(ctx)
	if err != nil {
		return sample{}, err
	}
	now := m.bench.now()
	total := machine.Total()
	return sample{
		usage: usage{
			seconds: now, redisCPU: machine.Process(m.srv.PID()), programCPU: machine.Process(pid),
			otherCPU: total.All, steal: total.Steal, commands: st.Commands, memory: st.Memory,
		},
		self: machine.Process(os.Getpid()),
	}, nil
}

func (s sample) since(b sample) usage {
	u := usage{
		seconds: s.seconds - b.seconds, redisCPU: s.redisCPU - b.redisCPU, programCPU: s.programCPU - b.programCPU,
		steal: s.steal - b.steal, commands: s.commands - b.commands, memory: s.memory - b.memory,
	}
	u.otherCPU = max(0, s.otherCPU-b.otherCPU-u.redisCPU-u.programCPU-(s.self-b.self))
	return u
}

// tail is the end of what a process wrote.
func tail(s string) string {
	const most = 2000
	if len(s) > most {
		s = "…" + s[len(s)-most:]
	}
	return strings.TrimSpace(s)
}
