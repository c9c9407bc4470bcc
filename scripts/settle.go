package scripts

import (
	"context"
	"slices"
	"time"

	"github.com/bide-go/bide/job"
)

// SettleJobs bounds one call of complete, fail, release and renew.
const SettleJobs = 500

// Stale is the outcome of a job whose lease was no longer the caller's: nothing
// was done.
const Stale = job.State("stale")

// Verdict is how a failed attempt ends.
type Verdict struct {
	Lease Lease
	// Retry brings the job back after Pause; otherwise it is dead for Reason.
	Retry bool
	Pause time.Duration
	// Hold pauses the schedule that the job is a run of, for Error.
	Hold   bool
	Reason job.Reason
	Kind   job.Kind
	Error  string
	Stack  string
}

// Paused is a schedule that the end of one of its runs has paused.
type Paused struct{ Schedule, Reason string }

func decodePaused(list []any) (paused []Paused) {
	for i := 0; i+1 < len(list); i += 2 {
		paused = append(paused, Paused{toText(list[i]), toText(list[i+1])})
	}
	return paused
}

// Complete ends jobs whose handlers returned nil and reports those whose lease was
// stale.
func (s *Set) Complete(ctx context.Context, leases []Lease) (stale []string, err error) {
	reply, err := s.run(ctx, "complete", byToken(leases))
	if err != nil {
		return nil, err
	}
	return staleIDs(reply), nil
}

func staleIDs(reply any) []string {
	list := toList(reply)
	var stale []string
	for i := 1; i < len(list); i++ {
		stale = append(stale, toText(list[i]))
	}
	return stale
}

// Fail ends failed attempts and returns the state each job is in now, or Stale.
func (s *Set) Fail(ctx context.Context, verdicts []Verdict) ([]job.State, error) {
	reply, err := s.run(ctx, "fail", failArgs(verdicts))
	if err != nil {
		return nil, err
	}
	return outcomes(reply, len(verdicts)), nil
}

func failArgs(verdicts []Verdict) []any {
	args := make([]any, 0, 6*len(verdicts))
	for _, v := range verdicts {
		var pause any = ""
		switch {
		case v.Retry:
			pause = ceilMilli(max(v.Pause, 0))
		case v.Hold:
			pause = "hold"
		}
		args = append(args, v.Lease.ID, v.Lease.Token, pause, string(v.Reason), string(v.Kind), failureText(v.Error, v.Stack))
	}
	return args
}

// Release gives jobs back to the front of their lanes, in this order, without
// counting an attempt, and returns the state each is in now, or Stale.
func (s *Set) Release(ctx context.Context, leases []Lease) ([]job.State, error) {
	reply, err := s.run(ctx, "release", leaseArgs(nil, leases))
	if err != nil {
		return nil, err
	}
	states := outcomes(reply, len(leases))
	for i, j := 0, len(states)-1; i < j; i, j = i+1, j-1 {
		states[i], states[j] = states[j], states[i]
	}
	return states, nil
}

// Renewal is what a renewal said about one lease.
type Renewal string

// The renewals.
const (
	Renewed      Renewal = "ok"
	CancelAsked  Renewal = "cancel" // renewed, and the job is to be cancelled
	RenewalStale Renewal = "lost"   // not renewed: the lease is somebody else's or nobody's
)

// Renew extends leases to a full length from now, in one step.
func (s *Set) Renew(ctx context.Context, lease time.Duration, leases []Lease) ([]Renewal, error) {
	reply, err := s.run(ctx, "renew", leaseArgs([]any{lease.Milliseconds()}, leases))
	if err != nil {
		return nil, err
	}
	list := toList(reply)
	renewals := make([]Renewal, len(leases))
	for i := range renewals {
		renewals[i] = Renewal(toText(item(list, i)))
	}
	return renewals, nil
}

// byToken lists leases as token, how many, their ids: what one reserve has leased
// mostly ends together, and a token is longer than an id.
func byToken(leases []Lease) []any {
	args := make([]any, 0, len(leases)+8)
	var tokens []string
	for i := range leases {
		if !slices.Contains(tokens, leases[i].Token) {
			tokens = append(tokens, leases[i].Token)
		}
	}
	for _, token := range tokens {
		args = append(args, token, 0)
		at := len(args)
		for i := range leases {
			if leases[i].Token == token {
				args = append(args, leases[i].ID)
			}
		}
		args[at-1] = len(args) - at
	}
	return args
}

func leaseArgs(args []any, leases []Lease) []any {
	for _, l := range leases {
		args = append(args, l.ID, l.Token)
	}
	return args
}

func outcomes(reply any, n int) []job.State {
	list := toList(reply)
	states := make([]job.State, n)
	for i := range states {
		states[i] = job.State(toText(item(list, i)))
		if states[i] == "spoilt" {
			states[i] = job.Dead
		}
	}
	return states
}
