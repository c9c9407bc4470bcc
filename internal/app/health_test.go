package app

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/bide-go/bide/internal/redistest"
	"github.com/bide-go/bide/internal/timely"
)

func TestHealth(t *testing.T) {
	t.Parallel()
	r := newRig(t, redistest.NewReal(t))
	r.write("version: 1\nschedules: {}\n")
	a := r.serve()
	a.readyWithin(5 * time.Second)
	if status, h, _ := a.ask("/-/ready"); status != http.StatusOK || !h.Live || !h.Ready || len(h.Problems) != 0 {
		t.Errorf("ready: %d %+v", status, h)
	}
	if status, h, _ := a.ask("/-/healthy"); status != http.StatusOK || !h.Live || !h.Ready || len(h.Problems) != 0 {
		t.Errorf("healthy: %d %+v", status, h)
	}

	unready := func(why, part string) {
		t.Helper()
		deadline := time.Now().Add(timely.Limit(5 * time.Second))
		for {
			status, h, took := a.ask("/-/ready")
			if took > timely.Limit(time.Second+slack/2) {
				t.Errorf("%s: the answer took %v", why, took)
			}
			if status == http.StatusServiceUnavailable && !h.Ready && h.Live && strings.Contains(strings.Join(h.Problems, "; "), part) {
				break
			}
			if time.Now().After(deadline) {
				t.Fatalf("%s: %d %+v, want 503 and a problem with %q", why, status, h, part)
			}
		}
		if status, h, took := a.ask("/-/healthy"); status != http.StatusOK || !h.Live || took > timely.Limit(time.Second) {
			t.Errorf("%s: healthy: %d %+v after %v", why, status, h, took)
		}
	}
	ctx := context.Background()
	t.Run("frozen", func(t *testing.T) {
		r.Freeze()
		unready("frozen", "redis")
		r.Thaw()
		a.readyWithin(5 * time.Second)
	})
	t.Run("read-only", func(t *testing.T) {
		if err := r.rdb.ReplicaOf(ctx, "127.0.0.1", "1").Err(); err != nil {
			t.Fatal(err)
		}
		unready("read-only", "READONLY")
		if err := r.rdb.ReplicaOf(ctx, "NO", "ONE").Err(); err != nil {
			t.Fatal(err)
		}
		a.readyWithin(5 * time.Second)
	})
	t.Run("killed", func(t *testing.T) {
		r.Kill()
		unready("killed", "redis")
		r.Restart()
		a.readyWithin(5 * time.Second)
	})
	t.Run("its memory full", func(t *testing.T) {
		if err := r.rdb.ConfigSet(ctx, "maxmemory", "1").Err(); err != nil {
			t.Fatal(err)
		}
		unready("full", "OOM")
		if err := r.rdb.ConfigSet(ctx, "maxmemory", "0").Err(); err != nil {
			t.Fatal(err)
		}
		a.readyWithin(5 * time.Second)
	})
}

func TestARoleThatStandsStillIsNotReady(t *testing.T) {
	t.Parallel()
	s := &service{parts: []part{
		{"scheduler", func() time.Time { return time.Time{} }},
		{"promoter", func() time.Time { return time.Now().Add(-20 * time.Second) }},
		{"worker", func() time.Time { return time.Now().Add(-20 * time.Second) }},
	}}
	s.opts.Lease = time.Minute
	got := strings.Join(s.still(), "; ")
	if want := "scheduler has not worked yet; promoter has not worked for 20s"; got != want {
		t.Errorf("want %q, got %q", want, got)
	}
}

func TestOtherRequestsAreRefused(t *testing.T) {
	t.Parallel()
	r := mini(t)
	a := r.serve()
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	for _, tt := range []struct {
		method, path string
		want         int
	}{
		{"GET", "/", http.StatusNotFound}, {"GET", "/-/", http.StatusNotFound}, {"POST", "/-/ready", http.StatusMethodNotAllowed},
		{"DELETE", "/-/healthy", http.StatusMethodNotAllowed}, {"HEAD", "/-/healthy", http.StatusOK},
	} {
		req, err := http.NewRequest(tt.method, "http://"+a.address+tt.path, nil)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != tt.want {
			t.Errorf("%s %s: want %d, got %d", tt.method, tt.path, tt.want, resp.StatusCode)
		}
	}
	resp, err := client.Get("http://" + a.address + "/-/healthy")
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if got := resp.Header.Get("Content-Type"); got != "application/json" {
		t.Errorf("content type: %q", got)
	}
	if got := resp.Header.Get("Cache-Control"); got != "no-store" {
		t.Errorf("cache control: %q", got)
	}
}
