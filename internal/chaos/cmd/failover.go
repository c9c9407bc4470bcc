package main

import (
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/bide-go/bide/internal/chaos"
)

// failover has the replica take over, because the master dies or because the sentinel
// is told so. What the replica does not have by then is lost.
func (h *harness) failover() bool {
	old := h.store.master()
	was := old.net.Addr()
	from := h.mayLack(time.Now().Add(-time.Second))
	killed := h.roll(2) == 0
	h.noted(map[bool]string{true: "failover after a kill", false: "failover by order"}[killed], "")
	if killed {
		old.Kill()
		old.net.Down()
	} else {
		ask := redis.NewSentinelClient(&redis.Options{Addr: h.store.sentinel.Addr()})
		err := ask.Failover(context.Background(), h.store.sentinel.Name()).Err()
		ask.Close()
		if err != nil {
			return true // it has just had one
		}
	}
	most := 30*time.Second + 100*time.Duration(h.stalled.Load()) // it tries again, if it takes long
	promoted := h.within(most, func() bool { now := h.store.masterAddr(); return now != "" && now != was })
	if !promoted && !killed { // it has given up, and the master is what it was
		h.lost(from)
		return true
	}
	if !promoted {
		h.rec.Note(chaos.Event{Kind: chaos.Stuck, What: "the sentinel does not promote the replica"})
	}
	h.up("failover")
	if killed {
		old.RestartAs(h.store.masterAddr())
		if err := old.net.Up(); err != nil {
			panic(err)
		}
	}
	h.within(30*time.Second, func() bool { return h.linked(old) })
	h.lost(from)
	h.within(30*time.Second, h.known)
	return true
}

// watchReplica keeps in mind when the replica last had all that the master had
// acknowledged: one that was killed, or that a busy machine lets wait, is behind.
func (h *harness) watchReplica(ctx context.Context) {
	if h.store.sentinel == nil {
		return
	}
	for ctx.Err() == nil {
		at := time.Now()
		a, b := h.replication(h.store.nodes[0]), h.replication(h.store.nodes[1])
		if a["role"] != "master" {
			a, b = b, a
		}
		had, _ := strconv.ParseInt(b["slave_repl_offset"], 10, 64)
		all, err := strconv.ParseInt(a["master_repl_offset"], 10, 64)
		if err == nil && b["role"] == "slave" && a["master_replid"] == b["master_replid"] && had >= all {
			h.synced.Store(at.UnixNano())
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// mayLack is from when on a replica may lack what was acknowledged, which is since at,
// or since it last had everything.
func (h *harness) mayLack(at time.Time) time.Time {
	if synced := time.Unix(0, h.synced.Load()); synced.Before(at) {
		return synced
	}
	return at
}

// replication is what a node says about its replication, nothing if it is away.
func (h *harness) replication(n *node) map[string]string {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	fields := map[string]string{}
	for line := range strings.Lines(n.rdb.Info(ctx, "replication").Val()) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		fields[key] = value
	}
	return fields
}

// lost writes down that what was written from then until now may be gone.
func (h *harness) lost(from time.Time) {
	h.rec.Note(chaos.Event{Kind: chaos.Loss, From: from.UnixNano(), To: time.Now().UnixNano(), What: "failover"})
}

func (h *harness) linked(n *node) bool {
	said := h.replication(n)
	return said["role"] == "slave" && said["master_link_status"] == "up"
}

// known reports whether the sentinel could promote a replica again.
func (h *harness) known() bool {
	ask := redis.NewSentinelClient(&redis.Options{Addr: h.store.sentinel.Addr()})
	defer ask.Close()
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	for _, r := range ask.Replicas(ctx, h.store.sentinel.Name()).Val() {
		if r["flags"] == "slave" && r["master-link-status"] == "ok" {
			return true
		}
	}
	return false
}

func (h *harness) killReplica() bool {
	master := h.store.master()
	for _, n := range h.store.nodes {
		if n == master {
			continue
		}
		h.noted("replica killed", "")
		n.Kill()
		h.pause(h.roll(2000))
		n.RestartAs(master.net.Addr())
		h.within(30*time.Second, func() bool { return h.linked(n) })
		h.within(30*time.Second, h.known)
	}
	return true
}

// watchFailovers writes down what may be lost by the failovers that the sentinel orders
// by itself: on a machine that stands still for long it takes the master for dead. The
// master of before goes on acknowledging until it has become a replica.
func (h *harness) watchFailovers(ctx context.Context) {
	if h.store.sentinel == nil {
		return
	}
	const down, switched = "+sdown", "+switch-master"
	ask := redis.NewSentinelClient(&redis.Options{Addr: h.store.sentinel.Addr()})
	defer ask.Close()
	sub := ask.Subscribe(ctx, down, switched)
	defer sub.Close()
	var since time.Time // from when on the replica may lack something
	begin := func() { since = h.mayLack(time.Now().Add(-2 * time.Second)) }
	for ctx.Err() == nil {
		m, err := sub.ReceiveMessage(ctx)
		switch {
		case err != nil:
			time.Sleep(100 * time.Millisecond)
		case m.Channel == down && strings.HasPrefix(m.Payload, "master "):
			begin()
		case m.Channel == switched:
			if since.IsZero() { // by order
				begin()
			}
			h.within(30*time.Second, func() bool { return h.linked(h.store.nodes[0]) || h.linked(h.store.nodes[1]) })
			h.lost(since)
			since = time.Time{}
		}
	}
}
