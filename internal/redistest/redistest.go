// Package redistest gives tests a Redis: the embedded miniredis, or a real
// redis-server that it starts, kills and restarts, alone, in a cluster or behind a
// sentinel. Whatever a test did, it ends with the audit: no job lost and none
// doubled.
package redistest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	"github.com/bide-go/bide/scripts"
)

// TB is what is needed of a test. Every testing.TB is one; a program that is no test
// brings its own.
type TB interface {
	Helper()
	Cleanup(func())
	TempDir() string
	Logf(format string, args ...any)
	Error(args ...any)
	Errorf(format string, args ...any)
	Fatal(args ...any)
	Fatalf(format string, args ...any)
	Skip(args ...any)
}

// Front puts something between a server that is about to listen on addr and its
// clients, and returns the address that they are to be told.
type Front func(addr string) string

// Server is one Redis for one test.
type Server struct {
	Addr string
	// Mini is the embedded server, nil for a real one.
	Mini *miniredis.Miniredis

	t       TB
	dir     string
	args    []string
	told    string   // the address of a node that clients are told
	replica []string // further arguments of one that begins as a replica
	config  string   // of a sentinel
	cmd     *exec.Cmd
	cluster *Cluster // that it is a node of
}

// Each runs test on the embedded and on a real Redis.
func Each(t *testing.T, test func(t *testing.T, s *Server)) {
	t.Helper()
	t.Run("miniredis", func(t *testing.T) { t.Parallel(); test(t, NewMini(t)) })
	t.Run("redis", func(t *testing.T) { t.Parallel(); test(t, NewReal(t)) })
}

// NewMini starts an embedded Redis.
func NewMini(t TB) *Server {
	t.Helper()
	m := miniredis.RunT(t)
	s := &Server{Addr: m.Addr(), Mini: m, t: t}
	t.Cleanup(s.audit)
	return s
}

// NewReal starts a redis-server without persistence, or with what args say. A
// machine that has none skips the test and says so, unless BIDE_NEED_REDIS is set.
func NewReal(t TB, args ...string) *Server {
	t.Helper()
	needRedis(t)
	if len(args) == 0 {
		args = []string{"--save", "", "--appendonly", "no"}
	}
	s := &Server{t: t, dir: t.TempDir(), args: args}
	for range 5 {
		s.Addr = fmt.Sprintf("127.0.0.1:%d", FreePort(t))
		if s.launch() {
			break
		}
		_ = os.Remove(filepath.Join(s.dir, "redis.log"))
	}
	if s.cmd == nil {
		t.Fatal("no redis-server got the port that was free for it")
	}
	t.Cleanup(func() {
		s.audit()
		s.Kill()
	})
	return s
}

func needRedis(t TB) {
	t.Helper()
	if _, err := exec.LookPath("redis-server"); err != nil {
		if os.Getenv("BIDE_NEED_REDIS") != "" {
			t.Fatal("redis-server is not installed and BIDE_NEED_REDIS is set")
		}
		t.Skip("left out: redis-server is not installed (apt-get install redis-server)")
	}
}

// FreePort returns a TCP port that nobody listened on a moment ago. It lies below
// the range from which systems take the ports of outgoing connections: of those one
// may be in use by the time a server wants it.
func FreePort(t TB) int {
	t.Helper()
	for range 100 {
		port := 10_000 + rand.IntN(22_000)
		l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
		if err == nil {
			l.Close()
			return port
		}
	}
	t.Fatal("no port is free")
	return 0
}

func (s *Server) start() {
	s.t.Helper()
	if !s.launch() {
		s.t.Fatalf("somebody else has taken %s", s.Addr)
	}
}

// launch starts the server. It is false if somebody else got its port first.
func (s *Server) launch() bool {
	s.t.Helper()
	_, port, _ := net.SplitHostPort(s.Addr)
	args := append([]string{
		"--port", port, "--bind", "127.0.0.1", "--dir", s.dir, "--daemonize", "no",
		"--logfile", filepath.Join(s.dir, "redis.log"), "--loglevel", "warning",
	}, append(s.args, s.replica...)...)
	if s.config != "" {
		args = append([]string{s.config, "--sentinel"}, args...)
	}
	s.cmd = exec.Command("redis-server", args...)
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := s.cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	if s.waitFor(s.cmd.Process.Pid) {
		return true
	}
	s.Kill()
	return false
}

// WaitUp returns when the server answers.
func (s *Server) WaitUp() { s.t.Helper(); s.waitFor(0) }

// waitFor returns when the server answers; false if another process than pid does,
// or has the port.
func (s *Server) waitFor(pid int) bool {
	s.t.Helper()
	c := redis.NewClient(&redis.Options{Addr: s.Addr, MaxRetries: -1, DialTimeout: time.Second})
	defer c.Close()
	deadline := time.Now().Add(time.Minute) // it may have much to read, on a busy machine
	for {
		err := c.Ping(context.Background()).Err()
		info, _ := c.Info(context.Background(), "server").Result()
		_, after, found := strings.Cut(info, "process_id:")
		if pid != 0 && found && !strings.HasPrefix(after, fmt.Sprintf("%d\r", pid)) {
			return false
		}
		if err == nil {
			return true
		}
		log, _ := os.ReadFile(filepath.Join(s.dir, "redis.log"))
		if pid != 0 && strings.Contains(string(log), "Address already in use") {
			return false
		}
		if time.Now().After(deadline) {
			s.t.Fatalf("redis-server does not answer: %v\n%s", err, log)
		}
		time.Sleep(5 * time.Millisecond) // nothing tells when a foreign process is ready
	}
}

// Client returns a new client of this server, closed at the end of the test.
func (s *Server) Client() *redis.Client {
	c := redis.NewClient(&redis.Options{Addr: s.Addr})
	s.t.Cleanup(func() { _ = c.Close() })
	return c
}

// Universal returns a new client of the Redis that this server is or is a part of,
// closed at the end of the test.
func (s *Server) Universal() redis.UniversalClient {
	if s.cluster != nil {
		return s.cluster.Client(s.t)
	}
	return s.Client()
}

// Scripts returns the scripts of namespace "bide" on a new client.
func (s *Server) Scripts() *scripts.Set {
	s.t.Helper()
	return newSet(s.t, s.Universal())
}

// URL is the server's redis:// address.
func (s *Server) URL() string { return "redis://" + s.Addr + "/0" }

// Kill ends a real server at once, as a crash would.
func (s *Server) Kill() {
	if s.cmd == nil {
		return
	}
	_ = s.cmd.Process.Signal(syscall.SIGCONT)
	_ = s.cmd.Process.Kill()
	_ = s.cmd.Wait()
	s.cmd = nil
}

// Restart starts a killed server again on the same address and files.
func (s *Server) Restart() { s.t.Helper(); s.start() }

// RestartAs starts a killed server again, as a replica of the master at addr or, if
// that is empty, as a master.
func (s *Server) RestartAs(addr string) {
	s.t.Helper()
	s.replica = nil
	if addr != "" {
		host, port, _ := net.SplitHostPort(addr)
		s.replica = []string{"--replicaof", host + " " + port}
	}
	s.start()
}

// Stop ends a real server as an operator does: it saves what it has to save first.
func (s *Server) Stop() {
	if s.cmd == nil {
		return
	}
	_ = s.cmd.Process.Signal(syscall.SIGTERM)
	_ = s.cmd.Wait()
	s.cmd = nil
}

// Dir is where a real server keeps its files.
func (s *Server) Dir() string { return s.dir }

// Freeze stops a real server from answering until Thaw.
func (s *Server) Freeze() { _ = s.cmd.Process.Signal(syscall.SIGSTOP) }

// Thaw undoes Freeze.
func (s *Server) Thaw() { _ = s.cmd.Process.Signal(syscall.SIGCONT) }

// Advance moves the embedded server's clock and ages its TTLs.
func (s *Server) Advance(d time.Duration) {
	s.t.Helper()
	if s.Mini == nil {
		s.t.Fatal("only the embedded Redis has a clock that can be moved")
	}
	ctx := context.Background()
	now, err := s.Client().Time(ctx).Result()
	if err != nil {
		s.t.Fatal(err)
	}
	s.Mini.SetTime(now.Add(d))
	s.Mini.FastForward(d)
}

// audit fails the test unless every job ever created is accounted for.
func (s *Server) audit() {
	if s.Mini == nil && s.cmd == nil {
		s.t.Error("the test ended with its Redis killed: no audit")
		return
	}
	c := redis.NewClient(&redis.Options{Addr: s.Addr})
	defer c.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	auditOn(ctx, s.t, c)
}

func auditOn(ctx context.Context, t TB, rdb redis.UniversalClient) {
	set, err := scripts.New(rdb, "")
	if err != nil {
		t.Error(err)
		return
	}
	sum, err := set.Audit(ctx)
	if err != nil {
		t.Errorf("audit: %v", err)
		return
	}
	if sum.Gap() != 0 {
		t.Errorf("audit: gap %d, want 0: %+v", sum.Gap(), sum)
	}
}
