package dispatcher_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/bide-go/bide/dispatcher"
	"github.com/bide-go/bide/job"
	"github.com/bide-go/bide/worker"
)

func TestMistakesAreReturnedByRun(t *testing.T) {
	t.Parallel()
	rdb := redis.NewClient(&redis.Options{Addr: "127.0.0.1:1"}) // never asked
	defer rdb.Close()
	tests := []struct {
		name string
		cfg  dispatcher.Config
		want []string // all of them are told at once
	}{
		{"namespace", dispatcher.Config{Namespace: "No Good"}, []string{`namespace "No Good" must be a-z`}},
		{"queue", dispatcher.Config{Queues: []string{"Mail"}}, []string{`queue "Mail" must be a-z`}},
		{"lane", dispatcher.Config{Queues: []string{"high-delayed"}}, []string{`must not end in "-delayed"`}},
		{"no queue", dispatcher.Config{Queues: []string{}}, []string{"no queues were given"}},
		{"queue twice", dispatcher.Config{Queues: []string{"a", "b", "a"}}, []string{`queue "a" was given twice`}},
		{"weight", dispatcher.Config{Weights: map[string]int{"high": 0}}, []string{`weight 0 of queue "high" is not 1 to 1000`}},
		{"weight of a queue not served", dispatcher.Config{Weights: map[string]int{"hihg": 6}}, []string{`"hihg"`}},
		{"concurrency", dispatcher.Config{Concurrency: -1}, []string{"concurrency -1 is not 1 to 100000"}},
		{"lease", dispatcher.Config{Lease: time.Millisecond}, []string{"lease 1ms is below 1s"}},
		{"lost", dispatcher.Config{MaxLost: -3}, []string{"at least one lost lease must be allowed, not -3"}},
		{"several", dispatcher.Config{Concurrency: -1, Lease: -1, Queues: []string{"?"}}, []string{"concurrency -1", "lease -1ns", `queue "?"`}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			reg := worker.NewRegistry()
			reg.Handle("mail", func(context.Context, *job.Job) error { return nil })
			err := dispatcher.New(rdb, reg, test.cfg).Run(ctx)
			if err == nil {
				t.Fatal("Run = nil, want an error")
			}
			for _, want := range test.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("Run = %q, want it to say %q", err, want)
				}
			}
		})
	}
	t.Run("handlers", func(t *testing.T) {
		if err := dispatcher.New(rdb, nil, dispatcher.Config{}).Run(t.Context()); err == nil || !strings.Contains(err.Error(), "no handlers") {
			t.Errorf("Run = %v, want it to say that there are no handlers", err)
		}
		reg := worker.NewRegistry()
		reg.Handle("not a name", nil)
		if err := dispatcher.New(rdb, reg, dispatcher.Config{}).Run(t.Context()); err == nil || !strings.Contains(err.Error(), `"not a name"`) {
			t.Errorf("Run = %v, want the registry's mistake", err)
		}
	})
}
