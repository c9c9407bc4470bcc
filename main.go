// Command bide is a scheduler and delayed-job service on Redis.
package main

import (
	"context"
	_ "embed" // for the sample
	"os"
	"os/signal"
	"syscall"
	"time"
	_ "time/tzdata" // schedules have time zones, whatever the machine has

	"github.com/bide-go/bide/internal/cli"
	"github.com/bide-go/bide/internal/clock"
)

// sample is what dev runs where there is no schedules file.
//
//go:embed schedules.yaml
var sample []byte

func main() { os.Exit(run()) }

// echo is how soon after the first a signal is taken for the same one: timeout(1)
// and some supervisors send it to the process and to its group.
const echo = 20 * time.Millisecond

// run turns signals into a context and channels: the first SIGINT or SIGTERM ends
// ctx, a second one closes env.Hard, each SIGHUP asks for a reload.
func run() int {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	signals := make(chan os.Signal, 4)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	defer signal.Stop(signals)

	hard, reload := make(chan struct{}), make(chan struct{}, 1)
	go func() {
		var first time.Time
		var cut bool
		for s := range signals {
			switch {
			case s == syscall.SIGHUP:
				select {
				case reload <- struct{}{}:
				default: // one is asked for already
				}
			case first.IsZero():
				first = clock.Now()
				cancel()
			case !cut && clock.Since(first) > echo:
				cut = true
				close(hard)
			}
		}
	}()

	env := cli.System()
	env.Hard, env.Reload, env.Sample = hard, reload, sample
	return cli.Run(ctx, env, os.Args)
}
