package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/rs/zerolog"

	"github.com/bide-go/bide/internal/chaos"
)

// childEnv holds the settings of a child process, as JSON.
const childEnv = "BIDE_CHAOS_CHILD"

// child is what a process of ours is told.
type child struct {
	Role string // worker or producer
	Proc string
	URL  string
	Dir  string // where it writes its part of the history
	Seed int64

	Queues      []string
	Concurrency int
	Lease       time.Duration
	Grace       time.Duration

	Rate    int  // jobs a second
	Ordered bool // feed the ordered queue, too
	Bulk    int  // bulk jobs a second
}

// beChild is the main function of a worker or a producer.
func beChild(text string) int {
	var c child
	if err := json.Unmarshal([]byte(text), &c); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 3
	}
	redis.SetLogger(silent{})
	rdb, err := connect(c.URL, 0)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 3
	}
	defer rdb.Close()
	rec, err := chaos.NewRecorder(c.Dir+"/"+c.Proc+".events", c.Proc)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 3
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	log := zerolog.New(os.Stderr).With().Timestamp().Logger()
	switch c.Role {
	case "worker":
		err = c.work(ctx, rdb, rec, log)
	default:
		plain, err := connect(c.URL, -1)
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 3
		}
		defer plain.Close()
		c.produce(ctx, rdb, plain, rec)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

type silent struct{}

func (silent) Printf(context.Context, string, ...any) {}

// connect makes a client as bide serve does. With retries -1 the driver sends nothing
// again by itself.
func connect(url string, retries int) (redis.UniversalClient, error) {
	switch {
	case strings.Contains(url, "master_name="):
		o, err := redis.ParseFailoverURL(url)
		if err != nil {
			return nil, err
		}
		o.ContextTimeoutEnabled, o.MaxRetries = true, retries
		return redis.NewFailoverClient(o), nil
	case strings.Contains(url, "addr="):
		o, err := redis.ParseClusterURL(url)
		if err != nil {
			return nil, err
		}
		o.ContextTimeoutEnabled, o.MaxRetries = true, retries
		o.MaxRedirects = retries // its way to send again
		return redis.NewClusterClient(o), nil
	}
	o, err := redis.ParseURL(url)
	if err != nil {
		return nil, err
	}
	o.ContextTimeoutEnabled, o.MaxRetries = true, retries
	return redis.NewClient(o), nil
}

// logFile is where a process writes what it has to say.
func logFile(dir, proc string) io.WriteCloser {
	f, err := os.OpenFile(dir+"/"+proc+".log", os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		panic(err)
	}
	return f
}
