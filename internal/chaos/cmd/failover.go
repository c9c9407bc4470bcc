package main

import (
	"context"
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
	at := time.Now()
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
		h.lost(at.Add(-time.Second))
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
	h.lost(at.Add(-time.Second))
	h.within(30*time.Second, h.known)
	return true
}

// lost writes down that what was written from then until now may be gone.
func (h *harness) lost(from time.Time) {
	h.rec.Note(chaos.Event{Kind: chaos.Loss, From: from.UnixNano(), To: time.Now().UnixNano(), What: "failover"})
}

func (h *harness) linked(n *node) bool {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	text := n.rdb.Info(ctx, "replication").Val()
	return strings.Contains(text, "role:slave") && strings.Contains(text, "master_link_status:up")
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
	var since time.Time
	for ctx.Err() == nil {
		m, err := sub.ReceiveMessage(ctx)
		switch {
		case err != nil:
			time.Sleep(100 * time.Millisecond)
		case m.Channel == down && strings.HasPrefix(m.Payload, "master "):
			since = time.Now()
		case m.Channel == switched:
			if since.IsZero() { // by order
				since = time.Now()
			}
			h.within(30*time.Second, func() bool { return h.linked(h.store.nodes[0]) || h.linked(h.store.nodes[1]) })
			h.lost(since.Add(-2 * time.Second))
			since = time.Time{}
		}
	}
}
