package cli

import (
	"context"
	"fmt"
	"net/netip"
	"net/url"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/urfave/cli/v2"

	"github.com/bide-go/bide/internal/app"
	"github.com/bide-go/bide/scripts"
)

// options runs serve or dev up to the point where the service would start.
func options(t *testing.T, env map[string]string, args ...string) app.Options {
	t.Helper()
	p := &program{env: Env{Getenv: getenv(env), Sample: []byte("sample")}.complete(), stdout: &output{}}
	var got app.Options
	var optionsErr error
	root := p.commands()
	find(root, "serve").Action = func(c *cli.Context) error { got, optionsErr = p.serveOptions(c); return optionsErr }
	find(root, "dev").Action = func(c *cli.Context) error { got, optionsErr = p.devOptions(c); return optionsErr }
	l, err := hoist(root, args)
	if err == nil {
		err = p.app(root).RunContext(context.Background(), l.args)
	}
	if err != nil {
		t.Fatalf("%v: %v", args, err)
	}
	return got
}

// known are the fields that flags decide.
func known(o app.Options) app.Options {
	return app.Options{
		Namespace: o.Namespace, Roles: o.Roles, Files: o.Files, FilesGiven: o.FilesGiven, Queues: o.Queues, Weights: o.Weights,
		Concurrency: o.Concurrency, Lease: o.Lease, Grace: o.Grace, MaxLost: o.MaxLost,
		DeadRetention: o.DeadRetention, DeadMax: o.DeadMax, Listen: o.Listen, AnyPort: o.AnyPort, StrictRedis: o.StrictRedis, AllowExec: o.AllowExec,
		HTTPAllow: o.HTTPAllow, HTTPDeny: o.HTTPDeny, HTTPProxy: o.HTTPProxy,
	}
}

func check(t *testing.T, got, want app.Options) {
	t.Helper()
	if diff := cmp.Diff(want.Queues, got.Queues); diff != "" {
		t.Errorf("queues (-want +got):\n%s", diff)
	}
	g, w := known(got), known(want)
	for _, f := range []struct {
		name      string
		got, want any
	}{
		{"namespace", g.Namespace, w.Namespace}, {"roles", g.Roles, w.Roles}, {"files", g.Files, w.Files},
		{"files given", g.FilesGiven, w.FilesGiven}, {"weights", g.Weights, w.Weights}, {"concurrency", g.Concurrency, w.Concurrency},
		{"lease", g.Lease, w.Lease}, {"grace", g.Grace, w.Grace}, {"max lost", g.MaxLost, w.MaxLost},
		{"dead retention", g.DeadRetention, w.DeadRetention}, {"dead max", g.DeadMax, w.DeadMax},
		{"listen", g.Listen, w.Listen}, {"any port", g.AnyPort, w.AnyPort}, {"strict redis", g.StrictRedis, w.StrictRedis},
		{"allow exec", g.AllowExec, w.AllowExec}, {"http allow", fmt.Sprint(g.HTTPAllow), fmt.Sprint(w.HTTPAllow)},
		{"http deny", fmt.Sprint(g.HTTPDeny), fmt.Sprint(w.HTTPDeny)}, {"http proxy", fmt.Sprint(g.HTTPProxy), fmt.Sprint(w.HTTPProxy)},
	} {
		if diff := cmp.Diff(f.want, f.got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", f.name, diff)
		}
	}
}

func TestServeOptions(t *testing.T) {
	defaults := app.Options{
		Namespace: "bide", Roles: []string{"scheduler", "promoter", "worker", "api"}, Queues: []string{"high", "medium", "low"},
		Concurrency: 50, Lease: 15 * time.Second, Grace: 25 * time.Second, MaxLost: 5,
		DeadRetention: 90 * 24 * time.Hour, DeadMax: 100_000, Listen: "127.0.0.1:8080",
		Files: []string{"schedules.yaml"}, // if it is there, or once it is
	}
	check(t, options(t, nil, "serve"), defaults)

	want := defaults
	want.AnyPort = true
	got := options(t, nil, "dev")
	check(t, got, want)
	if string(got.Sample) != "sample" || got.Dev == nil {
		t.Error("dev has no sample or nowhere to write to")
	}

	// Without role api nothing listens unless asked to; port 0 is any.
	want = defaults
	want.Roles, want.Listen, want.Files = []string{"worker"}, "", nil
	check(t, options(t, nil, "serve", "--roles", "worker"), want)
	want.Listen = "[::1]:0"
	check(t, options(t, nil, "serve", "--roles", "worker,worker", "--listen", "[::1]:0"), want)

	// Flags beat variables.
	want = defaults
	want.Queues, want.Weights = []string{"a", "b"}, map[string]int{"a": 6, "b": 1}
	want.Concurrency, want.Lease, want.Grace, want.MaxLost = 7, time.Second, 0, 1
	want.DeadRetention, want.DeadMax, want.Namespace, want.Listen = time.Hour, 9, "x", "localhost:81"
	want.Files, want.FilesGiven = []string{"one.yaml", "two,three.yaml"}, true
	check(t, options(t,
		map[string]string{"BIDE_QUEUES": "a=6,b=1", "BIDE_CONCURRENCY": "7", "BIDE_LEASE": "9s", "BIDE_GRACE": "0s", "BIDE_MAX_LOST": "1",
			"BIDE_DEAD_RETENTION": "1h", "BIDE_DEAD_MAX": "9", "BIDE_NAMESPACE": "x", "BIDE_LISTEN": "localhost:81", "BIDE_FILE": "other.yaml"},
		"serve", "--lease", "1s", "--file", "one.yaml", "--file", "two,three.yaml"), want)

	want = defaults
	want.StrictRedis = true
	check(t, options(t, nil, "serve", "--strict-redis"), want)
	check(t, options(t, map[string]string{"BIDE_STRICT_REDIS": "true"}, "serve"), want)
	want.StrictRedis = false
	check(t, options(t, map[string]string{"BIDE_STRICT_REDIS": "1"}, "serve", "--strict-redis=false"), want)

	want = defaults
	want.AllowExec = true
	want.HTTPAllow = []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("192.0.2.7/32"), netip.MustParsePrefix("fd00::/8")}
	want.HTTPDeny = []netip.Prefix{netip.MustParsePrefix("10.1.0.0/16")}
	want.HTTPProxy = &url.URL{Scheme: "http", Host: "proxy:3128"}
	check(t, options(t, map[string]string{"BIDE_ALLOW_EXEC": "1", "BIDE_HTTP_DENY_CIDR": "10.1.0.0/16", "BIDE_HTTP_PROXY": "http://proxy:3128", "BIDE_HTTP_ALLOW_CIDR": "x"},
		"serve", "--http-allow-cidr", "10.0.0.0/8, 192.0.2.7", "--http-allow-cidr=fd00::/8"), want)

	want = defaults
	want.Files, want.FilesGiven, want.AnyPort = []string{"my.yaml"}, true, true
	check(t, options(t, nil, "dev", "my.yaml"), want)
}

// fill makes n waiting jobs.
func fill(t *testing.T, set *scripts.Set, n int) {
	t.Helper()
	for left := n; left > 0; {
		jobs := make([]scripts.NewJob, min(left, scripts.EnqueueJobs))
		for i := range jobs {
			jobs[i] = scripts.NewJob{ID: "fill-" + time.Duration(left-i).String(), Queue: "medium", Name: "mail"}
		}
		if err := set.Enqueue(context.Background(), scripts.NewBatch(jobs...)); err != nil {
			t.Fatal(err)
		}
		left -= len(jobs)
	}
}
