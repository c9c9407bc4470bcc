package worker_test

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	"github.com/bide-go/bide/job"
	"github.com/bide-go/bide/worker"
)

// Payment is the args of the jobs called "pay".
type Payment struct {
	Account string `json:"account"`
	Cents   int64  `json:"cents"`
}

// payOnce books a payment unless the job has booked it before: the effect and the note
// that it has been made are one step.
var payOnce = redis.NewScript(`
if redis.call('SET', KEYS[1], 1, 'NX', 'EX', ARGV[2]) then
  return redis.call('INCRBY', KEYS[2], ARGV[1])
end
return redis.call('GET', KEYS[2])`)

// A job runs at least once: after a crash, or after a lease that was lost, it runs
// again under the same id. A handler that writes down the id together with its effect
// makes the effect once.
func Example_idempotentHandler() {
	server, err := miniredis.Run()
	if err != nil {
		panic(err)
	}
	defer server.Close()
	db := redis.NewClient(&redis.Options{Addr: server.Addr()})
	defer db.Close()

	reg := worker.NewRegistry()
	worker.HandleFunc(reg, "pay", func(ctx context.Context, p Payment) error {
		j, _ := job.FromContext(ctx)
		const week = 7 * 24 * 3600 // longer than any repetition is late
		keys := []string{"paid:" + j.ID, "balance:" + p.Account}
		return payOnce.Run(ctx, db, keys, p.Cents, week).Err()
	})

	j := &job.Job{ID: "order-42", Name: "pay", Args: json.RawMessage(`{"account": "ana", "cents": 1999}`)}
	for attempt := range 3 { // as if the lease had been lost twice
		j.Lost = attempt
		if err := reg.Run(context.Background(), j); err != nil {
			fmt.Println(err)
		}
	}
	fmt.Println(db.Get(context.Background(), "balance:ana").Val())
	// Output: 1999
}
