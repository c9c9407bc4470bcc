package promoter_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/bide-go/bide/dispatcher"
	"github.com/bide-go/bide/internal/redistest"
	"github.com/bide-go/bide/internal/timely"
	"github.com/bide-go/bide/job"
	"github.com/bide-go/bide/promoter"
	"github.com/bide-go/bide/scheduler"
)

func TestManyJobsOfOneInstant(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		n, limit := 10_000, 2*time.Second
		if r.Mini != nil { // its Lua is slow
			n, limit = 3000, 10*time.Second
		}
		r.promote(3)
		tomorrow := r.now().Add(24 * time.Hour).Truncate(time.Millisecond)
		later := r.many(300, "tomorrow-", func(i int) scheduler.Request {
			return scheduler.Request{Queue: "medium", At: tomorrow.Add(time.Duration(i) * time.Second)}
		})
		// How long it takes to create so many is the machine's affair: try until
		// all of them were there in time.
		var ids []string
		var due time.Time
		earlier := int64(0)
		for lead := 2 * time.Second; ; lead *= 2 {
			due = r.now().Add(lead)
			ids = r.many(n, fmt.Sprintf("job-%v-", lead), func(int) scheduler.Request { return scheduler.Request{Queue: "medium", At: due} })
			if r.sum().Delayed == int64(n+300) {
				break
			}
			r.eventually("all promoted that came too late", func() bool { return r.sum().Delayed == 300 })
			earlier += int64(len(r.lane("medium")))
		}
		r.eventually("all promoted", func() bool { return r.sum().Waiting == int64(n) })
		took := r.now().Sub(due)
		t.Logf("%d jobs promoted within %v", n, took.Round(time.Millisecond))
		if took > timely.Limit(limit) {
			t.Errorf("promoting %d jobs took %v, want at most %v", n, took, limit)
		}
		st, err := r.set.Stats(r.ctx())
		if err != nil {
			t.Fatal(err)
		}
		for _, q := range st.Queues {
			if q.Queue == "medium" && (q.WaitingDelayed != int64(n) || q.Waiting != 0) {
				t.Errorf("lanes = %+v, want all in medium-delayed", q)
			}
		}
		r.sameOrder("lane", r.lane("medium"), ids)
		if s := r.sum(); s.Delayed != 300 || s.Completed != earlier+int64(n) {
			t.Errorf("sum = %+v, want the 300 of tomorrow untouched", s)
		}
		for i, id := range later {
			want := tomorrow.Add(time.Duration(i) * time.Second)
			if j, err := r.Get(r.ctx(), id); err != nil || j.State != job.Delayed || !j.Due.Equal(want) {
				t.Fatalf("job of tomorrow = %+v, %v, want it delayed until %v", j, err, want)
			}
		}
	})
}

func TestDueOrder(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		const n = 800
		dues := make([]time.Time, n) // many of them the same
		random := rand.New(rand.NewPCG(1, 2))
		var ids []string
		// How long it takes to create so many is the machine's affair: try until
		// all of them were there in time.
		for lead := time.Second; ; lead *= 2 {
			base := r.now().Add(lead).Truncate(time.Millisecond)
			ids = r.many(n, fmt.Sprintf("job-%v-", lead), func(i int) scheduler.Request {
				dues[i] = base.Add(time.Duration(random.IntN(200)) * time.Millisecond)
				return scheduler.Request{Queue: []string{"high", "low"}[i%2], At: dues[i]}
			})
			if r.now().Before(base) {
				break
			}
			for _, id := range ids {
				if _, err := r.Cancel(r.ctx(), id); err != nil {
					t.Fatal(err)
				}
			}
		}
		r.promote(3)
		r.eventually("all promoted", func() bool { return r.sum().Waiting == n })
		for parity, queue := range []string{"high", "low"} {
			var order []int
			for i := parity; i < n; i += 2 {
				order = append(order, i)
			}
			slices.SortStableFunc(order, func(a, b int) int { return dues[a].Compare(dues[b]) })
			var want []string
			for _, i := range order {
				want = append(want, ids[i])
			}
			r.sameOrder(queue, r.lane(queue), want)
		}
	})
}

// starts notes when jobs start, by Redis' clock.
type starts struct {
	r    *rig
	seen chan start
}

type start struct {
	job *job.Job
	at  time.Time
}

func (s starts) handler(_ context.Context, j *job.Job) error {
	s.seen <- start{j, s.r.now()}
	return nil
}

func (s starts) next() start {
	s.r.t.Helper()
	select {
	case got := <-s.seen:
		return got
	case <-time.After(patience):
		s.r.t.Fatal("no job was started")
		return start{}
	}
}

func TestSoonWhileAnotherIsFar(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		s := starts{r, make(chan start, 100)}
		r.promote(2)
		r.work(dispatcher.Config{}, s.handler)
		if _, err := r.ExecuteLater(r.ctx(), "medium", "any", nil, time.Hour); err != nil {
			t.Fatal(err)
		}
		var late []time.Duration
		for range 15 {
			id, err := r.ExecuteLater(r.ctx(), "medium", "any", nil, 40*time.Millisecond)
			if err != nil {
				t.Fatal(err)
			}
			got := s.next()
			if got.job.ID != id || got.at.Before(got.job.Due) {
				t.Fatalf("started %s at %v, want %s not before %v", got.job.ID, got.at, id, got.job.Due)
			}
			late = append(late, got.at.Sub(got.job.Due))
		}
		slices.Sort(late)
		t.Logf("late by %v (median), %v (most)", late[len(late)/2], late[len(late)-1])
		// The bound is for a machine that has other things to do.
		limit := 200 * time.Millisecond
		if r.Mini != nil { // its Lua is slow
			limit = time.Second
		}
		if late[len(late)/2] > timely.Limit(limit) {
			t.Errorf("late by %v, want a few milliseconds", late)
		}
	})
}

func TestOneInstantOneSlot(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		s := starts{r, make(chan start, 100)}
		r.promote(3)
		r.work(dispatcher.Config{Concurrency: 1}, s.handler)
		due := r.now().Add(300 * time.Millisecond)
		ids := r.many(20, "job-", func(int) scheduler.Request { return scheduler.Request{Queue: "medium", At: due} })
		var got []string
		for range ids {
			got = append(got, s.next().job.ID)
		}
		r.sameOrder("starts", got, ids)
	})
}

// Nothing is early by Redis' clock, not by a fraction of a millisecond.
func TestNeverEarly(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		const n = 150
		s := starts{r, make(chan start, n)}
		r.promote(3)
		r.work(dispatcher.Config{}, s.handler)
		random := rand.New(rand.NewPCG(3, 4))
		earliest := map[string]time.Time{}
		for i := range n {
			id := fmt.Sprint("job-", i)
			if i%2 == 0 {
				delay := time.Duration(random.Int64N(int64(200*time.Millisecond))) + 1
				earliest[id] = r.now().Add(delay)
				if _, err := r.ExecuteLater(r.ctx(), "medium", "any", nil, delay, scheduler.WithID(id)); err != nil {
					t.Fatal(err)
				}
				continue
			}
			at := r.now().Add(time.Duration(random.Int64N(int64(200 * time.Millisecond))))
			earliest[id] = at
			if _, err := r.ExecuteAt(r.ctx(), "medium", "any", nil, at, scheduler.WithID(id)); err != nil {
				t.Fatal(err)
			}
		}
		for range n {
			got := s.next()
			if got.at.Before(earliest[got.job.ID]) {
				t.Errorf("job %s was started at %v, want not before %v", got.job.ID, got.at, earliest[got.job.ID])
			}
		}
	})
}

func TestDates(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		r.promote(1)
		now := r.now()
		day := 24 * time.Hour
		tests := []struct {
			name  string
			at    time.Time
			delay time.Duration
			state job.State
		}{
			{"the end of the calendar", time.Date(9999, 12, 31, 23, 59, 59, 999e6, time.UTC), 0, job.Delayed},
			{"in a hundred years", now.Add(36525 * day).Truncate(time.Millisecond), 0, job.Delayed},
			{"in another zone", now.Add(36525 * day).Truncate(time.Millisecond).In(time.FixedZone("far", 14*3600)), 0, job.Delayed},
			{"the longest delay", time.Time{}, 1<<63 - 1, job.Delayed},
			{"a minute ago", now.Add(-time.Minute), 0, job.Waiting},
			{"the epoch", time.Unix(0, 0), 0, job.Waiting},
			{"before the epoch", time.Date(1, 2, 3, 4, 5, 6, 7, time.UTC), 0, job.Waiting},
			{"neither", time.Time{}, 0, job.Waiting},
			{"a negative delay", time.Time{}, -time.Hour, job.Waiting},
			{"the most negative delay", time.Time{}, -1 << 63, job.Waiting},
		}
		for _, test := range tests {
			before := r.now().Truncate(time.Millisecond)
			res, err := r.Enqueue(r.ctx(), scheduler.Request{Name: "any", At: test.at, Delay: test.delay})
			after := r.now().Add(time.Millisecond)
			if err != nil || res.State != test.state {
				t.Errorf("%s: enqueued as %+v, %v, want %s", test.name, res, err, test.state)
				continue
			}
			j, err := r.Get(r.ctx(), res.ID)
			if err != nil || j.State != test.state || !j.Due.Equal(res.Due) {
				t.Errorf("%s: job = %+v, %v, want it as enqueued: %+v", test.name, j, err, res)
				continue
			}
			want, until := before, after
			if test.delay > 0 {
				// Not truncated to a duration: that many milliseconds from now.
				want, until = before.Add(test.delay).Add(-time.Millisecond), after.Add(test.delay).Add(2*time.Millisecond)
			} else if test.state == job.Delayed {
				want, until = test.at, test.at
			}
			if j.Due.Before(want) || j.Due.After(until) {
				t.Errorf("%s: due at %v, want %v to %v", test.name, j.Due, want, until)
			}
		}
		// Several passes of the promoter leave what is far where it is.
		time.Sleep(300 * time.Millisecond)
		if s := r.sum(); s.Delayed != 4 || s.Waiting != 6 {
			t.Errorf("sum = %+v, want 4 delayed and 6 waiting", s)
		}
		if _, err := r.ExecuteAt(r.ctx(), "medium", "any", nil, time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC)); err == nil {
			t.Error("the year 10000 was accepted")
		}
		if _, err := r.Enqueue(r.ctx(), scheduler.Request{Name: "any", At: now, Delay: time.Second}); err == nil {
			t.Error("an instant and a delay were accepted together")
		}
	})
}

// A job that is put forward starts then, and one that is put off no earlier.
func TestReschedule(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		s := starts{r, make(chan start, 10)}
		r.promote(2)
		r.work(dispatcher.Config{}, s.handler)
		far, err := r.ExecuteLater(r.ctx(), "medium", "any", nil, time.Hour)
		if err != nil {
			t.Fatal(err)
		}
		off, err := r.ExecuteLater(r.ctx(), "medium", "any", nil, 5*time.Second)
		if err != nil {
			t.Fatal(err)
		}
		until := r.now().Add(6 * time.Second)
		if _, err := r.Reschedule(r.ctx(), off, until); err != nil {
			t.Fatal(err)
		}
		if _, err := r.RescheduleIn(r.ctx(), far, 50*time.Millisecond); err != nil {
			t.Fatal(err)
		}
		if got := s.next(); got.job.ID != far {
			t.Errorf("started %s first, want the one that was put forward", got.job.ID)
		}
		if got := s.next(); got.job.ID != off || got.at.Before(until) {
			t.Errorf("started %s at %v, want %s not before %v", got.job.ID, got.at, off, until)
		}
	})
}

// A promoter that is stopped while others run costs nothing, and all together
// they promote each job once.
func TestPromotersComeAndGo(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		var mu sync.Mutex
		seen := map[string]int{}
		var wg sync.WaitGroup
		const n = 400
		wg.Add(n)
		r.work(dispatcher.Config{}, func(_ context.Context, j *job.Job) error {
			mu.Lock()
			defer mu.Unlock()
			if seen[j.ID]++; seen[j.ID] == 1 {
				wg.Done()
			}
			return nil
		})
		now := r.now()
		r.many(n, "job-", func(i int) scheduler.Request {
			return scheduler.Request{Queue: "medium", At: now.Add(300*time.Millisecond + time.Duration(i)*5*time.Millisecond)}
		})
		done := make(chan struct{})
		go func() { wg.Wait(); close(done) }()
		for ended := false; !ended; {
			end := r.run(promoter.New(r.Server.Client(), promoter.Config{}).Run)
			select {
			case <-done:
				ended = true
			case <-time.After(60 * time.Millisecond):
			}
			if took := end(); took > timely.Limit(2*time.Second) {
				t.Errorf("a promoter took %v to end", took)
			}
		}
		for id, times := range seen {
			if times != 1 {
				t.Errorf("job %s was started %d times", id, times)
			}
		}
	})
}

func TestPromoterEndsWithRedisFrozen(t *testing.T) {
	t.Parallel()
	r := newRig(t, redistest.NewReal(t))
	p := promoter.New(r.Server.Client(), promoter.Config{})
	end := r.run(p.Run)
	r.eventually("a pass", func() bool { return !p.LastPass().IsZero() })
	r.Freeze()
	time.Sleep(200 * time.Millisecond) // it is in a call now
	if took := end(); took > timely.Limit(2*time.Second) {
		t.Errorf("Run took %v to end, want it at once", took)
	}
	r.Thaw()
}

func TestPromoterOutlivesTrouble(t *testing.T) {
	t.Parallel()
	r := newRig(t, redistest.NewReal(t, "--save", "", "--appendonly", "yes", "--appendfsync", "always"))
	s := starts{r, make(chan start, 10)}
	r.promote(2)
	r.work(dispatcher.Config{}, s.handler)
	for name, trouble := range map[string]func(){
		"scripts flushed": func() { r.rdb.ScriptFlush(r.ctx()) },
		"clients killed": func() {
			r.Server.Client().ClientKillByFilter(r.ctx(), "TYPE", "normal", "SKIPME", "yes")
		},
		"killed and restarted": func() { r.Kill(); time.Sleep(300 * time.Millisecond); r.Restart() },
		"frozen":               func() { r.Freeze(); time.Sleep(time.Second); r.Thaw() },
	} {
		var id string
		var err error
		r.eventually("enqueue", func() bool {
			id, err = r.ExecuteLater(r.ctx(), "medium", "any", nil, 500*time.Millisecond, scheduler.WithID("job-"+strings.ReplaceAll(name, " ", "-")))
			return err == nil
		})
		trouble()
		back := time.Now()
		got := s.next()
		if got.job.ID != id {
			t.Fatalf("%s: started %s, want %s", name, got.job.ID, id)
		}
		if took := time.Since(back); took > timely.Limit(7*time.Second) {
			t.Errorf("%s: a due job took %v to start, want at most 5s", name, took)
		}
		r.eventually("completed", func() bool {
			_, err := r.Get(r.ctx(), id)
			return err != nil
		})
	}
}

// The sweep ends what expired before it was started, and forgets what was kept
// long enough.
func TestSweep(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		r.promote(2)
		for i := range 3 {
			opts := []scheduler.Option{scheduler.WithExpiryIn(50 * time.Millisecond), scheduler.WithRetention(100 * time.Millisecond), scheduler.WithID(fmt.Sprint("job-", i))}
			if _, err := r.ExecuteLater(r.ctx(), "medium", "any", nil, time.Duration(i)*time.Minute, opts...); err != nil {
				t.Fatal(err)
			}
		}
		r.eventually("all expired", func() bool { return r.sum().Expired == 3 })
		r.eventually("all forgotten", func() bool {
			st, err := r.set.Stats(r.ctx())
			return err == nil && st.StoredFinished == 0
		})
		if _, err := r.Get(r.ctx(), "job-1"); err == nil {
			t.Error("a job is still there after its retention")
		}
	})
}

func TestDeadJobsAreTrimmed(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		r.work(dispatcher.Config{}, func(context.Context, *job.Job) error { return job.Permanent(context.Canceled) })
		r.many(10, "job-", func(int) scheduler.Request { return scheduler.Request{} })
		r.eventually("all dead", func() bool { return r.sum().Dead == 10 })
		stored := func(n int64) func() bool {
			return func() bool {
				st, err := r.set.Stats(r.ctx())
				return err == nil && st.StoredDead == n
			}
		}
		end := r.run(promoter.New(r.Server.Client(), promoter.Config{DeadMax: 4}).Run)
		r.eventually("the newest four left", stored(4))
		end()
		r.run(promoter.New(r.Server.Client(), promoter.Config{DeadRetention: time.Millisecond}).Run)
		r.eventually("none left", stored(0))
		if s := r.sum(); s.Dead != 10 {
			t.Errorf("sum = %+v, want all ten counted as dead", s)
		}
	})
}

func TestMistakesAreReturnedByRun(t *testing.T) {
	t.Parallel()
	rdb := redis.NewClient(&redis.Options{Addr: "127.0.0.1:1"}) // never asked
	defer rdb.Close()
	err := promoter.New(rdb, promoter.Config{Namespace: "No Good"}).Run(t.Context())
	if err == nil || !strings.Contains(err.Error(), `namespace "No Good" must be a-z`) {
		t.Errorf("Run = %v, want the namespace's mistake", err)
	}
}
