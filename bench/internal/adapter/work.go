package adapter

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/bide-go/bide/bench/internal/protocol"
	"github.com/bide-go/bide/internal/clock"
)

// settlePoll is how often the system is asked whether all is settled, once the
// handler of the last job has begun; before that nobody asks.
const settlePoll = time.Millisecond

// starts notes when jobs start.
type starts struct {
	want   int64
	n      atomic.Int64
	all    chan struct{} // closed at the start number want
	micros []int64       // by order of start; nil if lateness is not asked for
	seen   []atomic.Bool // by job
	double atomic.Int64
}

func newStarts(spec protocol.Spec) *starts {
	s := &starts{want: int64(spec.Jobs), all: make(chan struct{})}
	if spec.Lateness {
		s.micros, s.seen = make([]int64, spec.Jobs), make([]atomic.Bool, spec.Jobs)
	}
	return s
}

// handle is the handler of every job: it does nothing but count, and read its due
// time if lateness is asked for. The instant is taken first.
func (s *starts) handle(payload []byte) {
	if s.micros != nil {
		now := clock.Now().UnixMicro()
		seq, due, err := protocol.Parse(payload)
		if err != nil || seq >= len(s.seen) || s.seen[seq].Swap(true) {
			s.double.Add(1)
			return
		}
		n := s.n.Add(1)
		s.micros[n-1] = now - due*1000
		s.tell(n)
		return
	}
	s.tell(s.n.Add(1))
}

func (s *starts) tell(n int64) {
	if n == s.want {
		close(s.all)
	}
}

// work runs a worker from go until the last job is settled.
func (s *session) work(ctx context.Context) (protocol.Result, error) {
	st := newStarts(s.spec)
	if err := s.start(); err != nil {
		return protocol.Result{}, err
	}
	limit, cancel := context.WithTimeout(ctx, time.Duration(s.spec.LimitMs)*time.Millisecond)
	defer cancel()
	began := clock.Now()
	if err := s.sys.work(ctx, s.spec.Concurrency, st.handle); err != nil {
		return protocol.Result{}, err
	}
	select {
	case <-st.all:
	case <-limit.Done():
	}
	end, err := s.settled(limit, func(c protocol.Counts) bool { return c.Open() <= s.spec.Leave })
	n := st.n.Load()
	r := protocol.Result{
		Seconds: end.Sub(began).Seconds(), EndUs: end.UnixMicro(),
		Started: int(n + st.double.Load()), Doubled: int(st.double.Load()),
	}
	if st.micros != nil {
		r.Micros = st.micros[:min(n, st.want)]
	}
	return r, err
}

// promote runs what moves due jobs, from go until all are in their lanes.
func (s *session) promote(ctx context.Context) (protocol.Result, error) {
	if err := s.start(); err != nil {
		return protocol.Result{}, err
	}
	limit, cancel := context.WithTimeout(ctx, time.Duration(s.spec.LimitMs)*time.Millisecond)
	defer cancel()
	began := clock.Now()
	if err := s.sys.promote(ctx); err != nil {
		return protocol.Result{}, err
	}
	end, err := s.settled(limit, func(c protocol.Counts) bool { return c.Delayed <= s.spec.Leave })
	return protocol.Result{Seconds: end.Sub(began).Seconds(), EndUs: end.UnixMicro()}, err
}

// settled asks the system until done says so or the limit is over, and returns when
// that was.
func (s *session) settled(limit context.Context, done func(protocol.Counts) bool) (time.Time, error) {
	for {
		c, err := s.sys.counts(context.WithoutCancel(limit))
		now := clock.Now()
		if err != nil || done(c) {
			return now, err
		}
		if !clock.Sleep(limit, settlePoll) {
			return clock.Now(), nil // what is missing shows in the counts
		}
	}
}

// idle runs a worker for LimitMs without giving it anything to do.
func (s *session) idle(ctx context.Context) (protocol.Result, error) {
	if err := s.sys.work(ctx, s.spec.Concurrency, func([]byte) {}); err != nil {
		return protocol.Result{}, err
	}
	clock.Sleep(ctx, time.Duration(s.spec.SettleMs)*time.Millisecond) // starting up is not idling
	if err := s.start(); err != nil {
		return protocol.Result{}, err
	}
	began := clock.Now()
	clock.Sleep(ctx, time.Duration(s.spec.LimitMs)*time.Millisecond)
	return protocol.Result{Seconds: clock.Since(began).Seconds()}, nil
}

// roundtrip enqueues a job, waits until its handler begins, and so on. It ends after
// Jobs of them or LimitMs, but makes Least at least.
func (s *session) roundtrip(ctx context.Context) (protocol.Result, error) {
	started := make(chan time.Time, 1)
	if err := s.sys.work(ctx, s.spec.Concurrency, func([]byte) { started <- clock.Now() }); err != nil {
		return protocol.Result{}, err
	}
	trip := func(i int) (int64, error) {
		sent := clock.Now()
		if err := s.sys.enqueue(ctx, s.task(i)); err != nil {
			return 0, err
		}
		select {
		case at := <-started:
			return at.Sub(sent).Microseconds(), nil
		case <-clock.NewTimer(30 * time.Second).C:
			return 0, context.DeadlineExceeded
		}
	}
	for i := range s.spec.Warm {
		if _, err := trip(i); err != nil {
			return protocol.Result{}, err
		}
	}
	if err := s.start(); err != nil {
		return protocol.Result{}, err
	}
	var r protocol.Result
	began := clock.Now()
	for i := range s.spec.Jobs {
		if i >= s.spec.Least && clock.Since(began).Milliseconds() > s.spec.LimitMs {
			break
		}
		took, err := trip(i)
		if err != nil {
			return r, err
		}
		r.Micros = append(r.Micros, took)
	}
	r.Started, r.Seconds = len(r.Micros), clock.Since(began).Seconds()
	limit, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	_, err := s.settled(limit, func(c protocol.Counts) bool { return c.Open() == 0 })
	return r, err
}
