package redistest

import (
	"context"
	"net"
	"slices"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// migration is the slot of the namespace "bide" on its way to another node.
type migration struct {
	t        TB
	slot     int64
	nodes    []*redis.Client
	from, to *redis.Client
}

// newMigration puts the slot into the state of being moved. No key moves yet.
func (c *Cluster) newMigration(t TB) *migration {
	t.Helper()
	m := &migration{t: t}
	owner := c.owner(t).Addr
	for _, n := range c.Nodes {
		rdb := redis.NewClient(&redis.Options{Addr: n.Addr})
		m.nodes = append(m.nodes, rdb)
		if n.Addr == owner {
			m.from = rdb
		} else {
			m.to = rdb
		}
	}
	slot, err := m.from.ClusterKeySlot(context.Background(), "{bide}:counts").Result()
	if err != nil {
		t.Fatal(err)
	}
	m.slot = slot
	m.set(m.to, "IMPORTING", m.name(m.from))
	m.set(m.from, "MIGRATING", m.name(m.to))
	return m
}

func (m *migration) name(node *redis.Client) string {
	m.t.Helper()
	name, err := node.Do(context.Background(), "CLUSTER", "MYID").Text()
	if err != nil {
		m.t.Fatal(err)
	}
	return name
}

func (m *migration) set(node *redis.Client, state ...any) {
	m.t.Helper()
	if err := node.Do(context.Background(), append([]any{"CLUSTER", "SETSLOT", m.slot}, state...)...).Err(); err != nil {
		m.t.Errorf("SETSLOT %v: %v", state, err)
	}
}

func (m *migration) close() {
	for _, node := range m.nodes {
		_ = node.Close()
	}
}

// Migrate puts the slot of the namespace "bide" into the state of being moved to
// another node, until done is called. No key moves.
func (s *Server) Migrate() (done func()) {
	s.t.Helper()
	if s.cluster == nil {
		s.t.Fatal("only a cluster moves slots")
	}
	m := s.cluster.newMigration(s.t)
	return func() {
		s.t.Helper()
		defer m.close()
		m.set(m.from, "STABLE")
		m.set(m.to, "STABLE")
	}
}

// Move moves the slot of the namespace "bide" to another node, key by key, as an
// operator's resharding does. halfway is called when half of the keys have gone.
func (c *Cluster) Move(t TB, halfway func()) {
	t.Helper()
	m := c.newMigration(t)
	defer m.close()
	ctx := context.Background()
	total, err := m.from.Do(ctx, "CLUSTER", "COUNTKEYSINSLOT", m.slot).Int()
	if err != nil {
		t.Fatal(err)
	}
	until := time.Now().Add(formPatience)
	host, port, _ := net.SplitHostPort(m.to.Options().Addr)
	for moved, called := 0, false; ; {
		keys, err := m.from.Do(ctx, "CLUSTER", "GETKEYSINSLOT", m.slot, 10).StringSlice()
		if err != nil {
			t.Fatal(err)
		}
		if len(keys) == 0 {
			break
		}
		args := []any{"MIGRATE", host, port, "", 0, 5000, "KEYS"}
		for _, key := range slices.Sorted(slices.Values(keys)) {
			args = append(args, key)
		}
		err = m.from.Do(ctx, args...).Err()
		if err != nil && strings.Contains(err.Error(), "CLUSTERDOWN") && time.Now().Before(until) {
			time.Sleep(50 * time.Millisecond) // a node has just come back
			continue
		}
		if err != nil {
			t.Fatalf("migrate %q: %v", keys, err)
		}
		moved += len(keys)
		if !called && moved >= total/2 {
			called = true
			halfway()
		}
	}
	to := m.name(m.to)
	m.set(m.to, "NODE", to)
	for _, node := range m.nodes {
		m.set(node, "NODE", to)
	}
}
