package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/rs/zerolog"

	"github.com/bide-go/bide/dispatcher"
	"github.com/bide-go/bide/internal/chaos"
	"github.com/bide-go/bide/job"
	"github.com/bide-go/bide/worker"
)

// task is the args of the jobs that producers create.
type task struct {
	Work      int  `json:"work,omitempty"`      // ms that an attempt takes
	Fail      int  `json:"fail,omitempty"`      // attempts that fail
	Permanent bool `json:"permanent,omitempty"` // the last of them for good
	Stubborn  int  `json:"stubborn,omitempty"`  // ms for which it goes on after its context has ended
}

// hands are the handlers of a worker.
type hands struct {
	rec  *chaos.Recorder
	bulk *chaos.BulkRecorder
	proc string
	runs atomic.Int64
	of   sync.Map // *job.Job -> the name of its run
}

func (c *child) work(ctx context.Context, rdb redis.UniversalClient, rec *chaos.Recorder, log zerolog.Logger) error {
	bulk, err := chaos.NewBulkRecorder(c.Dir + "/" + c.Proc + ".bulk")
	if err != nil {
		return err
	}
	h := &hands{rec: rec, bulk: bulk, proc: c.Proc}
	reg := worker.NewRegistry()
	reg.Handle("act", h.act)
	reg.Handle("tick", h.act)
	reg.Handle("bulk", h.count)
	d := dispatcher.New(rdb, reg, dispatcher.Config{
		Queues: c.Queues, Concurrency: c.Concurrency, Lease: c.Lease, Grace: c.Grace,
		MaxLost: 1000, // a run of this kills them over and over
		Log:     log, Observe: h.settled,
	})
	return d.Run(ctx)
}

// act does what the job's args say, and writes down when it begins, when its context
// ends, and when it returns.
func (h *hands) act(ctx context.Context, j *job.Job) (err error) {
	name := h.proc + "/" + strconv.FormatInt(h.runs.Add(1), 10)
	h.of.Store(j, name)
	h.rec.Note(chaos.Event{Kind: chaos.Started, ID: j.ID, Run: name, Queue: j.Queue, Attempt: j.Attempt(), Lost: j.Lost})
	silence := context.AfterFunc(ctx, func() {
		h.rec.Note(chaos.Event{Kind: chaos.Context, ID: j.ID, Run: name, Why: cause(ctx)})
	})
	defer func() {
		silence()
		e := chaos.Event{Kind: chaos.Ended, ID: j.ID, Run: name, Attempt: j.Attempt(), Lost: j.Lost}
		if err != nil {
			e.Err, e.Why = err.Error(), cause(ctx)
		}
		h.rec.Note(e)
	}()
	var t task
	if err := json.Unmarshal(j.Args, &t); err != nil {
		return job.Permanent(err)
	}
	select {
	case <-time.After(time.Duration(t.Work) * time.Millisecond):
	case <-ctx.Done():
		time.Sleep(time.Duration(t.Stubborn) * time.Millisecond)
		return ctx.Err()
	}
	if j.Attempt() > t.Fail {
		return nil
	}
	err = fmt.Errorf("attempt %d fails as asked", j.Attempt())
	if t.Permanent && j.Attempt() == t.Fail {
		err = job.Permanent(err)
	}
	return err
}

func cause(ctx context.Context) string {
	if ctx.Err() == nil {
		return ""
	}
	for word, err := range map[string]error{"lost": job.ErrLeaseLost, "shutdown": job.ErrShutdown, "cancelled": job.ErrCancelled, "timeout": job.ErrTimeout} {
		if errors.Is(context.Cause(ctx), err) {
			return word
		}
	}
	return fmt.Sprint(context.Cause(ctx))
}

// settled writes down what Redis has made of an attempt.
func (h *hands) settled(o dispatcher.Outcome) {
	name, ok := h.of.LoadAndDelete(o.Job)
	if !ok {
		return // a bulk job, or one whose body could not be read
	}
	h.rec.Note(chaos.Event{Kind: chaos.Settled, ID: o.Job.ID, Run: name.(string), State: string(o.State), Pause: o.Pause.Milliseconds()})
}

// count is the handler of bulk jobs: many, and each in a few bytes.
func (h *hands) count(_ context.Context, j *job.Job) error {
	return h.bulk.Note(j.ID, j.Lost > 0 || j.Attempts > 0)
}
