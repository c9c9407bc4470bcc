package main

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/bide-go/bide/internal/chaos"
	"github.com/bide-go/bide/internal/chaos/faultnet"
)

// fault is one way to make trouble. It returns false if it could not just now.
type fault struct {
	name   string
	weight int // how often, beside the others
	mild   bool
	redis  bool // it is a fault of Redis as a whole: one at a time
	only   []string
	do     func(h *harness) bool
}

var faults = []fault{
	{name: "SIGKILL", weight: 14, mild: true, do: (*harness).kill},
	{name: "SIGTERM", weight: 8, mild: true, do: (*harness).term},
	{name: "SIGSTOP", weight: 8, mild: true, do: (*harness).freeze},
	{name: "clock shift", weight: 5, mild: true, do: (*harness).shift},
	{name: "slow network", weight: 5, mild: true, do: (*harness).slow},
	{name: "silent network", weight: 6, do: (*harness).silence},
	{name: "half-open connections", weight: 5, mild: true, do: (*harness).strand},
	{name: "cut connections", weight: 4, mild: true, do: (*harness).cut},
	{name: "replies cut in their middle", weight: 8, mild: true, do: (*harness).cutReplies},
	{name: "SCRIPT FLUSH", weight: 5, mild: true, do: (*harness).flushScripts},
	{name: "CLIENT KILL", weight: 5, mild: true, do: (*harness).killClients},
	{name: "full memory", weight: 4, redis: true, do: (*harness).fill},
	{name: "READONLY", weight: 3, redis: true, only: []string{"always", "everysec"}, do: (*harness).readOnly},
	{name: "Redis frozen", weight: 3, redis: true, do: (*harness).freezeRedis},
	{name: "Redis restarted", weight: 3, redis: true, mild: true, only: []string{"always", "everysec", "cluster"}, do: (*harness).restartRedis},
	{name: "Redis killed", weight: 5, redis: true, only: []string{"always", "everysec", "cluster"}, do: (*harness).killRedis},
	{name: "failover", weight: 14, redis: true, mild: true, only: []string{"sentinel"}, do: (*harness).failover},
	{name: "replica killed", weight: 2, redis: true, only: []string{"sentinel"}, do: (*harness).killReplica},
	{name: "slot moved", weight: 5, redis: true, only: []string{"cluster"}, do: (*harness).migrate},
}

// possible are the faults of this run.
func (h *harness) possible() []fault {
	var list []fault
	for _, f := range faults {
		fits := len(f.only) == 0
		for _, kind := range f.only {
			fits = fits || kind == h.store.kind
		}
		if h.only != "" {
			fits = fits && slices.Contains(strings.Split(h.only, ","), f.name)
		}
		if fits && (f.mild || !h.mild) {
			list = append(list, f)
		}
	}
	return list
}

// noted writes a fault down that has just begun.
func (h *harness) noted(what, proc string) {
	h.faults.Add(1)
	h.rec.Note(chaos.Event{Kind: chaos.Fault, What: what, Proc: proc})
	h.count(what)
}

// victim takes a process at random.
func (h *harness) victim() (s *slot, proc string, gone chan struct{}, done func(), ok bool) {
	s = h.slots[h.roll(len(h.slots))]
	proc, gone, done, ok = s.take()
	return s, proc, gone, done, ok
}

func (h *harness) kill() bool {
	s, proc, gone, done, ok := h.victim()
	if !ok {
		return false
	}
	defer done()
	h.noted("SIGKILL of a "+s.role, proc)
	h.rec.Note(chaos.Event{Kind: chaos.Killed, Proc: proc})
	s.signal(syscall.SIGKILL)
	<-gone
	return true
}

func (h *harness) term() bool {
	s, proc, gone, done, ok := h.victim()
	if !ok {
		return false
	}
	defer done()
	h.noted("SIGTERM of a "+s.role, proc)
	s.term(proc, gone)
	return true
}

func (h *harness) freeze() bool {
	s, proc, _, done, ok := h.victim()
	if !ok {
		return false
	}
	defer done()
	h.noted("SIGSTOP of a "+s.role, proc)
	s.signal(syscall.SIGSTOP)
	h.rec.Note(chaos.Event{Kind: chaos.Stopped, Proc: proc})
	h.pause(200 + h.roll(4800)) // up to more than two leases
	h.rec.Note(chaos.Event{Kind: chaos.Continued, Proc: proc})
	s.signal(syscall.SIGCONT)
	return true
}

// shift makes the clock of a process wrong, by up to an hour in either direction, or
// right again.
func (h *harness) shift() bool {
	s, proc, _, done, ok := h.victim()
	if !ok {
		return false
	}
	defer done()
	seconds := 0
	if h.roll(4) > 0 {
		seconds = h.roll(7200) - 3600
	}
	h.noted("clock shift", proc)
	path := h.offsetFile(s.name)
	if err := os.WriteFile(path+".new", []byte(strconv.Itoa(seconds)), 0o600); err != nil {
		panic(err)
	}
	_ = os.Rename(path+".new", path)
	return true
}

// network has a fault between one process and Redis for a while.
func (h *harness) network(what string, lasting int, begin, end func(p *faultnet.Proxy, name string)) bool {
	s, proc, _, done, ok := h.victim()
	if !ok {
		return false
	}
	defer done()
	h.noted(what, proc)
	h.store.eachNet(func(p *faultnet.Proxy) { begin(p, s.conn()) })
	h.pause(lasting)
	if end != nil {
		h.store.eachNet(func(p *faultnet.Proxy) { end(p, s.conn()) })
	}
	return true
}

func (h *harness) slow() bool {
	delay := time.Duration(5+h.roll(150)) * time.Millisecond
	return h.network("slow network", 500+h.roll(2500), func(p *faultnet.Proxy, name string) { p.Delay(name, delay) },
		func(p *faultnet.Proxy, name string) { p.Delay(name, 0) })
}

func (h *harness) silence() bool {
	return h.network("silent network", 200+h.roll(4800), (*faultnet.Proxy).Hold, (*faultnet.Proxy).Pass)
}

func (h *harness) strand() bool {
	return h.network("half-open connections", 0, (*faultnet.Proxy).Strand, nil)
}

func (h *harness) cut() bool { return h.network("cut connections", 0, (*faultnet.Proxy).Cut, nil) }

func (h *harness) cutReplies() bool {
	n := 1 + h.roll(5)
	return h.network("replies cut in their middle", 1000, func(p *faultnet.Proxy, name string) { p.CutReplies(name, n, faultnet.Scripts) },
		func(p *faultnet.Proxy, name string) { p.CutReplies(name, 0, nil) })
}

// command sends one command to a node.
func (h *harness) command(n *node, args ...any) error {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	return n.rdb.Do(ctx, args...).Err()
}

func (h *harness) flushScripts() bool {
	h.noted("SCRIPT FLUSH", "")
	_ = h.command(h.store.master(), "SCRIPT", "FLUSH")
	return true
}

func (h *harness) killClients() bool {
	if h.redisBusy.Load() {
		return false // it would kill who makes that trouble, too
	}
	n := h.store.master()
	if h.roll(2) == 0 {
		h.noted("CLIENT KILL of all", "")
		_ = h.command(n, "CLIENT", "KILL", "TYPE", "normal")
		return true
	}
	s := h.slots[h.roll(len(h.slots))]
	h.noted("CLIENT KILL of one", s.name)
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	for line := range strings.Lines(n.rdb.ClientList(ctx).Val()) {
		if strings.Contains(line, "name="+s.conn()+" ") {
			id, _, _ := strings.Cut(strings.TrimPrefix(line, "id="), " ")
			_ = h.command(n, "CLIENT", "KILL", "ID", id)
		}
	}
	return true
}

func (h *harness) fill() bool {
	n := h.store.master()
	h.noted("full memory", "")
	if h.command(n, "CONFIG", "SET", "maxmemory", "1") != nil {
		return true
	}
	h.pause(300 + h.roll(1500))
	h.insist(func() error { return h.command(n, "CONFIG", "SET", "maxmemory", "0") })
	return true
}

func (h *harness) readOnly() bool {
	n := h.store.master()
	h.noted("READONLY", "")
	if h.command(n, "REPLICAOF", "127.0.0.1", "1") != nil {
		return true
	}
	h.pause(300 + h.roll(1500))
	h.insist(func() error { return h.command(n, "REPLICAOF", "NO", "ONE") })
	h.up("READONLY")
	return true
}

func (h *harness) freezeRedis() bool {
	n := h.store.master()
	h.noted("Redis frozen", "")
	most := 2500
	if h.store.sentinel != nil {
		most = 200 // longer would be a failover
	}
	n.Freeze()
	h.pause(100 + h.roll(most))
	n.Thaw()
	h.up("Redis frozen")
	return true
}

func (h *harness) restartRedis() bool {
	n := h.store.master()
	h.noted("Redis restarted", "")
	n.net.Down()
	n.Stop()
	h.again(n, "Redis restarted")
	return true
}

func (h *harness) killRedis() bool {
	n := h.store.master()
	h.noted("Redis killed", "")
	machine := h.roll(2) == 0
	h.rec.Note(chaos.Event{Kind: chaos.Down, What: "Redis killed"})
	h.store.crash(n, machine)
	n.net.Down()
	h.again(n, "Redis killed")
	return true
}

// again starts a server after a while.
func (h *harness) again(n *node, what string) {
	h.pause(h.roll(2000))
	n.Restart()
	if err := n.net.Up(); err != nil {
		panic(err)
	}
	h.up(what)
}

func (h *harness) up(what string) { h.rec.Note(chaos.Event{Kind: chaos.Up, What: what}) }

// migrate moves the slot to another node, key by key. A move that is begun and given up
// would strand what plain clients have written on the other side.
func (h *harness) migrate() bool {
	h.noted("slot moved", "")
	h.store.cluster.Move(h.tb, func() {})
	h.up("slot moved")
	return true
}

// pause waits for so many milliseconds, or for the end of the run.
func (h *harness) pause(ms int) {
	select {
	case <-time.After(time.Duration(ms) * time.Millisecond):
	case <-h.over:
	}
}

// within waits until ok, for at most d.
func (h *harness) within(d time.Duration, ok func() bool) bool {
	for deadline := time.Now().Add(d); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		if ok() {
			return true
		}
	}
	return false
}

// insist repeats what undoes a fault until it has worked.
func (h *harness) insist(f func() error) {
	var err error
	if !h.within(30*time.Second, func() bool { err = f(); return err == nil }) {
		panic(fmt.Errorf("a fault cannot be undone: %w", err))
	}
}
