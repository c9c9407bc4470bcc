package runner

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/bide-go/bide/bench/internal/machine"
	"github.com/bide-go/bide/bench/internal/redisserver"
	"github.com/bide-go/bide/bench/internal/result"
	"github.com/bide-go/bide/internal/clock"
)

// systems returns those that take part, with notes about the others. BullMQ is
// installed if need be.
func (b *Bench) systems(ctx context.Context) (list []System, notes []string, err error) {
	for _, name := range b.Systems {
		if !slices.ContainsFunc(Systems, func(s System) bool { return s.Name == name }) {
			return nil, nil, fmt.Errorf("no system is called %q", name)
		}
	}
	for _, s := range Systems {
		if len(b.Systems) > 0 && !slices.Contains(b.Systems, s.Name) {
			continue
		}
		if s.adapter == "bullmq" {
			if err := b.installBullMQ(ctx); err != nil {
				if b.NeedNode {
					return nil, nil, err
				}
				notes = append(notes, "BullMQ is left out: "+err.Error())
				continue
			}
		}
		list = append(list, s)
	}
	return list, notes, nil
}

// installBullMQ runs npm ci unless what it would install is there.
func (b *Bench) installBullMQ(ctx context.Context) error {
	if _, err := exec.LookPath("node"); err != nil {
		return fmt.Errorf("node is not installed (18 or later is needed)")
	}
	version := machine.Output(ctx, "node", "--version")
	if major, _, _ := strings.Cut(strings.TrimPrefix(version, "v"), "."); len(major) < 2 || major < "18" {
		return fmt.Errorf("node %s is too old, 18 or later is needed", version)
	}
	dir := filepath.Join(b.Dir, "bullmq")
	lock, err := os.Stat(filepath.Join(dir, "package-lock.json"))
	if err != nil {
		return err
	}
	done, err := os.Stat(filepath.Join(dir, "node_modules", ".package-lock.json"))
	if err == nil && !done.ModTime().Before(lock.ModTime()) {
		return nil
	}
	cmd := exec.CommandContext(ctx, "npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--silent")
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("npm ci: %w: %s", err, tail(string(out)))
	}
	return nil
}

// describe tells what is measured on what.
func (b *Bench) describe(ctx context.Context, systems []System) result.File {
	f := result.File{
		Date: clock.Now().UTC().Format("2006-01-02 15:04 UTC"), Command: b.Command, Machine: machine.Describe(ctx),
		Versions: map[string]string{
			"go": strings.TrimPrefix(runtime.Version(), "go"), "asynq": moduleVersion("github.com/hibiken/asynq"),
			"go-redis": moduleVersion("github.com/redis/go-redis/v9"), "bide": b.commit(ctx),
		},
		Threshold: b.Threshold,
	}
	if srv, err := redisserver.Start(ctx, -1); err == nil {
		f.Versions["redis"] = srv.Version(ctx)
		srv.Kill()
	}
	if !machine.CanMeasure {
		f.Notes = append(f.Notes, "This system does not tell who uses the CPU: nothing was pinned, no disturbed run was dropped, and CPU times are missing.")
	}
	for _, s := range systems {
		if s.adapter == "bullmq" {
			f.Versions["node"] = strings.TrimPrefix(machine.Output(ctx, "node", "--version"), "v")
			for _, p := range []string{"bullmq", "ioredis"} {
				f.Versions[p] = machine.Output(ctx, "node", "-p",
					fmt.Sprintf("require(%q).version", filepath.Join(b.absolute(), "bullmq", "node_modules", p, "package.json")))
			}
		}
		f.Systems = append(f.Systems, result.Settings{System: s.Name, Version: f.Versions[s.adapter], Settings: s.settings})
	}
	return f
}

func (b *Bench) absolute() string {
	dir, err := filepath.Abs(b.Dir)
	if err != nil {
		return b.Dir
	}
	return dir
}

// commit is bide's, with a mark if there are changes beside it. The results are no
// change: they are written anew by every run.
func (b *Bench) commit(ctx context.Context) string {
	c := machine.Output(ctx, "git", "-C", b.absolute(), "describe", "--tags", "--always")
	changed := machine.Output(ctx, "git", "-C", b.absolute(), "status", "--porcelain", "--", "..",
		":(exclude)RESULTS.md", ":(exclude)results.json", ":(exclude)*.svg")
	if changed != "" {
		c += " with changes"
	}
	return c
}

func moduleVersion(path string) string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	for _, m := range info.Deps {
		if m.Path == path {
			return strings.TrimPrefix(m.Version, "v")
		}
	}
	return ""
}
