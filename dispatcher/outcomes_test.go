package dispatcher_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/bide-go/bide/dispatcher"
	"github.com/bide-go/bide/internal/timely"
	"github.com/bide-go/bide/job"
	"github.com/bide-go/bide/scheduler"
)

var errBoom = errors.New("boom")

func TestRetryWithBackoff(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		r.promote()
		type start struct {
			attempt int
			at, due time.Time
		}
		starts := make(chan start, 10)
		r.work(dispatcher.Config{}, handlers{"flaky": func(_ context.Context, j *job.Job) error {
			starts <- start{j.Attempt(), r.now(), j.Due}
			if j.Attempt() < 3 {
				return fmt.Errorf("attempt %d: %w", j.Attempt(), errBoom)
			}
			return nil
		}})
		id := r.add("medium", "flaky", scheduler.WithBackoff(30*time.Millisecond, 60*time.Millisecond))
		j := r.becomes(id, job.Completed)
		equal(t, "attempts that failed", j.Attempts, 2)
		equal(t, "lost", j.Lost, 0)
		if len(j.Errors) != 2 || j.Errors[0].Error != "attempt 2: boom" || j.Errors[1].Kind != job.KindFailed || j.Errors[1].Attempt != 1 {
			t.Fatalf("errors = %+v", j.Errors)
		}
		close(starts)
		want := 1
		for s := range starts {
			equal(t, "attempt", s.attempt, want)
			if want++; s.attempt > 1 {
				if pause := s.due.Sub(j.Errors[len(j.Errors)-s.attempt+1].At); pause < 30*time.Millisecond || pause > 62*time.Millisecond {
					t.Errorf("pause before attempt %d = %v, want 30ms to 60ms", s.attempt, pause)
				}
				if s.at.Before(s.due) {
					t.Errorf("attempt %d was started at %v, which is before it was due at %v", s.attempt, s.at, s.due)
				}
			}
		}
	})
}

func TestHowFailuresEnd(t *testing.T) {
	type want struct {
		state    job.State
		reason   job.Reason
		kind     job.Kind
		attempts int
		text     string
		stack    string
	}
	tests := []struct {
		name    string
		handler func(context.Context, *job.Job) error
		opts    []scheduler.Option
		want    want
	}{
		{"permanent", func(context.Context, *job.Job) error { return fmt.Errorf("mail: %w", job.Permanent(errBoom)) }, nil,
			want{job.Dead, job.ReasonPermanent, job.KindFailed, 1, "mail: boom", ""}},
		{"attempts used up", func(context.Context, *job.Job) error { return errBoom },
			[]scheduler.Option{scheduler.WithMaxAttempts(3), scheduler.WithBackoff(time.Millisecond, time.Millisecond)},
			want{job.Dead, job.ReasonAttempts, job.KindFailed, 3, "boom", ""}},
		{"panic", func(context.Context, *job.Job) error { return jump() }, []scheduler.Option{scheduler.WithMaxAttempts(1)},
			want{job.Dead, job.ReasonAttempts, job.KindPanic, 1, "panic: out of the window", "dispatcher_test.jump"}},
		{"panic with a permanent error", func(context.Context, *job.Job) error { panic(job.Permanent(errBoom)) }, nil,
			want{job.Dead, job.ReasonPermanent, job.KindPanic, 1, "boom", "outcomes_test.go"}},
		{"goexit", func(context.Context, *job.Job) error { runtime.Goexit(); return nil }, []scheduler.Option{scheduler.WithMaxAttempts(1)},
			want{job.Dead, job.ReasonAttempts, job.KindPanic, 1, "Goexit", "outcomes_test.go"}},
		{"timeout", func(ctx context.Context, _ *job.Job) error { <-ctx.Done(); return ctx.Err() },
			[]scheduler.Option{scheduler.WithMaxAttempts(1), scheduler.WithTimeout(30 * time.Millisecond)},
			want{job.Dead, job.ReasonAttempts, job.KindTimeout, 1, "deadline exceeded", ""}},
		{"timeout, and permanent", func(ctx context.Context, _ *job.Job) error { <-ctx.Done(); return job.Permanent(ctx.Err()) },
			[]scheduler.Option{scheduler.WithTimeout(30 * time.Millisecond)},
			want{job.Dead, job.ReasonPermanent, job.KindTimeout, 1, "deadline exceeded", ""}},
		{"timeout, and nil", func(ctx context.Context, _ *job.Job) error { <-ctx.Done(); return nil },
			[]scheduler.Option{scheduler.WithTimeout(30 * time.Millisecond)},
			want{job.Completed, "", "", 0, "", ""}},
		{"a text beyond all measure", func(context.Context, *job.Job) error {
			return job.Permanent(errors.New(strings.Repeat("ä", job.MaxText) + "\x00"))
		}, nil, want{job.Dead, job.ReasonPermanent, job.KindFailed, 1, strings.Repeat("ä", job.MaxText/2), ""}},
	}
	each(t, func(t *testing.T, r *rig) {
		r.promote()
		hs := handlers{}
		for i, test := range tests {
			hs[fmt.Sprint("case-", i)] = test.handler
		}
		r.work(dispatcher.Config{}, hs)
		ids := make([]string, len(tests))
		for i, test := range tests {
			ids[i] = r.add("medium", fmt.Sprint("case-", i), test.opts...)
		}
		for i, test := range tests {
			j := r.becomes(ids[i], test.want.state)
			got := want{state: j.State, reason: j.Reason, attempts: j.Attempts}
			if len(j.Errors) > 0 {
				got.kind = j.Errors[0].Kind
				if strings.Contains(j.Errors[0].Error, test.want.text) {
					got.text = test.want.text
				}
				if strings.Contains(j.Errors[0].Stack, test.want.stack) {
					got.stack = test.want.stack
				}
				equal(t, test.name+": a stack was kept", j.Errors[0].Stack != "", test.want.stack != "")
			}
			if got != test.want {
				t.Errorf("%s: got %+v, want %+v; errors %.300q", test.name, got, test.want, fmt.Sprint(j.Errors))
			}
			if len(j.Errors) != test.want.attempts {
				t.Errorf("%s: %d errors were kept, want %d", test.name, len(j.Errors), test.want.attempts)
			}
		}
	})
}

//go:noinline
func jump() error { panic("out of the window") }

func TestRetryAfter(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		r.promote()
		r.work(dispatcher.Config{}, handlers{
			"later": func(context.Context, *job.Job) error { return job.RetryAfter(errBoom, time.Hour) },
			"soon": func(_ context.Context, j *job.Job) error {
				if j.Attempt() == 1 {
					return job.RetryAfter(errBoom, 0)
				}
				return nil
			},
		})
		later := r.add("medium", "later", scheduler.WithBackoff(time.Millisecond, time.Millisecond))
		soon := r.add("medium", "soon", scheduler.WithBackoff(time.Hour, time.Hour))
		j := r.becomes(later, job.Delayed)
		if pause := j.Due.Sub(j.Errors[0].At); pause < time.Hour || pause > time.Hour+2*time.Millisecond {
			t.Errorf("pause = %v, want 1h", pause)
		}
		equal(t, "attempts", j.Attempts, 1)
		equal(t, "attempts of the other", r.becomes(soon, job.Completed).Attempts, 1)
	})
}

func TestObserve(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		outcomes := make(chan dispatcher.Outcome, 10)
		r.work(dispatcher.Config{Observe: func(o dispatcher.Outcome) { outcomes <- o }}, handlers{
			"good": func(context.Context, *job.Job) error { time.Sleep(time.Millisecond); return nil },
			"bad":  func(context.Context, *job.Job) error { return job.RetryAfter(errBoom, time.Minute) },
		})
		for _, want := range []struct {
			name  string
			state job.State
			err   error
			pause time.Duration
		}{{"good", job.Completed, nil, 0}, {"bad", job.Delayed, errBoom, time.Minute}} {
			id := r.add("medium", want.name)
			select {
			case o := <-outcomes:
				if o.Job.ID != id || o.State != want.state || !errors.Is(o.Err, want.err) || o.Pause != want.pause {
					t.Errorf("outcome = %+v, want %+v", o, want)
				}
				if want.name == "good" && (o.Took < time.Millisecond || o.Took > patience) {
					t.Errorf("took = %v, want a little more than 1ms", o.Took)
				}
			case <-time.After(patience):
				t.Fatal("nothing was observed")
			}
		}
	})
}

// A handler that heeds nothing costs its slot, not its job.
func TestHandlerThatIgnoresItsTimeout(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		stuck, second := newStage(t), newStage(t)
		r.work(dispatcher.Config{Concurrency: 1, Lease: time.Second}, handlers{"stuck": stuck.handler, "second": second.handler})
		id := r.add("medium", "stuck", scheduler.WithTimeout(100*time.Millisecond), scheduler.WithMaxAttempts(1))
		p := stuck.next()
		next := r.add("medium", "second")
		p.wantCause(t, job.ErrTimeout)
		j := r.becomes(id, job.Dead)
		equal(t, "attempts", j.Attempts, 1)
		equal(t, "lost", j.Lost, 0)
		equal(t, "kind", j.Errors[0].Kind, job.KindTimeout)
		timely.Check(t, "giving up", time.Since(p.at), 10*time.Second)
		second.nobody(100 * time.Millisecond) // the slot is still taken
		equal(t, "state of the next", r.get(next).State, job.Waiting)
		p.end(nil)
		second.next().end(nil)
		r.becomes(next, job.Completed)
		equal(t, "state after its handler returned", r.get(id).State, job.Dead)
	})
}

func TestCancelOfARunningJob(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		s := newStage(t)
		r.work(dispatcher.Config{Concurrency: 2}, handlers{"hold": s.handler}) // all slots are busy
		ends := []struct {
			err   error
			state job.State
		}{{errBoom, job.Cancelled}, {nil, job.Completed}}
		plays := map[string]*play{}
		for range ends {
			r.add("medium", "hold")
		}
		for range ends {
			p := s.next()
			plays[p.job.ID] = p
		}
		i := 0
		for id, p := range plays {
			from := time.Now()
			j, err := r.Cancel(r.ctx(), id)
			if err != nil || j.State != job.Active || !j.CancelRequested {
				t.Fatalf("cancel = %+v, %v, want the job active and marked", j, err)
			}
			p.wantCause(t, job.ErrCancelled)
			// A third of the lease, when the next renewal tells, is 5 s.
			timely.Check(t, "cancelling", time.Since(from), 2*time.Second)
			p.end(ends[i].err)
			j = r.becomes(id, ends[i].state)
			if ends[i].state == job.Cancelled && j.Reason != job.ReasonRequest {
				t.Errorf("reason = %q, want %q", j.Reason, job.ReasonRequest)
			}
			i++
		}
	})
}

// A cancelled job is given up by a retry, too: it never comes back.
func TestCancelledJobIsNotRetried(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		r.promote()
		s := newStage(t)
		r.work(dispatcher.Config{}, handlers{"hold": s.heeding})
		id := r.add("medium", "hold", scheduler.WithBackoff(time.Millisecond, time.Millisecond))
		p := s.next()
		if _, err := r.Cancel(r.ctx(), id); err != nil {
			t.Fatal(err)
		}
		p.wantCause(t, job.ErrCancelled)
		r.becomes(id, job.Cancelled)
		s.nobody(50 * time.Millisecond)
	})
}

func TestUnreadableBody(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		// Nothing of it can be read, or only what the scripts need.
		nothing := r.add("medium", "any")
		headers := r.add("medium", "any", scheduler.WithHeaders(map[string]string{"a": "b"}))
		limit := r.add("medium", "any", scheduler.WithMaxAttempts(7))
		body := func(id string) string { return "{bide}:job:" + id }
		spoil := func(id, old, spoilt string) {
			text, err := r.rdb.Get(r.ctx(), body(id)).Result()
			if err != nil || !strings.Contains(text, old) {
				t.Fatalf("body %q, %v, does not contain %q", text, err, old)
			}
			if err := r.rdb.Set(r.ctx(), body(id), strings.Replace(text, old, spoilt, 1), 0).Err(); err != nil {
				t.Fatal(err)
			}
		}
		spoil(headers, `{"a":"b"}`, `{"a":`)
		spoil(limit, "\t7\t", "\tseven\t")
		if err := r.rdb.Set(r.ctx(), body(nothing), "garbage", 0).Err(); err != nil {
			t.Fatal(err)
		}
		ran := newDiary()
		died := make(chan dispatcher.Outcome, 10)
		r.work(dispatcher.Config{Observe: func(o dispatcher.Outcome) {
			if o.Err != nil {
				died <- o
			}
		}}, handlers{"any": ran.handler})
		good := r.add("medium", "any")
		r.becomes(good, job.Completed)
		r.eventually("three dead jobs", func() bool { return r.sum().Dead == 3 })
		for range 2 {
			if o := <-died; o.State != job.Dead || !strings.Contains(o.Err.Error(), "not readable") {
				t.Errorf("outcome = %+v, want it dead because its body is not readable", o)
			}
		}
		st, err := r.set.Stats(r.ctx())
		if err != nil || st.Rejected != 1 {
			t.Errorf("rejected = %d, %v, want 1: the body without a head", st.Rejected, err)
		}
		if got := ran.list(); len(got) != 1 || got[0] != good {
			t.Errorf("ran %v, want only %s", got, good)
		}
	})
}
