package app

import (
	"context"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/bide-go/bide/internal/redistest"
)

func TestEvictionPolicy(t *testing.T) {
	t.Parallel()
	server := redistest.NewReal(t)
	ctx := context.Background()
	for _, tt := range []struct {
		policy       string
		strict, warn bool
		refused      bool
	}{
		{"noeviction", true, false, false},
		{"noeviction", false, false, false},
		{"allkeys-lru", false, true, false},
		{"allkeys-lru", true, false, true},
		{"volatile-ttl", true, false, true},
	} {
		if err := server.Client().ConfigSet(ctx, "maxmemory-policy", tt.policy).Err(); err != nil {
			t.Fatal(err)
		}
		r := newRig(t, server)
		r.opts.StrictRedis, r.opts.Listen = tt.strict, ""
		stop, cancel := context.WithCancel(ctx)
		started := make(chan struct{})
		r.opts.started = func(*service, net.Listener) { close(started); cancel() }
		err := Run(stop, r.opts)
		cancel()
		if refused := err != nil && strings.Contains(err.Error(), tt.policy); refused != tt.refused {
			t.Errorf("%+v: %v", tt, err)
		}
		if warned := r.log.count("redis may throw away jobs when its memory is full") > 0; warned != tt.warn {
			t.Errorf("%+v: warned %t", tt, warned)
		}
	}
}

// A Redis that forbids CONFIG is asked in another way; one that is away at first is
// judged when it comes.
func TestEvictionPolicyOfAGuardedRedis(t *testing.T) {
	t.Parallel()
	server := redistest.NewReal(t, "--rename-command", "CONFIG", "", "--maxmemory-policy", "allkeys-random")
	r := newRig(t, server)
	r.opts.StrictRedis, r.opts.Listen = true, ""
	if err := Run(context.Background(), r.opts); err == nil || !strings.Contains(err.Error(), "allkeys-random") {
		t.Errorf("want a refusal, got %v", err)
	}
	server.Kill()
	done := make(chan error, 1)
	go func() { done <- Run(context.Background(), r.opts) }()
	eventually(t, 10*time.Second, "it waits for Redis", func() bool { return r.log.count("serving") == 1 })
	server.Restart()
	select {
	case err := <-done:
		if err == nil || !strings.Contains(err.Error(), "allkeys-random") {
			t.Errorf("want a refusal, got %v", err)
		}
	case <-time.After(20 * time.Second):
		t.Error("it serves")
	}
}
