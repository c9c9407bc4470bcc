package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/bide-go/bide/internal/chaos"
	"github.com/bide-go/bide/internal/chaos/faultnet"
	"github.com/bide-go/bide/internal/redistest"
)

// node is one server and the network before it.
type node struct {
	*redistest.Server
	net *faultnet.Proxy
	rdb *redis.Client // past the network
}

// store is the Redis of a run.
type store struct {
	h    *harness
	kind string // always, everysec, sentinel, cluster

	nodes    []*node
	sentinel *redistest.Sentinel
	cluster  *redistest.Cluster
	client   redis.UniversalClient // the harness' own, which no fault is aimed at

	mu    sync.Mutex
	sizes []size // of the append-only file, the last two seconds
}

type size struct {
	at    time.Time
	bytes int64
}

func newStore(h *harness, kind string) (*store, error) {
	s := &store{h: h, kind: kind}
	aof := []string{"--save", "", "--appendonly", "yes", "--appendfsync", "always"}
	if !h.mild {
		aof = append(aof, "--auto-aof-rewrite-percentage", "0") // its end is cut off now and then
	}
	front := func(addr string) string {
		p, err := faultnet.New("127.0.0.1:"+fmt.Sprint(redistest.FreePort(h.tb)), addr)
		if err != nil {
			h.tb.Fatal(err)
		}
		h.tb.Cleanup(p.Close)
		s.nodes = append(s.nodes, &node{net: p})
		return p.Addr()
	}
	var servers []*redistest.Server
	switch kind {
	case "always", "everysec":
		aof[5] = kind
		server := redistest.NewReal(h.tb, aof...)
		front(server.Addr)
		servers = append(servers, server)
		s.client = redis.NewClient(&redis.Options{Addr: server.Addr, ContextTimeoutEnabled: true})
	case "sentinel":
		aof[5] = "everysec"
		s.sentinel = redistest.NewSentinelBehind(h.tb, front, aof...)
		servers = append(servers, s.sentinel.Master, s.sentinel.Replica)
		s.client = redis.NewFailoverClient(&redis.FailoverOptions{MasterName: s.sentinel.Name(), SentinelAddrs: []string{s.sentinel.Addr()}, ContextTimeoutEnabled: true})
	case "cluster":
		s.cluster = redistest.NewClusterBehind(h.tb, front, aof...)
		servers = append(servers, s.cluster.Nodes...)
		var addrs []string
		for _, n := range s.nodes {
			addrs = append(addrs, n.net.Addr())
		}
		s.client = redis.NewClusterClient(&redis.ClusterOptions{Addrs: addrs, ContextTimeoutEnabled: true})
	default:
		return nil, fmt.Errorf("unknown Redis %q: always, everysec, sentinel or cluster", kind)
	}
	for i, server := range servers {
		s.nodes[i].Server = server
		s.nodes[i].rdb = redis.NewClient(&redis.Options{Addr: server.Addr, ContextTimeoutEnabled: true})
	}
	if kind == "everysec" {
		go s.watchFile()
	}
	return s, nil
}

// url is where the connections called name find Redis.
func (s *store) url(name string) string {
	switch {
	case s.sentinel != nil:
		return "redis://" + s.sentinel.Addr() + "/0?master_name=" + s.sentinel.Name() + "&client_name=" + name
	case s.cluster != nil:
		text := "redis://" + s.nodes[0].net.Addr() + "?client_name=" + name
		for _, n := range s.nodes[1:] {
			text += "&addr=" + n.net.Addr()
		}
		return text
	}
	return "redis://" + s.nodes[0].net.Addr() + "/0?client_name=" + name
}

// master is the node that has the namespace.
func (s *store) master() *node {
	switch {
	case s.sentinel != nil:
		addr := s.masterAddr()
		for _, n := range s.nodes {
			if n.net.Addr() == addr {
				return n
			}
		}
	case s.cluster != nil:
		owner := s.cluster.Owner(s.h.tb)
		for _, n := range s.nodes {
			if n.Server == owner {
				return n
			}
		}
	}
	return s.nodes[0]
}

// masterAddr is where the sentinel says that the master is.
func (s *store) masterAddr() string {
	ask := redis.NewSentinelClient(&redis.Options{Addr: s.sentinel.Addr()})
	defer ask.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	addr := ask.GetMasterAddrByName(ctx, s.sentinel.Name()).Val()
	return strings.Join(addr, ":")
}

// file is the append-only file that is being written.
func (s *store) file() string {
	files, _ := filepath.Glob(filepath.Join(s.nodes[0].Dir(), "appendonlydir", "*.incr.aof"))
	if len(files) == 0 {
		return ""
	}
	return files[len(files)-1]
}

// watchFile remembers how long the append-only file was: a crash of the machine loses
// what Redis had not synced, which is the end of the file.
func (s *store) watchFile() {
	for range time.Tick(20 * time.Millisecond) {
		at := time.Now()
		info, err := os.Stat(s.file())
		if err != nil {
			continue
		}
		s.mu.Lock()
		s.sizes = append(s.sizes, size{at, info.Size()})
		for at.Sub(s.sizes[0].at) > 2*time.Second {
			s.sizes = s.sizes[1:]
		}
		s.mu.Unlock()
	}
}

// crash kills a server. With everysec the machine may have gone down with it: then the
// end of its file is lost, up to a second of it.
func (s *store) crash(n *node, machine bool) {
	at := time.Now()
	n.Kill()
	if s.kind != "everysec" {
		return
	}
	// Redis puts a write off for up to two seconds while a sync is under way.
	from := at.Add(-2 * time.Second)
	if machine {
		s.mu.Lock()
		var to size
		for _, z := range s.sizes {
			if age := at.Sub(z.at); age >= 0 && age <= time.Second {
				to = z
				break
			}
		}
		s.mu.Unlock()
		if !to.at.IsZero() {
			_ = os.Truncate(s.file(), to.bytes)
			from = to.at.Add(-100 * time.Millisecond)
		}
	}
	s.h.rec.Note(chaos.Event{Kind: chaos.Loss, From: from.UnixNano(), To: time.Now().UnixNano(), What: "crash of Redis"})
}

func (s *store) eachNet(f func(p *faultnet.Proxy)) {
	for _, n := range s.nodes {
		f(n.net)
	}
}
