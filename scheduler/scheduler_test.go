package scheduler

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/rs/zerolog"

	"github.com/bide-go/bide/dispatcher"
	"github.com/bide-go/bide/internal/redistest"
	"github.com/bide-go/bide/internal/timely"
	"github.com/bide-go/bide/job"
	"github.com/bide-go/bide/promoter"
	"github.com/bide-go/bide/worker"
)

// role is a running role.
type role struct {
	stop context.CancelFunc
	done chan error
}

func start(run func(context.Context) error) *role {
	ctx, stop := context.WithCancel(context.Background())
	r := &role{stop, make(chan error, 1)}
	go func() { r.done <- run(ctx) }()
	return r
}

func (r *role) end(t testing.TB) {
	t.Helper()
	r.stop()
	select {
	case err := <-r.done:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(20 * time.Second):
		t.Fatal("a role does not end")
	}
}

// recorder notes which ticks ran.
type recorder struct {
	mu   sync.Mutex
	runs map[string][]time.Time // schedule -> ticks as they ran
}

func (rec *recorder) handle(_ context.Context, j *job.Job) error {
	rec.mu.Lock()
	defer rec.mu.Unlock()
	rec.runs[j.Schedule] = append(rec.runs[j.Schedule], j.Tick)
	return nil
}

func (rec *recorder) ran(schedule string) []time.Time {
	rec.mu.Lock()
	defer rec.mu.Unlock()
	return slices.Clone(rec.runs[schedule])
}

// backstage runs a promoter and a dispatcher until it is ended.
func (r *rig) backstage(rec *recorder) (end func()) {
	reg := worker.NewRegistry()
	reg.Handle("tick", rec.handle)
	roles := []*role{
		start(promoter.New(r.Server.Client(), promoter.Config{}).Run),
		start(dispatcher.New(r.Server.Client(), reg, dispatcher.Config{Concurrency: 5}).Run),
	}
	return func() {
		for _, role := range roles {
			role.end(r.t)
		}
	}
}

// wantWhole checks that the ticks that ran are those of a grid, each once. Ticks
// that a stalled machine missed are allowed if they are counted.
func wantWhole(t testing.TB, r *rig, schedule string, step time.Duration, ran []time.Time) {
	t.Helper()
	if len(ran) == 0 {
		t.Errorf("%s: nothing ran", schedule)
		return
	}
	sorted := slices.SortedFunc(slices.Values(ran), time.Time.Compare)
	lost := 0
	for i, tick := range sorted {
		if !tick.Equal(tick.Truncate(step)) {
			t.Errorf("%s: %v is not on the grid of %v", schedule, tick, step)
		}
		if i > 0 && tick.Equal(sorted[i-1]) {
			t.Errorf("%s: %v ran twice", schedule, tick)
		}
		if i > 0 {
			lost += int(tick.Sub(sorted[i-1])/step) - 1
		}
	}
	if counted := r.missed(schedule); lost != max(counted, 0) {
		t.Errorf("%s: %d ticks did not run and %d are counted as missed: %v", schedule, lost, counted, sorted)
	} else if lost > 0 {
		t.Logf("%s: %d ticks were missed and counted", schedule, lost)
	}
}

// Each tick runs exactly once, with any number of schedulers and while they come
// and go.
func TestEachTickRunsOnce(t *testing.T) {
	t.Parallel()
	for _, copies := range []int{2, 3} {
		t.Run(fmt.Sprintf("%d schedulers", copies), func(t *testing.T) {
			t.Parallel()
			r := newRig(t, redistest.NewReal(t))
			rec := &recorder{runs: map[string][]time.Time{}}
			end := r.backstage(rec)
			set := []Definition{every("seconds", "* * * * * *"), every("twos", "@every 2s")}
			run := func(i int) *role {
				s := New(r.Server.Client(), Config{Name: fmt.Sprint("copy-", i)})
				if err := s.Replace(set, nil); err != nil {
					t.Fatal(err)
				}
				return start(s.Run)
			}
			var all []*role
			for i := range copies {
				all = append(all, run(i))
			}
			// In turn, one of them is stopped when the next few ticks have run and
			// started again a few later; at last all of them at once.
			ranAtLeast := func(n int) {
				t.Helper()
				eventually(t, 40*time.Second, fmt.Sprint(n, " ticks ran"), func() bool { return len(rec.ran("seconds")) >= n })
			}
			for round := range 5 {
				i := round % copies
				ranAtLeast(3*round + 2)
				all[i].end(t)
				ranAtLeast(3*round + 4)
				all[i] = run(i)
			}
			for i := range all {
				all[i].end(t)
			}
			ranAtLeast(18)
			for i := range all {
				all[i] = run(i)
			}
			ranAtLeast(20)
			for _, s := range all {
				s.end(t)
			}
			end()
			wantWhole(t, r, "seconds", time.Second, rec.ran("seconds"))
			wantWhole(t, r, "twos", 2*time.Second, rec.ran("twos"))
		})
	}
}

// All roles are down for twelve seconds: the newest missed tick runs, the others
// are counted, and the schedule goes on.
func TestAllRolesDown(t *testing.T) {
	t.Parallel()
	r := newRig(t, redistest.NewReal(t))
	rec := &recorder{runs: map[string][]time.Time{}}
	run := func() (end func()) {
		back := r.backstage(rec)
		s := New(r.Server.Client(), Config{})
		if err := s.Replace([]Definition{every("s", "@every 1s")}, nil); err != nil {
			t.Fatal(err)
		}
		sched := start(s.Run)
		return func() { sched.end(t); back() }
	}
	end := run()
	eventually(t, 10*time.Second, "two ticks ran", func() bool { return len(rec.ran("s")) >= 2 })
	end()
	before := len(rec.ran("s"))
	up := time.NewTimer(12 * time.Second)
	<-up.C // the outage itself
	began := time.Now()
	end = run()
	eventually(t, 2*time.Second, "a missed tick ran", func() bool { return len(rec.ran("s")) > before })
	t.Logf("the first run came %v after the start", time.Since(began))
	eventually(t, 10*time.Second, "it goes on", func() bool { return len(rec.ran("s")) >= before+4 })
	end()
	ran := rec.ran("s")
	wantWhole(t, r, "s", time.Second, ran)
	if gap := ran[before].Sub(ran[before-1]); gap < 10*time.Second || ran[before].Before(began.Add(-3*time.Second)) {
		t.Errorf("after the outage the tick %v ran, %v after the one before; the start was at %v", ran[before], gap, began)
	}
}

func TestRunHealsAndStops(t *testing.T) {
	t.Parallel()
	r := mini(t)
	l := &logs{}
	s := New(r.Server.Client(), Config{Log: zerolog.New(l)})
	r.Mini.SetError("LOADING Redis is loading the dataset in memory")
	if err := s.Replace([]Definition{every("s", "@every 1s")}, nil); err != nil {
		t.Fatal(err)
	}
	run := start(s.Run)
	eventually(t, 5*time.Second, "trouble is logged", func() bool { return len(l.find("redis trouble begins")) == 1 })
	if !s.LastPass().IsZero() {
		t.Error("a pass that failed counts")
	}
	r.Mini.SetError("")
	eventually(t, 5*time.Second, "it is applied", func() bool { return slices.Equal(r.applied(), []string{"s"}) })
	eventually(t, 5*time.Second, "the end of trouble is logged", func() bool { return len(l.find("redis trouble ends")) == 1 })
	eventually(t, 5*time.Second, "a pass is noted", func() bool { return time.Since(s.LastPass()) < time.Second })

	// A new set is carried out at once, not at the next pass.
	if err := s.Replace([]Definition{every("t", "@daily")}, nil); err != nil {
		t.Fatal(err)
	}
	eventually(t, 900*time.Millisecond, "the new set is applied", func() bool { return slices.Equal(r.applied(), []string{"t"}) })
	run.end(t)
	if n := strings.Count(l.String(), "trouble begins"); n != 1 {
		t.Errorf("the same trouble is logged %d times", n)
	}
}

func TestRunStopsWhileRedisIsSilent(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0") // takes connections and never answers
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	rdb := redis.NewClient(&redis.Options{Addr: l.Addr().String(), ContextTimeoutEnabled: true, MaxRetries: -1, ReadTimeout: 500 * time.Millisecond})
	defer rdb.Close()
	run := start(New(rdb, Config{}).Run)
	began := time.Now()
	run.end(t)
	if took := time.Since(began); took > timely.Limit(2*time.Second) {
		t.Errorf("it took %v", took)
	}
}

func TestMistakesInTheConfigurationAreReturned(t *testing.T) {
	t.Parallel()
	rdb := redis.NewClient(&redis.Options{Addr: "127.0.0.1:1"})
	defer rdb.Close()
	err := New(rdb, Config{Namespace: "Not Legal"}).Run(context.Background())
	var invalid *job.InvalidError
	if !errors.As(err, &invalid) {
		t.Errorf("want an InvalidError, got %v", err)
	}
	ring := redis.NewRing(&redis.RingOptions{Addrs: map[string]string{"a": "127.0.0.1:1"}})
	defer ring.Close()
	if err := New(ring, Config{}).Run(context.Background()); err == nil || !strings.Contains(err.Error(), "Ring") {
		t.Errorf("a ring: %v", err)
	}
}
