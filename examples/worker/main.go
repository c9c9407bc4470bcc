// Command worker runs the jobs of an app until it is told to stop: typed handlers,
// middleware, effects that happen once for each job, errors that choose what happens
// next, and a shutdown that loses nothing.
//
//	REDIS_URL=redis://127.0.0.1:6379/0 go run ./examples/worker
//
// Give it work with examples/enqueue. Without REDIS_URL it is that of a Redis on
// this machine. Ctrl-C or SIGTERM drains: running jobs may finish, and what does not
// within five seconds goes back to the front of its lane. A second one does not wait.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/bide-go/bide/dispatcher"
	"github.com/bide-go/bide/promoter"
)

func main() {
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	if err := run(os.Getenv("REDIS_URL"), signals, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "worker:", err)
		os.Exit(1)
	}
}

// run works on the Redis at url until the first signal, and drains until the second.
func run(url string, signals <-chan os.Signal, out io.Writer) error {
	if url == "" {
		url = "redis://127.0.0.1:6379/0"
	}
	opts, err := redis.ParseURL(url)
	if err != nil {
		return errors.New("REDIS_URL is no redis:// address") // the error would show its password
	}
	rdb := redis.NewClient(opts)
	defer rdb.Close()

	log := &logger{out: out}
	app := &App{rdb: rdb, log: log}
	workers := dispatcher.New(rdb, app.Handlers(), dispatcher.Config{
		Concurrency: 10,
		Lease:       5 * time.Second,
		Grace:       5 * time.Second,
	})

	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	go func() {
		<-signals
		log.print("draining")
		stop()
		<-signals
		workers.Abort()
	}()

	// One promoter has to run somewhere: here, or `bide serve --roles promoter`.
	promoted := make(chan error, 1)
	go func() { promoted <- promoter.New(rdb, promoter.Config{}).Run(ctx) }()
	log.print("working")
	err = workers.Run(ctx)
	stop()
	err = errors.Join(err, <-promoted)
	log.print("stopped")
	return err
}

// logger prints lines. It is safe for concurrent use.
type logger struct {
	mu  sync.Mutex
	out io.Writer
}

func (l *logger) print(format string, args ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	fmt.Fprintf(l.out, format+"\n", args...)
}

// sleep stands in for work that takes a while.
func sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(d):
		return nil
	}
}
