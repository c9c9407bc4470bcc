package dispatcher_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/bide-go/bide/dispatcher"
	"github.com/bide-go/bide/internal/timely"
	"github.com/bide-go/bide/job"
)

func TestJobLongerThanItsLease(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		const lease = 2 * time.Second
		s := newStage(t)
		for range 2 { // the other would take it
			r.work(dispatcher.Config{Lease: lease}, handlers{"long": s.handler})
		}
		id := r.add("medium", "long")
		p := s.next()
		s.nobody(5 * lease)
		if p.ctx.Err() != nil {
			t.Errorf("the context ended: %v", context.Cause(p.ctx))
		}
		p.end(nil)
		j := r.becomes(id, job.Completed)
		equal(t, "lost", j.Lost, p.job.Lost)
		r.completed(1)
	})
}

func TestDelayLongerThanTheLease(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		r.promote()
		var starts atomic.Int32
		r.work(dispatcher.Config{Lease: time.Second}, handlers{"any": func(context.Context, *job.Job) error { starts.Add(1); return nil }})
		before := r.now()
		id := r.addLater("medium", "any", 2500*time.Millisecond)
		j := r.becomes(id, job.Completed)
		if waited := j.Finished.Sub(before); waited < 2500*time.Millisecond {
			t.Errorf("finished %v after it was enqueued, want at least its delay", waited)
		}
		equal(t, "starts", starts.Load(), 1)
		equal(t, "lost", j.Lost, 0)
	})
}

// A process that is cut off while it runs a job: nobody tells it that its lease
// has gone, and its context ends all the same, before the successor starts. What it
// says of the job later changes nothing.
func TestCutOffWorker(t *testing.T) {
	for name, verdict := range map[string]error{"says that it has completed": nil, "says that it has failed": errBoom} {
		t.Run(name, func(t *testing.T) {
			each(t, func(t *testing.T, r *rig) {
				const lease = 2 * time.Second
				line := newProxy(t, r.Addr)
				cutOff, other := newStage(t), newStage(t)
				r.workOn(line.client(), dispatcher.Config{Lease: lease}, handlers{"hold": cutOff.handler})
				id := r.add("medium", "hold")
				p := cutOff.next()
				line.hold()
				from := time.Now()
				w := r.work(dispatcher.Config{Lease: lease}, handlers{"hold": other.handler})
				q := other.next()
				if p.ctx.Err() == nil {
					t.Error("a handler runs beside its successor and its context has not ended")
				}
				p.wantCause(t, job.ErrLeaseLost)
				timely.Check(t, "start elsewhere", q.at.Sub(from), lease*3/2+2*time.Second)
				if q.job.Lost != 1 || q.job.Attempts != 0 {
					t.Errorf("successor got %+v, want one lost lease and no attempt", q.job)
				}
				line.pass()
				p.end(verdict)
				other.nobody(lease / 2)
				j := r.get(id)
				if j.State != job.Active || j.Worker != w.ID() || j.Attempts != 0 {
					t.Errorf("job = %+v, want it active with %s and no attempt", j, w.ID())
				}
				q.end(nil)
				j = r.becomes(id, job.Completed)
				equal(t, "lost", j.Lost, 1)
				equal(t, "attempts", j.Attempts, 0)
				equal(t, "kind of failure", j.Errors[0].Kind, job.KindLost)
				r.completed(1)
			})
		})
	}
}

// silence keeps renewals of leases from Redis and from their answer until their
// caller gives up.
type silence struct {
	lease time.Duration
	away  atomic.Int32 // how many are being waited for
}

func (s *silence) DialHook(next redis.DialHook) redis.DialHook { return next }

func (s *silence) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

func (s *silence) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if args := cmd.Args(); len(args) < 5 || args[4] != s.lease.Milliseconds() {
			return next(ctx, cmd)
		}
		s.away.Add(1)
		defer s.away.Add(-1)
		<-ctx.Done()
		return ctx.Err()
	}
}

// A renewal that gets no answer is given up only after a while, which is longer than
// it can take others to start the job: its lease ends here all the same.
func TestALeaseEndsWhileARenewalIsAway(t *testing.T) {
	const jobs = 5
	each(t, func(t *testing.T, r *rig) {
		silent := &silence{lease: 2999 * time.Millisecond}
		rdb := redis.NewClient(&redis.Options{Addr: r.Addr, ContextTimeoutEnabled: true})
		t.Cleanup(func() { _ = rdb.Close() })
		rdb.AddHook(silent)
		began, ended := make(chan struct{}, 2*jobs), make(chan error, 2*jobs)
		var during atomic.Int32
		w := r.workOn(rdb, dispatcher.Config{Lease: silent.lease, MaxLost: 100}, handlers{"hold": func(ctx context.Context, _ *job.Job) error {
			began <- struct{}{}
			<-ctx.Done()
			if silent.away.Load() > 0 {
				during.Add(1)
			}
			ended <- context.Cause(ctx)
			return context.Cause(ctx)
		}})
		for range jobs { // at different distances from the tries to renew
			r.add("medium", "hold")
			<-began
			time.Sleep(silent.lease / 3 / jobs)
		}
		for range jobs {
			if cause := <-ended; !errors.Is(cause, job.ErrLeaseLost) {
				t.Errorf("cause = %v, want %v", cause, job.ErrLeaseLost)
			}
		}
		if during.Load() == 0 {
			t.Error("no lease has ended before a renewal was given up")
		}
		w.end()
	})
}

// The same, and the job comes back to the process that lost it: the old attempt
// must not end the new one, although job and process are the same.
func TestLostJobComesBackToItsProcess(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		const lease = time.Second
		line := newProxy(t, r.Addr)
		s := newStage(t)
		w := r.workOn(line.client(), dispatcher.Config{Lease: lease}, handlers{"hold": s.handler})
		id := r.add("medium", "hold")
		p := s.next()
		line.hold()
		p.wantCause(t, job.ErrLeaseLost)
		r.eventually("lease taken back", func() bool {
			reaped, _, _, err := r.set.Reap(r.ctx(), r.now(), 10, 5)
			return err == nil && len(reaped) == 1
		})
		line.pass()
		q := s.next()
		equal(t, "lost", q.job.Lost, 1)
		p.end(nil)
		s.nobody(lease)
		j := r.get(id)
		if j.State != job.Active || j.Worker != w.ID() {
			t.Errorf("job = %+v, want it active: the old attempt has no say", j)
		}
		if q.ctx.Err() != nil {
			t.Errorf("the context of the new attempt ended: %v", context.Cause(q.ctx))
		}
		q.end(nil)
		equal(t, "attempts", r.becomes(id, job.Completed).Attempts, 0)
		r.completed(1)
	})
}

// A job that never outlives its lease is dead once it has lost enough of them.
func TestTooManyLostLeases(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		id := r.add("medium", "hold")
		for range 2 {
			r.leaseFor("w-dead", time.Millisecond)
			r.eventually("lease taken back", func() bool {
				reaped, _, _, err := r.set.Reap(r.ctx(), r.now(), 10, 3)
				return err == nil && len(reaped) == 1
			})
		}
		r.leaseFor("w-dead", time.Millisecond)
		r.work(dispatcher.Config{Lease: time.Second, MaxLost: 3}, handlers{"other": newStage(t).handler})
		j := r.becomes(id, job.Dead)
		equal(t, "reason", j.Reason, job.ReasonLost)
		equal(t, "lost", j.Lost, 3)
		equal(t, "attempts", j.Attempts, 0)
	})
}
