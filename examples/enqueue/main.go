// Command enqueue gives examples/worker something to do: now, later, at an instant,
// many at once, one at a time, and what can be done with a job until it starts.
//
//	REDIS_URL=redis://127.0.0.1:6379/0 go run ./examples/enqueue
//
// Without REDIS_URL it is that of a Redis on this machine.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/bide-go/bide/job"
	"github.com/bide-go/bide/scheduler"
)

func main() {
	if err := run(context.Background(), os.Getenv("REDIS_URL"), os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "enqueue:", err)
		os.Exit(1)
	}
}

// Mail is the args of send-email.
type Mail struct {
	To      string `json:"to"`
	Subject string `json:"subject"`
}

func run(ctx context.Context, url string, out io.Writer) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second) // every call heeds it
	defer cancel()
	if url == "" {
		url = "redis://127.0.0.1:6379/0"
	}
	opts, err := redis.ParseURL(url)
	if err != nil {
		return errors.New("REDIS_URL is no redis:// address") // the error would show its password
	}
	rdb := redis.NewClient(opts)
	defer rdb.Close()
	client := scheduler.NewClient(rdb)

	// Now.
	id, err := client.Execute(ctx, "high", "send-email", Mail{"ana@example.com", "Welcome"})
	if err != nil {
		return explain(err)
	}
	fmt.Fprintln(out, "now:        ", id)

	// Later, counted from Redis' clock, with some of the options.
	id, err = client.ExecuteLater(ctx, "medium", "call-partner", nil, 2*time.Second,
		scheduler.WithMaxAttempts(3), scheduler.WithTimeout(10*time.Second))
	if err != nil {
		return explain(err)
	}
	fmt.Fprintln(out, "in 2s:      ", id)

	// At an instant.
	now, err := rdb.Time(ctx).Result()
	if err != nil {
		return explain(err)
	}
	id, err = client.ExecuteAt(ctx, "low", "report", map[string]int{"pages": 3}, now.Add(3*time.Second))
	if err != nil {
		return explain(err)
	}
	fmt.Fprintln(out, "at:         ", id)

	// Many, with few round trips. Each has a result of its own: one that is
	// refused does not stop the others.
	var requests []scheduler.Request
	for i := range 100 {
		requests = append(requests, scheduler.Request{
			Queue: "high", Name: "send-email", Args: Mail{fmt.Sprintf("user-%d@example.com", i), "News"},
		})
	}
	requests = append(requests, scheduler.Request{Queue: "HIGH", Name: "send-email"})
	results, err := client.ExecuteMany(ctx, requests)
	if err != nil {
		return explain(err)
	}
	created := 0
	for _, r := range results {
		if r.Err != nil {
			fmt.Fprintln(out, "refused:    ", r.Err)
			continue
		}
		created++
	}
	fmt.Fprintln(out, "many:       ", created)

	// One at a time: while this one is delayed, waiting or active, no other job
	// with that unique key is created. That is no error.
	unique := scheduler.Request{
		Queue: "low", Name: "report", Args: map[string]int{"pages": 1}, Delay: time.Second,
		Options: []scheduler.Option{scheduler.WithUnique("monthly-report")},
	}
	first, err := client.Enqueue(ctx, unique)
	if err != nil {
		return explain(err)
	}
	second, err := client.Enqueue(ctx, unique)
	if err != nil {
		return explain(err)
	}
	fmt.Fprintln(out, "unique:     ", second.ID == first.ID, second.Deduplicated)

	// An id of your own makes a call safe to repeat: as long as the job is live,
	// retained or dead, it is not created again.
	id, err = client.ExecuteLater(ctx, "high", "charge", map[string]any{"account": "ana", "cents": 250}, time.Hour,
		scheduler.WithID(fmt.Sprintf("charge-%d", now.UnixNano())), scheduler.WithRetention(time.Hour))
	if err != nil {
		return explain(err)
	}

	// Look at it, and move it.
	j, err := client.Get(ctx, id)
	if err != nil {
		return explain(err)
	}
	fmt.Fprintln(out, "get:        ", j.State, string(j.Args), j.Due.Sub(j.Created))
	if j, err = client.Reschedule(ctx, id, now.Add(time.Second)); err != nil {
		return explain(err)
	}
	fmt.Fprintln(out, "rescheduled:", j.State, j.ID)

	// Plans change.
	id, err = client.ExecuteLater(ctx, "high", "send-email", Mail{"ana@example.com", "Never mind"}, time.Hour)
	if err != nil {
		return explain(err)
	}
	if j, err = client.Cancel(ctx, id); err != nil {
		return explain(err)
	}
	fmt.Fprintln(out, "cancelled:  ", j.State)
	_, err = client.Get(ctx, id)
	fmt.Fprintln(out, "get:        ", err, errors.Is(err, job.ErrNotFound))
	return nil
}

// explain tells the two ways apart in which Redis can be away.
func explain(err error) error {
	var unknown *job.OutcomeUnknownError
	switch {
	case errors.Is(err, job.ErrUnavailable):
		return fmt.Errorf("nothing was sent, simply try again: %w", err)
	case errors.As(err, &unknown):
		return fmt.Errorf("repeat it with the ids %v: %w", unknown.IDs, err)
	}
	return err
}
