package scripts

import (
	"context"
	"fmt"

	"github.com/redis/go-redis/v9"

	"github.com/bide-go/bide/job"
)

// Turn is one round trip of a dispatcher: what has ended, and what it can take.
// Each part is its own script and atomic by itself.
type Turn struct {
	Complete []Lease
	Fail     []Verdict
	Reserve  *ReserveArgs // nil takes nothing
	// Answered, if set, is called with the number of jobs leased as soon as Redis has
	// answered to Reserve, before the jobs are read: that takes longer than all else.
	Answered func(r Reserved, jobs int)
}

// TurnResult holds the answer to each part, with its own error: one part may have
// been carried out when another was not.
type TurnResult struct {
	Stale       []string // of Complete
	CompleteErr error
	Failed      []job.State // of Fail
	Paused      []Paused    // by Fail
	FailErr     error
	Reserved    Reserved
	ReserveErr  error
}

// Turn sends the parts of t together: in one script, or if something has failed in
// one after the other.
func (s *Set) Turn(ctx context.Context, t Turn) TurnResult {
	var r TurnResult
	if len(t.Complete) > 0 && len(t.Fail) == 0 && t.Reserve != nil {
		settled := byToken(t.Complete)
		args := append(append(make([]any, 0, 32+len(settled)), len(settled)), settled...)
		reply, err := s.run(ctx, "turn", append(args, t.Reserve.args()...))
		if err != nil {
			r.CompleteErr, r.ReserveErr = err, err
			return r
		}
		both := toList(reply)
		r.Stale = staleIDs(item(both, 0))
		if text, failed := item(both, 1).(string); failed {
			r.ReserveErr = fmt.Errorf("reserve: %w", answer(text))
			return r
		}
		r.Reserved = t.decode(item(both, 1))
		return r
	}

	var parts []part
	add := func(name string, args []any) int {
		parts = append(parts, part{script: s.scripts[name], args: args})
		return len(parts) - 1
	}
	complete, fail, reserve := -1, -1, -1
	if len(t.Complete) > 0 {
		complete = add("complete", byToken(t.Complete))
	}
	if len(t.Fail) > 0 {
		fail = add("fail", failArgs(t.Fail))
	}
	if t.Reserve != nil {
		reserve = add("reserve", t.Reserve.args())
	}
	s.together(ctx, parts)
	if complete >= 0 {
		r.CompleteErr = parts[complete].err
		r.Stale = staleIDs(parts[complete].reply)
	}
	if fail >= 0 {
		if r.FailErr = parts[fail].err; r.FailErr == nil {
			r.Failed = outcomes(parts[fail].reply, len(t.Fail))
			list := toList(parts[fail].reply)
			r.Paused = decodePaused(list[min(len(t.Fail), len(list)):])
		}
	}
	if reserve >= 0 {
		if r.ReserveErr = parts[reserve].err; r.ReserveErr == nil {
			r.Reserved = t.decode(parts[reserve].reply)
		}
	}
	return r
}

// decode reads the reply to the reserve.
func (t *Turn) decode(reply any) Reserved {
	r, jobs := outline(reply)
	if t.Answered != nil {
		t.Answered(r, jobs)
	}
	r.Jobs = t.Reserve.decodeJobs(reply)
	return r
}

// answer is an error that Redis gave to a part of a script.
type answer string

func (a answer) Error() string { return string(a) }

// RedisError makes it one of the driver's redis.Error.
func (a answer) RedisError() {}

// part is one script of several that are sent together.
type part struct {
	script script
	args   []any
	reply  any
	err    error
}

// together sends scripts in one round trip. Those that Redis does not know yet are
// sent again, one by one, in order.
func (s *Set) together(ctx context.Context, parts []part) {
	if len(parts) == 1 {
		parts[0].reply, parts[0].err = s.run(ctx, parts[0].script.name, parts[0].args)
		return
	}
	if len(parts) == 0 {
		return
	}
	cmds := make([]call, len(parts))
	for i, p := range parts {
		cmds[i] = s.command(ctx, p.script, true, p.args)
	}
	answered := make(chan struct{})
	send := func() error {
		defer close(answered)
		pipe := s.rdb.Pipeline()
		for _, cmd := range cmds {
			_ = pipe.Process(ctx, cmd) // queues it; nothing can fail yet
		}
		_, err := pipe.Exec(ctx)
		return err
	}
	var err error
	if err = ctx.Err(); err != nil {
		err = &notSent{err}
	} else if s.heeds || ctx.Done() == nil {
		err = send()
	} else {
		err = bounded(ctx, send)
	}
	select {
	case <-answered:
	default:
		// Nothing was sent, or what was sent is still being waited for in the
		// background, which may write to the commands at any moment.
		for i := range parts {
			parts[i].err = classify(err)
		}
		return
	}
	// Some may have been answered before the connection broke.
	for i := range parts {
		err := cmds[i].Err()
		if redis.HasErrorPrefix(err, "NOSCRIPT") {
			parts[i].reply, parts[i].err = s.run(ctx, parts[i].script.name, parts[i].args)
			continue
		}
		parts[i].reply, parts[i].err = cmds[i].Val(), classify(err)
	}
}
