package cli

import (
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/bide-go/bide/internal/app"
	"github.com/bide-go/bide/job"
)

const (
	defaultFile   = "schedules.yaml"
	defaultListen = "127.0.0.1:8080"
)

var allRoles = []string{"scheduler", "promoter", "worker", "api"}

// serviceFlags are the flags that serve and dev share.
func serviceFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringSliceFlag{Name: "file", Usage: "schedules `FILE`; may be given again, all are one set (default schedules.yaml if there is one)"},
		&cli.StringFlag{Name: "queues", Usage: "`LIST` of queues in strict order, such as high,medium,low, or with weights, such as high=6,medium=3,low=1 (default high,medium,low)"},
		&cli.StringFlag{Name: "concurrency", Usage: "run `N` jobs at a time (default 50)"},
		&cli.StringFlag{Name: "lease", Usage: "`DURATION` after which a job of a silent worker is taken over, at least 1s (default 15s)"},
		&cli.StringFlag{Name: "grace", Usage: "`DURATION` to let running jobs finish at a stop (default 25s)"},
		&cli.StringFlag{Name: "max-lost", Usage: "a job that lost `N` leases is dead (default 5)"},
		&cli.StringFlag{Name: "listen", Usage: "`ADDRESS` of the HTTP endpoints; port 0 takes a free one (default " + defaultListen + " with role api, else none)"},
		&cli.StringFlag{Name: "dead-retention", Usage: "keep dead jobs for `DURATION` (default 90d)"},
		&cli.StringFlag{Name: "dead-max", Usage: "keep at most `N` dead jobs (default 100000)"},
		&cli.BoolFlag{Name: "strict-redis", Usage: "refuse to start unless Redis' maxmemory-policy is noeviction (default: warn)"},
		&cli.BoolFlag{Name: "allow-exec", Usage: "let jobs of the handler exec run commands: whoever may enqueue then runs them as this user (default: they wait)"},
		&cli.StringSliceFlag{Name: "http-allow-cidr", Usage: "connect jobs of the handler http to `CIDR` only; a list or given again (default: anywhere but link-local, multicast and unspecified addresses)"},
		&cli.StringSliceFlag{Name: "http-deny-cidr", Usage: "do not connect jobs of the handler http to `CIDR`; a list or given again"},
	}
}

// serviceOptions reads those flags. What belongs to one of the two commands alone
// is left for it.
func (p *program) serviceOptions(v *values) app.Options {
	o := app.Options{
		Namespace: p.set.namespace, Log: p.logger(), Version: readVersion().Version,
		Problems: p.env.Stderr, Color: p.set.colorErr,
		Reload: p.env.Reload, Hard: p.env.Hard,
		Concurrency: v.number("concurrency", 50, 100_000),
		Lease:       v.span("lease", 15*time.Second, time.Second),
		Grace:       v.span("grace", 25*time.Second, 0),
		MaxLost:     v.number("max-lost", 5, 1_000_000),

		DeadRetention: v.span("dead-retention", 90*24*time.Hour, time.Second),
		DeadMax:       v.number("dead-max", 100_000, 1_000_000_000),

		StrictRedis: v.yes("strict-redis"), AllowExec: v.yes("allow-exec"),
		HTTPAllow: v.prefixes("http-allow-cidr"), HTTPDeny: v.prefixes("http-deny-cidr"), HTTPProxy: v.proxy("BIDE_HTTP_PROXY"),
	}
	o.Queues, o.Weights = v.queues()
	p.refuseLater(v)
	return o
}

// refuseLater refuses the variables of flags that this version does not have: what
// an operator asks for must not be left undone in silence.
func (p *program) refuseLater(v *values) {
	var names []string
	for flag, commands := range laterFlags {
		if slices.Contains(commands, "serve") && p.env.Getenv(variable(flag)) != "" {
			names = append(names, variable(flag))
		}
	}
	slices.Sort(names)
	for _, name := range names {
		v.refuse(name, "this is not in this version of bide; unset it")
	}
}

// queues reads a list in strict order, or one with weights.
func (v *values) queues() ([]string, map[string]int) {
	found, ok := v.find("queues")
	if !ok {
		return tiers, nil
	}
	var names []string
	weights := map[string]int{}
	parts := strings.Split(found.text, ",")
	for _, part := range parts {
		name, weight, weighted := strings.Cut(strings.TrimSpace(part), "=")
		if err := job.CheckQueue(name); err != nil {
			v.refuse(found.from, err.Error())
			continue
		}
		if slices.Contains(names, name) {
			v.refuse(found.from, fmt.Sprintf("queue %q is there twice", name))
			continue
		}
		names = append(names, name)
		if !weighted {
			continue
		}
		n, err := strconv.Atoi(weight)
		if err != nil || n < 1 || n > 1_000_000 {
			v.refuse(found.from, fmt.Sprintf("the weight of queue %q must be a whole number from 1 to 1000000, not %q", name, weight))
		}
		weights[name] = n
	}
	switch len(weights) {
	case 0:
		return names, nil
	case len(names):
	default:
		v.refuse(found.from, "give a weight to every queue, or to none")
	}
	return names, weights
}

// roles reads which roles to run.
func (v *values) roles() []string {
	found, ok := v.find("roles")
	if !ok {
		return allRoles
	}
	var roles []string
	for part := range strings.SplitSeq(found.text, ",") {
		role := strings.TrimSpace(part)
		if !slices.Contains(allRoles, role) {
			v.refuse(found.from, fmt.Sprintf("%q is not one of %s", role, strings.Join(allRoles, ", ")))
		} else if !slices.Contains(roles, role) {
			roles = append(roles, role)
		}
	}
	return roles
}

// files reads which schedules files to load, and whether they were asked for.
func (v *values) files() (files []string, given bool) {
	if files = v.c.StringSlice("file"); len(files) == 0 {
		if text := v.getenv(variable("file")); text != "" {
			files = []string{text}
		}
	}
	for _, f := range files {
		if f == "" {
			v.refuse("--file", "the value is empty")
		}
	}
	if len(files) > 0 {
		return files, true
	}
	return []string{defaultFile}, false // it may come later
}

// listen reads where to listen. Nobody is asked who they are in this version, so
// only this machine may be.
func (v *values) listen(unset string) string {
	found, ok := v.find("listen")
	if !ok {
		return unset
	}
	host, port, err := net.SplitHostPort(found.text)
	if err != nil {
		v.refuse(found.from, fmt.Sprintf("%q is not an address such as %s", found.text, defaultListen))
		return unset
	}
	if n, err := strconv.ParseUint(port, 10, 16); err != nil || strconv.FormatUint(n, 10) != port {
		v.refuse(found.from, fmt.Sprintf("%q is not a port from 0 to 65535", port))
	}
	if ip := net.ParseIP(host); host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		v.refuse(found.from, fmt.Sprintf("unsafe --listen %q: this version asks nobody who they are, so it listens on this machine only; use 127.0.0.1:%s", found.text, port))
	}
	return found.text
}
