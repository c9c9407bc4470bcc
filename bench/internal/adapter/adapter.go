// Package adapter runs bide or asynq through their own public API, as one process
// of a measurement. BullMQ's adapter is bullmq/adapter.mjs and does the same.
package adapter

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"time"

	"github.com/bide-go/bide/bench/internal/protocol"
)

// task is one job to make.
type task struct {
	payload protocol.Payload
	due     time.Time // zero means now
}

// system is what a queue has to offer to be measured.
type system interface {
	// enqueue makes one job and returns when Redis has it.
	enqueue(ctx context.Context, t task) error
	// enqueueMany makes jobs by the bulk API.
	enqueueMany(ctx context.Context, tasks []task) error
	// work starts a worker process' worth of work and returns; handle is called for
	// every start of a job.
	work(ctx context.Context, concurrency int, handle func(payload []byte)) error
	// promote starts only what moves due jobs to their lanes.
	promote(ctx context.Context) error
	// counts asks the system for its open jobs.
	counts(ctx context.Context) (protocol.Counts, error)
}

// Main speaks the protocol for the system called name, and returns when in ends.
func Main(ctx context.Context, name string, in io.Reader, out io.Writer) error {
	s := &session{in: json.NewDecoder(bufio.NewReader(in)), out: json.NewEncoder(out)}
	err := s.run(ctx, name)
	if err != nil {
		return s.say(protocol.Message{Event: protocol.Failed, Text: err.Error()})
	}
	return nil
}

type session struct {
	in   *json.Decoder
	out  *json.Encoder
	spec protocol.Spec
	sys  system
}

func (s *session) say(m protocol.Message) error { return s.out.Encode(m) }

// start tells that everything is ready, and waits for the word.
func (s *session) start() error {
	if err := s.say(protocol.Message{Event: protocol.Ready}); err != nil {
		return err
	}
	var word struct {
		Go bool `json:"go"`
	}
	if err := s.in.Decode(&word); err != nil {
		return err
	}
	if !word.Go {
		return fmt.Errorf("told something else than to go")
	}
	return nil
}

func (s *session) run(ctx context.Context, name string) error {
	if err := s.in.Decode(&s.spec); err != nil {
		return fmt.Errorf("read the spec: %w", err)
	}
	var err error
	if s.sys, err = open(ctx, name, s.spec); err != nil {
		return err
	}
	modes := map[string]func(context.Context) (protocol.Result, error){
		protocol.Enqueue: s.enqueue, protocol.Work: s.work, protocol.Roundtrip: s.roundtrip,
		protocol.Idle: s.idle, protocol.Promote: s.promote,
	}
	mode := modes[s.spec.Mode]
	if mode == nil {
		return fmt.Errorf("unknown mode %q", s.spec.Mode)
	}
	r, err := mode(ctx)
	if err != nil {
		return fmt.Errorf("%s: %w", s.spec.Mode, err)
	}
	if r.Counts, err = s.sys.counts(ctx); err != nil {
		return fmt.Errorf("count the jobs: %w", err)
	}
	if err := s.say(protocol.Message{Event: protocol.Done, Result: &r}); err != nil {
		return err
	}
	var end any
	if err := s.in.Decode(&end); err != io.EOF { //nolint:errorlint // Decode returns it bare
		return fmt.Errorf("expected the end of the input, got %v %w", end, err)
	}
	return nil
}

func open(ctx context.Context, name string, spec protocol.Spec) (system, error) {
	switch name {
	case "bide":
		return newBide(ctx, spec)
	case "asynq":
		return newAsynq(ctx, spec)
	}
	return nil, fmt.Errorf("no adapter is called %q", name)
}
