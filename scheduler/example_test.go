package scheduler_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	"github.com/bide-go/bide/dispatcher"
	"github.com/bide-go/bide/job"
	"github.com/bide-go/bide/promoter"
	"github.com/bide-go/bide/scheduler"
	"github.com/bide-go/bide/worker"
)

// connect returns a client of an embedded Redis, which stands in for a real one.
func connect() (rdb *redis.Client, end func()) {
	mini, err := miniredis.Run()
	if err != nil {
		panic(err)
	}
	mini.SetTime(time.Date(2026, 11, 30, 9, 0, 0, 0, time.UTC))
	rdb = redis.NewClient(&redis.Options{Addr: mini.Addr()})
	return rdb, func() { _ = rdb.Close(); mini.Close() }
}

func ExampleClient_Execute() {
	rdb, end := connect()
	defer end()
	ctx := context.Background()

	client := scheduler.NewClient(rdb)
	_, err := client.Execute(ctx, "high", "send-email", map[string]string{"to": "ana@example.com"})
	fmt.Println(err)
	// Output: <nil>
}

func ExampleClient_ExecuteLater() {
	rdb, end := connect()
	defer end()
	ctx := context.Background()

	client := scheduler.NewClient(rdb)
	id, err := client.ExecuteLater(ctx, "high", "send-email", map[string]string{"to": "ana@example.com"}, 24*time.Hour,
		scheduler.WithID("reminder-17"), scheduler.WithMaxAttempts(10))
	if err != nil {
		fmt.Println(err)
		return
	}
	j, err := client.Get(ctx, id)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(j.ID, j.State, j.Due.Format(time.RFC3339), string(j.Args))
	// Output: reminder-17 delayed 2026-12-01T09:00:00Z {"to":"ana@example.com"}
}

func ExampleClient_ExecuteAt() {
	rdb, end := connect()
	defer end()
	ctx := context.Background()

	client := scheduler.NewClient(rdb)
	newYear := time.Date(2027, 1, 1, 0, 0, 0, 0, time.FixedZone("CET", 3600))
	id, err := client.ExecuteAt(ctx, "low", "fireworks", nil, newYear, scheduler.WithID("fireworks"))
	if err != nil {
		fmt.Println(err)
		return
	}
	// Plans change.
	if j, err := client.Reschedule(ctx, id, newYear.Add(time.Hour)); err == nil {
		fmt.Println(j.State, j.Due.Format(time.RFC3339))
	}
	if j, err := client.Cancel(ctx, id); err == nil {
		fmt.Println(j.State)
	}
	_, err = client.Get(ctx, id)
	fmt.Println(errors.Is(err, job.ErrNotFound))
	// Output:
	// delayed 2027-01-01T00:00:00Z
	// cancelled
	// true
}

func ExampleClient_Enqueue() {
	rdb, end := connect()
	defer end()
	ctx := context.Background()

	// While one rebuild of the index is delayed, waiting or active, another one is
	// not created. That is no error.
	client := scheduler.NewClient(rdb)
	rebuild := scheduler.Request{
		Queue: "low", Name: "rebuild-index", Delay: time.Minute, Options: []scheduler.Option{scheduler.WithUnique("rebuild-index")},
	}
	first, err := client.Enqueue(ctx, rebuild)
	fmt.Println(first.State, first.Deduplicated, err)
	second, err := client.Enqueue(ctx, rebuild)
	fmt.Println(second.State, second.Deduplicated, err, second.ID == first.ID)
	// Output:
	// delayed false <nil>
	// delayed true <nil> true
}

func ExampleClient_ExecuteMany() {
	rdb, end := connect()
	defer end()

	client := scheduler.NewClient(rdb)
	results, err := client.ExecuteMany(context.Background(), []scheduler.Request{
		{Queue: "high", Name: "send-email", Args: json.RawMessage(`{"to": "ana@example.com"}`)},
		{Queue: "high", Name: "send e-mail"},
		{Queue: "low", Name: "tidy-up", Delay: time.Hour},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, r := range results {
		fmt.Println(r.State, r.Err)
	}
	// Output:
	// waiting <nil>
	//  job name "send e-mail" must be letters, digits and : . _ / - (at most 200), beginning with a letter or digit
	// delayed <nil>
}

func ExampleClient_ExecuteLaterTx() {
	rdb, end := connect()
	defer end()
	ctx := context.Background()

	// The order and its reminder are committed together, or neither is.
	client := scheduler.NewClient(rdb)
	_, err := rdb.TxPipelined(ctx, func(pipe redis.Pipeliner) error {
		pipe.HSet(ctx, "{bide}:orders", "17", "open")
		_, err := client.ExecuteLaterTx(ctx, pipe, "medium", "remind", 17, time.Hour, scheduler.WithID("remind-17"))
		return err
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	j, err := client.Get(ctx, "remind-17")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(rdb.HGet(ctx, "{bide}:orders", "17").Val(), j.State)
	// Output: open delayed
}

// A schedule runs as soon as one scheduler, one promoter and one dispatcher run
// somewhere.
func ExampleScheduler() {
	mini, err := miniredis.Run()
	if err != nil {
		panic(err)
	}
	defer mini.Close()
	rdb := redis.NewClient(&redis.Options{Addr: mini.Addr()})
	defer rdb.Close()

	s := scheduler.New(rdb, scheduler.Config{})
	err = s.Replace([]scheduler.Definition{{Name: "every-second", Schedule: []string{"@every 1s"}, Job: "greet", Args: json.RawMessage(`"hello"`)}}, nil)
	if err != nil {
		panic(err)
	}
	ran := make(chan *job.Job, 100)
	handlers := worker.NewRegistry()
	handlers.Handle("greet", func(ctx context.Context, j *job.Job) error { ran <- j; return nil })

	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 3)
	go func() { done <- s.Run(ctx) }()
	go func() { done <- promoter.New(rdb, promoter.Config{}).Run(ctx) }()
	go func() { done <- dispatcher.New(rdb, handlers, dispatcher.Config{Concurrency: 2}).Run(ctx) }()

	first, second := <-ran, <-ran
	fmt.Println(first.Schedule, string(first.Args), second.Tick.Sub(first.Tick))
	stop()
	for range 3 {
		if err := <-done; err != nil {
			fmt.Println(err)
		}
	}
	// Output: every-second "hello" 1s
}
