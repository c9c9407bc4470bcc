// Package redisserver runs a redis-server for one measurement: fresh, without
// persistence, on the loopback interface.
package redisserver

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/bide-go/bide/bench/internal/machine"
	"github.com/bide-go/bide/internal/clock"
)

// Host is where the servers listen.
const Host = "127.0.0.1"

// Server is one running redis-server.
type Server struct {
	Port int
	// Client is for looking at it from outside.
	Client *redis.Client

	dir string
	cmd *exec.Cmd
}

// Start starts a server on a free port and returns when it answers. It runs on one
// core if core is not negative.
func Start(ctx context.Context, core int) (*Server, error) {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", Host+":0")
	if err != nil {
		return nil, err
	}
	port := l.Addr().(*net.TCPAddr).Port
	l.Close()
	dir, err := os.MkdirTemp("", "bide-bench-")
	if err != nil {
		return nil, err
	}
	s := &Server{Port: port, dir: dir}
	s.cmd = exec.CommandContext(ctx, "redis-server", "--port", strconv.Itoa(port), "--bind", Host, "--dir", dir,
		"--save", "", "--appendonly", "no", "--logfile", filepath.Join(dir, "log"), "--loglevel", "warning")
	if err := machine.Start(s.cmd, core); err != nil {
		return nil, fmt.Errorf("start redis-server: %w", err)
	}
	s.Client = redis.NewClient(&redis.Options{Addr: fmt.Sprintf("%s:%d", Host, port), MaxRetries: -1})
	began := clock.Now()
	for {
		err := s.Client.Ping(ctx).Err()
		if err == nil {
			return s, nil
		}
		if clock.Since(began) > 10*time.Second || !clock.Sleep(ctx, 5*time.Millisecond) {
			log, _ := os.ReadFile(filepath.Join(dir, "log"))
			s.Kill()
			return nil, fmt.Errorf("redis-server does not answer: %w\n%s", err, log)
		}
	}
}

// PID is the server's process.
func (s *Server) PID() int { return s.cmd.Process.Pid }

// Kill ends the server and removes its files.
func (s *Server) Kill() {
	s.Client.Close()
	_ = s.cmd.Process.Kill()
	_ = s.cmd.Wait()
	_ = os.RemoveAll(s.dir)
}

// Stats is what a server tells of itself.
type Stats struct {
	Commands float64 // executed since its start, those inside of scripts included
	Memory   float64 // bytes in use
}

// Stats asks for them. The asking itself is left out.
func (s *Server) Stats(ctx context.Context) (Stats, error) {
	text, err := s.Client.Info(ctx, "commandstats", "memory").Result()
	return parseInfo(text), err
}

func parseInfo(text string) Stats {
	var st Stats
	for line := range strings.Lines(text) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		if name, ok := strings.CutPrefix(key, "cmdstat_"); ok && name != "info" && name != "monitor" {
			calls, _, _ := strings.Cut(strings.TrimPrefix(value, "calls="), ",")
			n, _ := strconv.ParseFloat(calls, 64)
			st.Commands += n
		}
		if key == "used_memory" {
			st.Memory, _ = strconv.ParseFloat(value, 64)
		}
	}
	return st
}

// Version is redis-server's, as it tells it.
func (s *Server) Version(ctx context.Context) string {
	text, _ := s.Client.Info(ctx, "server").Result()
	for line := range strings.Lines(text) {
		if v, ok := strings.CutPrefix(line, "redis_version:"); ok {
			return strings.TrimSpace(v)
		}
	}
	return ""
}

// Watch counts the commands that clients send from now on, until stop is called. It
// uses MONITOR, which marks the commands of scripts, so that a script counts as the
// one command it was called by. MONITOR costs Redis too much for anything but idling.
func (s *Server) Watch(ctx context.Context) (stop func() int, err error) {
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", fmt.Sprintf("%s:%d", Host, s.Port))
	if err != nil {
		return nil, err
	}
	if _, err := conn.Write([]byte("MONITOR\r\n")); err != nil {
		return nil, err
	}
	lines := bufio.NewScanner(conn)
	lines.Buffer(nil, 1<<20)
	if !lines.Scan() || lines.Text() != "+OK" {
		return nil, fmt.Errorf("MONITOR answered %q", lines.Text())
	}
	var n atomic.Int64
	go func() {
		for lines.Scan() {
			if ofClient(lines.Text()) {
				n.Add(1)
			}
		}
	}()
	return func() int { conn.Close(); return int(n.Load()) }, nil
}

// ofClient tells whether a line of MONITOR, +time [db address] "command" …, is no
// command of a script and none of our own questions.
func ofClient(line string) bool {
	_, rest, _ := strings.Cut(line, "[")
	source, command, ok := strings.Cut(rest, "] ")
	return ok && !strings.HasSuffix(source, " lua") && !strings.HasPrefix(strings.ToLower(command), `"info"`)
}
