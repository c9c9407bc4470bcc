package redistest

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// masterName is what the sentinel calls the group.
const masterName = "bide"

// Sentinel is a master with one replica, and a sentinel that promotes the replica
// half a second after the master has fallen silent.
type Sentinel struct {
	Master, Replica *Server

	t        TB
	sentinel *Server
}

// NewSentinel starts a master, its replica and a sentinel, without persistence. The
// test may kill one of the two servers; the audit asks whichever is master then.
func NewSentinel(t TB) *Sentinel {
	t.Helper()
	return NewSentinelBehind(t, func(addr string) string { return addr }, plain...)
}

// NewSentinelBehind starts a group as NewSentinel does, whose servers have fronts and
// the settings of args.
func NewSentinelBehind(t TB, front Front, args ...string) *Sentinel {
	t.Helper()
	needRedis(t)
	ports := freePorts(t, 3)
	server := func(i int, master string) (*Server, string) {
		s := &Server{t: t, Addr: fmt.Sprintf("127.0.0.1:%d", ports[i]), dir: t.TempDir()}
		told := front(s.Addr)
		host, port, _ := net.SplitHostPort(told)
		s.args = slices.Concat(args, []string{"--repl-diskless-sync-delay", "0", "--replica-announce-ip", host, "--replica-announce-port", port})
		s.RestartAs(master)
		t.Cleanup(s.Kill)
		return s, told
	}
	s := &Sentinel{t: t}
	var master string
	s.Master, master = server(0, "")
	s.Replica, _ = server(1, master)

	replica := s.Replica.Client()
	s.await("the replica follows", func(ctx context.Context) bool {
		return strings.Contains(replica.Info(ctx, "replication").Val(), "master_link_status:up")
	})
	s.sentinel = &Server{t: t, Addr: fmt.Sprintf("127.0.0.1:%d", ports[2]), dir: t.TempDir()}
	s.sentinel.config = filepath.Join(s.sentinel.dir, "sentinel.conf")
	host, port, _ := net.SplitHostPort(master)
	text := fmt.Sprintf("sentinel monitor %[1]s %[2]s %[3]s 1\nsentinel down-after-milliseconds %[1]s 500\nsentinel failover-timeout %[1]s 3000\n", masterName, host, port)
	if err := os.WriteFile(s.sentinel.config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	s.sentinel.start()
	t.Cleanup(s.sentinel.Kill)
	ask := redis.NewSentinelClient(&redis.Options{Addr: s.sentinel.Addr})
	defer ask.Close()
	s.await("the sentinel knows the replica", func(ctx context.Context) bool {
		known := ask.Replicas(ctx, masterName).Val()
		return len(known) == 1 && known[0]["master-link-status"] == "ok" && known[0]["flags"] == "slave"
	})
	t.Cleanup(s.audit)
	return s
}

// Addr is where the sentinel listens.
func (s *Sentinel) Addr() string { return s.sentinel.Addr }

// Name is what the sentinel calls the group.
func (s *Sentinel) Name() string { return masterName }

// Client returns a new client that follows the master, closed at the end of the
// test.
func (s *Sentinel) Client() *redis.Client { return s.ClientWith(redis.FailoverOptions{}) }

// ClientWith returns a client as Client does, with other options.
func (s *Sentinel) ClientWith(o redis.FailoverOptions) *redis.Client {
	o.MasterName, o.SentinelAddrs = masterName, []string{s.sentinel.Addr}
	rdb := redis.NewFailoverClient(&o)
	s.t.Cleanup(func() { _ = rdb.Close() })
	return rdb
}

// Promoted returns when the replica has become a master.
func (s *Sentinel) Promoted() {
	s.t.Helper()
	rdb := s.Replica.Client()
	s.await("the replica is promoted", func(ctx context.Context) bool {
		return strings.Contains(rdb.Info(ctx, "replication").Val(), "role:master")
	})
}

// await fails the test if ok does not come true.
func (s *Sentinel) await(what string, ok func(ctx context.Context) bool) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), formPatience)
	defer cancel()
	for !ok(ctx) {
		if ctx.Err() != nil {
			s.t.Fatalf("not within %v: %s", formPatience, what)
		}
		time.Sleep(10 * time.Millisecond) // foreign processes tell nobody
	}
}

func (s *Sentinel) audit() {
	ctx, cancel := context.WithTimeout(context.Background(), formPatience)
	defer cancel()
	rdb := redis.NewFailoverClient(&redis.FailoverOptions{MasterName: masterName, SentinelAddrs: []string{s.sentinel.Addr}})
	defer rdb.Close()
	auditOn(ctx, s.t, rdb)
}
