package dispatcher_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/bide-go/bide/dispatcher"
	"github.com/bide-go/bide/internal/timely"
	"github.com/bide-go/bide/job"
	"github.com/bide-go/bide/scheduler"
	"github.com/bide-go/bide/scripts"
)

// due moves n jobs that are about to be due to their lanes.
func (r *rig) due(n int) {
	r.t.Helper()
	moved := 0
	r.eventually(fmt.Sprintf("%d jobs promoted", n), func() bool {
		done, err := r.set.Promote(r.ctx(), 1000, false)
		moved += done.Taken
		return err == nil && moved >= n
	})
}

func TestStrictOrder(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		queues := []string{"high", "medium", "low"}
		for _, queue := range []string{"low", "high", "medium"} {
			for i := range 3 {
				r.add(queue, "any", scheduler.WithID(fmt.Sprint(queue, "-fresh-", i)))
				r.addLater(queue, "any", time.Millisecond, scheduler.WithID(fmt.Sprint(queue, "-due-", i)))
			}
		}
		r.due(9)
		d := newDiary()
		r.work(dispatcher.Config{Concurrency: 1}, handlers{"any": d.handler})
		var want []string
		for _, queue := range queues {
			for _, lane := range []string{"-due-", "-fresh-"} {
				for i := range 3 {
					want = append(want, fmt.Sprint(queue, lane, i))
				}
			}
		}
		if got := d.wait(t, len(want)); !slices.Equal(got, want) {
			t.Errorf("started in the order\n%v, want\n%v", got, want)
		}
		r.completed(int64(len(want)))
	})
}

func TestHigherQueueGoesFirst(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		s := newStage(t)
		for i := range 3 {
			r.add("low", "hold", scheduler.WithID(fmt.Sprint("low-", i)))
		}
		r.work(dispatcher.Config{Concurrency: 1}, handlers{"hold": s.handler})
		p := s.next()
		r.add("high", "hold", scheduler.WithID("late"))
		for _, want := range []string{"low-0", "late", "low-1", "low-2"} {
			equal(t, "job", p.job.ID, want)
			p.end(nil)
			if want != "low-2" {
				p = s.next()
			}
		}
		r.completed(4)
	})
}

func TestWeightedShares(t *testing.T) {
	for _, concurrency := range []int{1, 4, 10} {
		t.Run(fmt.Sprint("concurrency ", concurrency), func(t *testing.T) {
			each(t, func(t *testing.T, r *rig) {
				counted := 400
				if r.Mini != nil { // its Lua is slow
					counted = 200
				}
				for queue, n := range map[string]int{"high": counted * 3 / 4, "medium": counted / 2, "low": counted / 4} {
					r.addMany(n, queue, "any", queue+"-")
				}
				d := newDiary()
				w := r.work(dispatcher.Config{
					Concurrency: concurrency, Weights: map[string]int{"high": 6, "medium": 3, "low": 1},
				}, handlers{"any": func(ctx context.Context, j *job.Job) error {
					time.Sleep(2 * time.Millisecond) // too long for jobs to be taken ahead, queue by queue
					return d.handler(ctx, j)
				}})
				started := d.wait(t, counted)[:counted]
				w.end()
				for queue, want := range map[string]int{"high": counted * 6 / 10, "medium": counted * 3 / 10, "low": counted / 10} {
					got := 0
					for _, id := range started {
						if strings.HasPrefix(id, queue) {
							got++
						}
					}
					t.Logf("%s: %d of %d", queue, got, counted)
					if few := counted * 3 / 100; got < want-few || got > want+few {
						t.Errorf("%s got %d of the first %d starts, want about %d", queue, got, counted, want)
					}
				}
			})
		})
	}
}

// A queue without work leaves its share to the others.
func TestWeightsWasteNothing(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		s := newStage(t)
		for range 10 {
			r.add("low", "hold")
		}
		r.work(dispatcher.Config{Concurrency: 10, Weights: map[string]int{"high": 6, "medium": 3, "low": 1}}, handlers{"hold": s.handler})
		var plays []*play
		for range 10 { // all at once
			plays = append(plays, s.next())
		}
		for _, p := range plays {
			p.end(nil)
		}
		r.completed(10)
	})
}

func TestPausedQueue(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		s := newStage(t)
		r.work(dispatcher.Config{}, handlers{"hold": s.handler})
		var delays []time.Duration
		for i := range 5 {
			if err := r.set.PauseQueue(r.ctx(), "high", "a test", "to see"); err != nil {
				t.Fatal(err)
			}
			paused := r.add("high", "hold")
			for range 2 { // the dispatcher looks, and takes only what is not paused
				other := r.add("low", "hold")
				p := s.next()
				equal(t, "job", p.job.ID, other)
				p.end(nil)
				r.becomes(other, job.Completed)
			}
			equal(t, "state in a paused queue", r.get(paused).State, job.Waiting)
			resumed := time.Now()
			if err := r.set.ResumeQueue(r.ctx(), "high"); err != nil {
				t.Fatal(err)
			}
			p := s.next()
			equal(t, "job", p.job.ID, paused)
			delays = append(delays, time.Since(resumed))
			p.end(nil)
			r.becomes(paused, job.Completed)
			equal(t, "completed", r.sum().Completed, int64(3*(i+1)))
		}
		timely.Check(t, "median time from the resumption to the start", median(delays), r.prompt())
	})
}

// Processes that handle different names share queues without standing in each
// other's way: nobody waits for the second that a lost wake-up call costs, and
// nothing is counted against a job that the other one looked at.
func TestForeignNames(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		r.promote()
		hs := map[string]*stage{"a": newStage(t), "b": newStage(t)}
		for name, s := range hs {
			r.work(dispatcher.Config{Concurrency: 3}, handlers{name: s.handler})
		}
		var delays []time.Duration
		slow := 0
		for i := range 40 {
			name := []string{"a", "b"}[i*i%3%2] // a b b a b b …
			from := time.Now()
			var id string
			if i%2 == 0 {
				id = r.add("medium", name)
			} else {
				id = r.addLater("medium", name, time.Millisecond)
			}
			p := hs[name].next()
			delays = append(delays, time.Since(from))
			if time.Since(from) > timely.Limit(800*time.Millisecond) {
				slow++
			}
			p.end(nil)
			j := r.becomes(id, job.Completed)
			equal(t, "attempts", j.Attempts, 0)
			equal(t, "lost", j.Lost, 0)
		}
		timely.Check(t, "median time to the start", median(delays), r.prompt())
		if slow > 1 {
			t.Errorf("%d of %d starts took nearly a second or more: %v", slow, len(delays), delays)
		}
	})
}

// The jobs of a process that is busy stand in front of another's in their
// thousands. They keep nobody waiting and come to no harm.
func TestForeignJobsInFront(t *testing.T) {
	r := onRedis(t)
	r.promote()
	const n, own = 2000, 15
	var free atomic.Bool
	hold := newStage(t)
	ran := newDiary()
	those := handlers{"theirs": func(ctx context.Context, j *job.Job) error {
		if !free.Load() {
			_ = hold.handler(ctx, j)
		}
		ran.note(j.ID)
		return nil
	}}
	r.work(dispatcher.Config{Concurrency: 1}, those)
	first := r.add("high", "theirs")
	p := hold.next()
	theirs := append([]string{first}, r.addMany(n, "high", "theirs", "theirs-", scheduler.WithRetention(time.Hour))...)

	mine := newStage(t)
	r.work(dispatcher.Config{Concurrency: 2}, handlers{"mine": mine.handler})
	var delays []time.Duration
	for range own {
		from := time.Now()
		id := r.add("high", "mine")
		p := mine.next()
		equal(t, "job", p.job.ID, id)
		delays = append(delays, time.Since(from))
		p.end(nil)
		j := r.becomes(id, job.Completed)
		equal(t, "attempts", j.Attempts, 0)
	}
	timely.Check(t, "median time to the start behind thousands", median(delays), 500*time.Millisecond)
	timely.Check(t, "longest time to the start behind thousands", slices.Max(delays), 3*time.Second)
	equal(t, "jobs of the busy process that ran", len(ran.list()), 0)

	free.Store(true)
	p.end(nil)
	r.work(dispatcher.Config{}, those)
	got := ran.wait(t, len(theirs))
	r.completed(int64(len(theirs) + own))
	slices.Sort(got)
	slices.Sort(theirs)
	if !slices.Equal(got, theirs) {
		t.Errorf("%d attempts at %d jobs, each should have run once", len(got), len(theirs))
	}
	for _, id := range theirs[:50] {
		j := r.get(id)
		equal(t, "attempts", j.Attempts, 0)
		equal(t, "lost", j.Lost, 0)
		if !j.Due.Equal(j.Created) {
			t.Errorf("job %s is due at %v, want its creation at %v", id, j.Due, j.Created)
		}
	}
}

// A strict high lane full of names that nobody handles must not block the others.
func TestNamesThatNobodyHandles(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		r.promote()
		n, limit := 1000, 3*time.Second
		if r.Mini != nil { // its Lua is slow
			n, limit = 300, 10*time.Second
		}
		orphans := r.addMany(n, "high", "nobodys", "orphan-")
		s := newStage(t)
		r.work(dispatcher.Config{Concurrency: 1}, handlers{"mine": s.handler})
		for _, queue := range []string{"high", "low"} {
			from := time.Now()
			id := r.add(queue, "mine")
			p := s.next()
			equal(t, "job", p.job.ID, id)
			timely.Check(t, "start in "+queue, time.Since(from), limit)
			p.end(nil)
			r.becomes(id, job.Completed)
		}
		sum := r.sum()
		equal(t, "orphans that are still there", sum.Waiting+sum.Delayed, int64(len(orphans)))
		equal(t, "attempts", r.get(orphans[0]).Attempts, 0)

		// Somebody comes who handles them, and they start.
		all := newDiary()
		r.work(dispatcher.Config{}, handlers{"nobodys": all.handler})
		for range 3 { // nobody need wait for the pause, which grows up to a minute
			jobs, _, _, err := r.set.List(r.ctx(), scripts.Page{Place: "delayed", Look: 1000, Want: 1000})
			if err != nil {
				t.Fatal(err)
			}
			for _, j := range jobs {
				_, _ = r.RescheduleIn(r.ctx(), j.ID, 0) // it may have gone meanwhile
			}
		}
		all.wait(t, len(orphans))
		r.completed(int64(len(orphans) + 2))
	})
}
