package dispatcher

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/bide-go/bide/internal/redistest"
	"github.com/bide-go/bide/job"
	"github.com/bide-go/bide/scripts"
)

// looks is a dispatcher of which only the reaper works, and a job that somebody
// else has leased.
type looks struct {
	t testing.TB
	*Dispatcher
	reaper *reaper
	lease  scripts.Lease
}

type noHandlers struct{}

func (noHandlers) Names() []string                                        { return []string{"any"} }
func (noHandlers) Err() error                                             { return nil }
func (noHandlers) RunHere(_ context.Context, _ *job.Job, end func(error)) { end(nil) }

func newLooks(t testing.TB, s *redistest.Server, held time.Duration) *looks {
	t.Helper()
	d := New(s.Client(), noHandlers{}, Config{Lease: time.Second})
	ctx := context.Background()
	if err := d.set.Enqueue(ctx, scripts.NewBatch(scripts.NewJob{ID: "held", Queue: "medium", Name: "any"})); err != nil {
		t.Fatal(err)
	}
	r, err := d.set.Reserve(ctx, scripts.ReserveArgs{
		Token: "w-other:1", Lease: held, Limit: 1, Names: []string{"any"}, Offers: []scripts.Offer{{Queue: "medium", Slots: 1}},
	})
	if err != nil || len(r.Jobs) != 1 {
		t.Fatalf("reserve = %+v, %v, want one job", r, err)
	}
	return &looks{t: t, Dispatcher: d, reaper: &reaper{}, lease: r.Jobs[0].Lease}
}

// look is one look of the reaper. It returns how many leases the job has lost.
func (l *looks) look() int {
	l.t.Helper()
	if err := l.reapOnce(context.Background(), l.reaper); err != nil {
		l.t.Fatal(err)
	}
	j, err := l.set.Inspect(context.Background(), "held")
	if err != nil {
		l.t.Fatal(err)
	}
	return j.Lost
}

func (l *looks) want(when string, lost int) {
	l.t.Helper()
	if got := l.look(); got != lost {
		l.t.Errorf("%s: %d lost leases, want %d", when, got, lost)
	}
}

func (l *looks) renew(lease time.Duration) {
	l.t.Helper()
	r, err := l.set.Renew(context.Background(), lease, []scripts.Lease{l.lease})
	if err != nil || r[0] != scripts.Renewed {
		l.t.Fatalf("renew = %v, %v, want ok", r, err)
	}
}

// pace is the time between two looks of a dispatcher with the lease of these tests.
func pace() { time.Sleep(250 * time.Millisecond) }

// steppingClock keeps the embedded Redis' clock going, and lets it be moved.
func steppingClock(t testing.TB, s *redistest.Server) (step func(time.Duration)) {
	var offset atomic.Int64
	stop, done := make(chan struct{}), make(chan struct{})
	set := func() { s.Mini.SetTime(time.Now().Add(time.Duration(offset.Load()))) }
	set()
	go func() {
		defer close(done)
		tick := time.NewTicker(2 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				set()
			case <-stop:
				return
			}
		}
	}()
	t.Cleanup(func() { close(stop); <-done })
	return func(d time.Duration) { offset.Add(int64(d)); set() }
}

func TestReaperTakesExpiredLeases(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		l := newLooks(t, s, 50*time.Millisecond)
		pace()
		for n := 1; ; n++ {
			lost := l.look()
			if lost == 1 && n == 1 {
				t.Fatal("a lease was taken on the first look")
			}
			if lost == 1 {
				break
			}
			if n == 10 {
				t.Fatal("no lease was taken in ten looks")
			}
			pace()
		}
	})
}

// After an outage the owner of a lease that looks expired may be well.
func TestReaperLeavesTimeToRenew(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		l := newLooks(t, s, 50*time.Millisecond)
		pace()
		l.want("first look", 0)
		l.renew(time.Minute)
		for range 4 {
			pace()
			l.want("after the renewal", 0)
		}
	})
}

// After a step of Redis' clock all leases look expired. Their owners renew every
// third of a lease, so none may be taken before that time is over.
func TestReaperAfterAClockStep(t *testing.T) {
	t.Parallel()
	s := redistest.NewMini(t)
	step := steppingClock(t, s)
	l := newLooks(t, s, time.Minute)
	for range 3 {
		pace()
		l.want("before the step", 0)
	}
	step(time.Hour)
	stepped := time.Now()
	l.want("at the step", 0)
	for pace(); time.Since(stepped) < time.Second/3; pace() {
		if lost, after := l.look(), time.Since(stepped); lost > 0 && after < time.Second/3 {
			t.Fatalf("a lease was taken %v after the step, before its owner's next renewal", after)
		}
	}
	l.renew(time.Minute)
	for range 5 {
		pace()
		l.want("after the renewal", 0)
	}
	// A step back is none of its business, either.
	step(-2 * time.Hour)
	for range 5 {
		pace()
		l.want("after a step back", 0)
	}
}

// The same with everything running.
func TestClockStepTakesNoRunningJob(t *testing.T) {
	for _, size := range []time.Duration{time.Hour, 10 * time.Second, -time.Hour} {
		t.Run(size.String(), func(t *testing.T) {
			t.Parallel()
			s := redistest.NewMini(t)
			step := steppingClock(t, s)
			started, end := make(chan context.Context, 100), make(chan struct{})
			h := held{started, end}
			ctx, stop := context.WithCancel(context.Background())
			const others = 4
			ended := make(chan error, others+1)
			begin := func() *scripts.Set {
				d := New(s.Client(), h, Config{Lease: 2 * time.Second})
				go func() { ended <- d.Run(ctx) }()
				return d.set
			}
			set := begin()
			defer func() {
				close(end)
				stop()
				for range others + 1 {
					if err := <-ended; err != nil {
						t.Error(err)
					}
				}
			}()
			if err := set.Enqueue(ctx, scripts.NewBatch(scripts.NewJob{ID: "held", Queue: "medium", Name: "hold"})); err != nil {
				t.Fatal(err)
			}
			handler := <-started
			// Their reapers look at different moments.
			for range others {
				begin()
				time.Sleep(125 * time.Millisecond)
			}
			// Just after a renewal is the worst moment.
			until := func() time.Time {
				j, err := set.Inspect(ctx, "held")
				if err != nil {
					t.Fatal(err)
				}
				return j.LeaseUntil
			}
			for first := until(); until().Equal(first); {
				time.Sleep(5 * time.Millisecond)
			}
			step(size)
			select {
			case <-started:
				t.Error("the job was started a second time")
			case <-time.After(5 * time.Second):
			}
			if handler.Err() != nil {
				t.Errorf("the handler's context ended: %v", context.Cause(handler))
			}
		})
	}
}

type held struct {
	started chan context.Context
	end     chan struct{}
}

func (held) Names() []string { return []string{"hold"} }
func (held) Err() error      { return nil }
func (h held) RunHere(ctx context.Context, _ *job.Job, ended func(error)) {
	h.started <- ctx
	<-h.end
	ended(nil)
}
