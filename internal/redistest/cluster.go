package redistest

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/bide-go/bide/scripts"
)

// Cluster is a Redis Cluster of three masters.
type Cluster struct {
	Nodes []*Server
}

// NewCluster starts a Redis Cluster of three masters, without replicas and without
// persistence, for one test.
func NewCluster(t TB) *Cluster {
	t.Helper()
	return NewClusterBehind(t, func(addr string) string { return addr }, plain...)
}

// plain are the settings of servers without persistence.
var plain = []string{"--save", "", "--appendonly", "no"}

// NewClusterBehind starts a cluster as NewCluster does, whose nodes have fronts and
// the settings of args.
func NewClusterBehind(t TB, front Front, args ...string) *Cluster {
	t.Helper()
	needRedis(t)
	c := &Cluster{}
	t.Cleanup(c.stop)
	c.form(t, t.TempDir(), front, args)
	t.Cleanup(func() { c.owner(t).audit() })
	return c
}

// Client returns a new cluster client, closed at the end of the test.
func (c *Cluster) Client(t TB) *redis.ClusterClient {
	rdb := c.client()
	t.Cleanup(func() { _ = rdb.Close() })
	return rdb
}

func (c *Cluster) client() *redis.ClusterClient {
	var addrs []string
	for _, n := range c.Nodes {
		addrs = append(addrs, n.Addr)
	}
	return redis.NewClusterClient(&redis.ClusterOptions{Addrs: addrs})
}

// Owner is the node that holds the namespace "bide".
func (c *Cluster) Owner(t TB) *Server {
	addr := c.owner(t).Addr
	return c.Nodes[slices.IndexFunc(c.Nodes, func(n *Server) bool { return n.Addr == addr })]
}

// owner is the node that holds the namespace "bide", as the Server of one test.
func (c *Cluster) owner(t TB) *Server {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), formPatience)
	defer cancel()
	rdb := c.client()
	defer rdb.Close()
	node, err := rdb.MasterForKey(ctx, "{bide}:counts")
	if err != nil {
		t.Fatal(err)
	}
	addr := node.Options().Addr
	i := slices.IndexFunc(c.Nodes, func(n *Server) bool { return n.told == addr })
	if i < 0 {
		t.Fatalf("the cluster speaks of a node at %s, which is none of ours", addr)
	}
	return &Server{Addr: c.Nodes[i].Addr, t: t, dir: c.Nodes[i].dir, args: c.Nodes[i].args, cmd: c.Nodes[i].cmd, cluster: c}
}

// formPatience is how long a cluster, or a group around a sentinel, may take to
// find together. A cluster takes two seconds at least.
const formPatience = 60 * time.Second

func (c *Cluster) form(t TB, dir string, front Front, args []string) {
	t.Helper()
	const masters, slots = 3, 16384
	ports := freePorts(t, 2*masters)
	for i := range masters {
		n := &Server{t: t, Addr: fmt.Sprintf("127.0.0.1:%d", ports[i]), dir: filepath.Join(dir, strconv.Itoa(i))}
		// A bus port of its own: the port and ten thousand may be none.
		n.told = front(n.Addr)
		host, port, _ := net.SplitHostPort(n.told)
		n.args = slices.Concat(args, []string{"--cluster-enabled", "yes", "--cluster-port", strconv.Itoa(ports[masters+i]),
			"--cluster-announce-ip", host, "--cluster-announce-port", port, "--cluster-announce-bus-port", strconv.Itoa(ports[masters+i])})
		if err := os.Mkdir(n.dir, 0o700); err != nil {
			t.Fatal(err)
		}
		n.start()
		c.Nodes = append(c.Nodes, n)
	}
	ctx, cancel := context.WithTimeout(context.Background(), formPatience)
	defer cancel()
	clients := make([]*redis.Client, masters)
	do := func(i int, args ...any) {
		t.Helper()
		if err := clients[i].Do(ctx, args...).Err(); err != nil {
			t.Fatalf("%v: %v", args, err)
		}
	}
	for i, n := range c.Nodes {
		clients[i] = redis.NewClient(&redis.Options{Addr: n.Addr})
		defer clients[i].Close()
		do(i, "CLUSTER", "SET-CONFIG-EPOCH", i+1)
		do(i, "CLUSTER", "ADDSLOTSRANGE", i*slots/masters, (i+1)*slots/masters-1)
	}
	for i := range masters {
		for j := range masters {
			if i != j {
				host, port, _ := net.SplitHostPort(c.Nodes[j].Addr)
				do(i, "CLUSTER", "MEET", host, port, ports[masters+j])
			}
		}
	}
	for i := range masters {
		for {
			info := clients[i].ClusterInfo(ctx).Val()
			if strings.Contains(info, "cluster_state:ok") && strings.Contains(info, "cluster_slots_ok:16384") && strings.Contains(info, "cluster_size:3") {
				break
			}
			if ctx.Err() != nil {
				t.Fatalf("the cluster does not form:\n%s", info)
			}
			time.Sleep(10 * time.Millisecond) // nodes tell nobody when they agree
		}
	}
}

func (c *Cluster) stop() {
	for _, n := range c.Nodes {
		n.Kill()
	}
}

// shared are clusters of this process that no test uses at the moment. Forming one
// takes seconds, so tests that follow one another use the same.
var shared struct {
	sync.Mutex
	idle, all []*Cluster
	dirs      []string
}

// NewOnCluster returns the node of a Redis Cluster that holds the namespace
// "bide", empty. Its Scripts and its Universal client go through the cluster, its
// Client to the node alone. The cluster may have served other tests; a package
// that uses it calls StopClusters when its tests are over.
func NewOnCluster(t TB) *Server {
	t.Helper()
	needRedis(t)
	shared.Lock()
	var c *Cluster
	if n := len(shared.idle); n > 0 {
		c, shared.idle = shared.idle[n-1], shared.idle[:n-1]
	}
	shared.Unlock()
	if c == nil {
		dir, err := os.MkdirTemp("", "redistest")
		if err != nil {
			t.Fatal(err)
		}
		c = &Cluster{}
		shared.Lock()
		shared.all, shared.dirs = append(shared.all, c), append(shared.dirs, dir)
		shared.Unlock()
		c.form(t, dir, func(addr string) string { return addr }, plain)
	}
	s := c.owner(t)
	for _, n := range c.Nodes {
		if err := empty(n); err != nil {
			t.Fatalf("empty the cluster: %v", err)
		}
	}
	t.Cleanup(func() {
		s.audit()
		shared.Lock()
		shared.idle = append(shared.idle, c)
		shared.Unlock()
	})
	return s
}

// empty makes a server as if it had just been started.
func empty(s *Server) error {
	rdb := redis.NewClient(&redis.Options{Addr: s.Addr})
	defer rdb.Close()
	pipe := rdb.Pipeline()
	ctx := context.Background()
	pipe.FlushAll(ctx)
	pipe.ScriptFlush(ctx)
	pipe.ConfigResetStat(ctx)
	_, err := pipe.Exec(ctx)
	return err
}

// StopClusters ends the clusters of NewOnCluster.
func StopClusters() {
	shared.Lock()
	defer shared.Unlock()
	for _, c := range shared.all {
		c.stop()
	}
	for _, dir := range shared.dirs {
		_ = os.RemoveAll(dir)
	}
	shared.all, shared.idle, shared.dirs = nil, nil, nil
}

// freePorts returns n different ports.
func freePorts(t TB, n int) []int {
	t.Helper()
	var ports []int
	for len(ports) < n {
		if port := FreePort(t); !slices.Contains(ports, port) {
			ports = append(ports, port)
		}
	}
	return ports
}

// newSet returns the scripts of namespace "bide" on rdb.
func newSet(t TB, rdb redis.UniversalClient) *scripts.Set {
	t.Helper()
	set, err := scripts.New(rdb, "")
	if err != nil {
		t.Fatal(err)
	}
	return set
}
