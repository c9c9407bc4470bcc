package scheduler

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"github.com/redis/go-redis/v9"

	"github.com/bide-go/bide/job"
	"github.com/bide-go/bide/scripts"
)

// Client puts jobs into bide and looks after single ones. It is safe for
// concurrent use and needs no closing: the Redis client stays the caller's.
//
// Every method honours the deadline of its context, whatever the options of the
// Redis client. A context without one that is cancelled while a single new job is on
// its way ends the call with the answer, for which the client's read timeout is the
// limit: so the caller knows what became of it. An error that wraps job.ErrUnavailable means that nothing was
// sent; one that wraps job.ErrOutcomeUnknown that the answer was lost.
type Client struct {
	set     *scripts.Set
	gather  gather
	trigger job.Trigger
	err     error
	legal   atomic.Pointer[place] // what was found legal last: most calls are alike
}

// place is where a job goes: a queue, and a handler's name.
type place struct{ queue, name string }

// ClientOption changes how a Client works.
type ClientOption func(*clientConfig)

type clientConfig struct {
	namespace string
	trigger   job.Trigger
}

// WithNamespace selects the namespace, "bide" by default.
func WithNamespace(ns string) ClientOption { return func(c *clientConfig) { c.namespace = ns } }

// WithTrigger notes who creates the jobs of this client, job.TriggerGo by default.
func WithTrigger(t job.Trigger) ClientOption { return func(c *clientConfig) { c.trigger = t } }

// NewClient returns a client on rdb. A mistake in the options (a bad namespace, a
// redis.Ring) is returned by every call.
func NewClient(rdb redis.UniversalClient, opts ...ClientOption) *Client {
	cfg := clientConfig{trigger: job.TriggerGo}
	for _, opt := range opts {
		opt(&cfg)
	}
	set, err := scripts.New(rdb, cfg.namespace)
	return &Client{set: set, gather: gather{set: set}, trigger: cfg.trigger, err: err}
}

// Request describes one job of ExecuteMany.
type Request struct {
	// Queue is the priority tier; empty means job.DefaultQueue.
	Queue string
	// Name is the handler's name.
	Name string
	// Args is encoded as JSON; json.RawMessage is taken as it is, nil is null.
	Args any
	// Delay counts from Redis' now; zero and negative mean now. At is an instant,
	// one in the past means now. Give one of them or neither.
	Delay   time.Duration
	At      time.Time
	Options []Option
}

// Result says what became of one Request.
type Result struct {
	// ID is the job's id; with Deduplicated, that of the job that was there.
	ID    string
	State job.State
	Due   time.Time
	// Deduplicated says that nothing was written: a job with that id is live,
	// retained or dead, or a live one holds the unique key. It is no error.
	Deduplicated bool
	// Err says why this request was refused.
	Err error
}

// Execute makes a job due now and returns its id.
func (c *Client) Execute(ctx context.Context, queue, name string, args any, opts ...Option) (string, error) {
	return c.one(ctx, Request{Queue: queue, Name: name, Args: args, Options: opts})
}

// ExecuteLater makes a job due after delay, counted from Redis' now, and returns
// its id. A delay of zero or less means now.
func (c *Client) ExecuteLater(ctx context.Context, queue, name string, args any, delay time.Duration, opts ...Option) (string, error) {
	return c.one(ctx, Request{Queue: queue, Name: name, Args: args, Delay: delay, Options: opts})
}

// ExecuteAt makes a job due at an instant, by Redis' clock, and returns its id. An
// instant in the past means now.
func (c *Client) ExecuteAt(ctx context.Context, queue, name string, args any, at time.Time, opts ...Option) (string, error) {
	return c.one(ctx, Request{Queue: queue, Name: name, Args: args, At: at, Options: opts})
}

func (c *Client) one(ctx context.Context, r Request) (string, error) {
	res, err := c.Enqueue(ctx, r)
	if err != nil {
		return idOf(err), err
	}
	return res.ID, nil
}

// Enqueue is Execute, ExecuteLater and ExecuteAt with a full answer.
func (c *Client) Enqueue(ctx context.Context, r Request) (Result, error) {
	if c.err != nil {
		return Result{}, c.err
	}
	n, err := c.build(r)
	if err != nil {
		return Result{ID: n.ID, Err: err}, err
	}
	return c.gather.send(ctx, n)
}

// idOf is the id that a caller repeats a call with after an unknown outcome.
func idOf(err error) string {
	var unknown *job.OutcomeUnknownError
	if errors.As(err, &unknown) && len(unknown.IDs) == 1 {
		return unknown.IDs[0]
	}
	return ""
}

// ExecuteMany makes many jobs with few round trips and returns one result for
// each request, in their order. Requests that cannot be accepted have an Err of
// their own and do not stop the others. An error means that Redis could not be
// asked or did not answer about some of them: their results have it as Err, too,
// and those of earlier batches tell what was created.
func (c *Client) ExecuteMany(ctx context.Context, requests []Request) ([]Result, error) {
	if c.err != nil {
		return nil, c.err
	}
	m := many{ctx: ctx, set: c.set, results: make([]Result, len(requests))}
	m.most = max(100, min((len(requests)+3)/4, scripts.EnqueueJobs))
	for i, r := range requests {
		n, err := c.build(r)
		if err != nil {
			m.results[i] = Result{ID: n.ID, Err: err}
			continue
		}
		m.add(n, i)
	}
	return m.results, m.end()
}

// build checks a request before anything is sent.
func (c *Client) build(r Request) (*scripts.NewJob, error) {
	n := &scripts.NewJob{Queue: r.Queue, Name: r.Name, Delay: r.Delay, At: r.At, Trigger: c.trigger}
	if n.Queue == "" {
		n.Queue = job.DefaultQueue
	}
	var bad error
	for _, opt := range r.Options {
		if err := opt(n); err != nil && bad == nil {
			bad = err
		}
	}
	if n.ID == "" {
		id, err := uuid.NewV7()
		if err != nil {
			return n, fmt.Errorf("job id: %w", err)
		}
		n.ID = id.String()
	}
	if bad != nil {
		return n, bad
	}
	if r.Delay > 0 && !r.At.IsZero() {
		return n, &job.InvalidError{Field: "delay", Value: r.Delay.String(), Rule: "and an instant were both given: give one"}
	}
	if err := cmp.Or(checkInstant(r.At), checkInstant(n.Expiry)); err != nil {
		return n, err
	}
	args, err := encodeArgs(r.Args)
	if err != nil {
		return n, err
	}
	n.Args = args
	to := place{n.Queue, n.Name}
	if legal := c.legal.Load(); legal != nil && *legal == to {
		return n, nil
	}
	if err := errors.Join(job.CheckQueue(n.Queue), job.CheckName(n.Name)); err != nil {
		return n, err
	}
	c.legal.Store(&to)
	return n, nil
}

// checkInstant refuses what a clock that counts milliseconds cannot hold.
func checkInstant(t time.Time) error {
	if t.Year() > 9999 {
		return &job.InvalidError{Field: "instant", Value: t.String(), Rule: "is beyond the year 9999"}
	}
	return nil
}

func encodeArgs(args any) (json.RawMessage, error) {
	if args == nil {
		return nil, nil
	}
	raw, ok := args.(json.RawMessage)
	if !ok {
		data, err := json.Marshal(args)
		if err != nil {
			return nil, fmt.Errorf("args: %w", err)
		}
		return data, sizeOnly(data)
	}
	return raw, job.CheckArgs(raw)
}

// sizeOnly checks what json.Marshal made: it is valid, but may be too long.
func sizeOnly(data []byte) error {
	if len(data) > job.MaxArgs {
		return job.CheckArgs(data)
	}
	return nil
}

// Get reads a job that is live, retained or dead; otherwise it returns
// job.ErrNotFound.
func (c *Client) Get(ctx context.Context, id string) (*job.Job, error) {
	if c.err != nil {
		return nil, c.err
	}
	return c.set.Inspect(ctx, id)
}

// Cancel ends a delayed or waiting job at once. An active one is marked and its
// handler's context cancelled; whether it ends cancelled is up to the handler: if
// it returns nil, the job has completed. The job is returned as it is afterwards,
// or as far as known if nothing is kept of it.
func (c *Client) Cancel(ctx context.Context, id string) (*job.Job, error) {
	return c.act(ctx, id, func() (job.State, error) { return c.set.Cancel(ctx, id) })
}

// Retry starts a dead job anew, with its attempts and lost leases back at 0, and
// makes a delayed one due now.
func (c *Client) Retry(ctx context.Context, id string) (*job.Job, error) {
	return c.act(ctx, id, func() (job.State, error) { return c.set.Revive(ctx, id) })
}

// Reschedule gives a delayed job another due time; one in the past means now. A
// job in any other state is refused with a job.StateError.
func (c *Client) Reschedule(ctx context.Context, id string, at time.Time) (*job.Job, error) {
	if err := checkInstant(at); err != nil {
		return nil, err
	}
	return c.act(ctx, id, func() (job.State, error) {
		_, err := c.set.Reschedule(ctx, id, 0, at)
		return job.Delayed, err
	})
}

// RescheduleIn gives a delayed job a due time delay from Redis' now.
func (c *Client) RescheduleIn(ctx context.Context, id string, delay time.Duration) (*job.Job, error) {
	return c.act(ctx, id, func() (job.State, error) {
		_, err := c.set.Reschedule(ctx, id, delay, time.Time{})
		return job.Delayed, err
	})
}

func (c *Client) act(ctx context.Context, id string, move func() (job.State, error)) (*job.Job, error) {
	if c.err != nil {
		return nil, c.err
	}
	state, err := move()
	if err != nil {
		return nil, err
	}
	j, err := c.set.Inspect(ctx, id)
	if errors.Is(err, job.ErrNotFound) {
		return &job.Job{ID: id, State: state}, nil
	}
	return j, err
}
