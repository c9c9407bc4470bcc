package dispatcher_test

import (
	"bytes"
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/bide-go/bide/dispatcher"
	"github.com/bide-go/bide/internal/timely"
	"github.com/bide-go/bide/job"
	"github.com/bide-go/bide/scheduler"
)

// Replies are cut in their middle: the script ran, and nobody was told. No job is
// lost, none is leased to nobody, none runs twice, no failure counts twice.
func TestCutReplies(t *testing.T) {
	const n = 120
	// A reserve carries the names that a process handles, a settlement the ids of
	// its jobs.
	reserve := func(request []byte) bool { return bytes.Contains(request, []byte("always-fails")) }
	settle := func(request []byte) bool { return bytes.Contains(request, []byte("cut-")) }
	for name, of := range map[string]func(request []byte) bool{
		"of a reserve":    func(request []byte) bool { return reserve(request) && !settle(request) },
		"of a settlement": func(request []byte) bool { return settle(request) && !reserve(request) },
		"of both":         func(request []byte) bool { return reserve(request) || settle(request) },
	} {
		for _, concurrency := range []int{1, 8} {
			t.Run(fmt.Sprintf("%s, concurrency %d", name, concurrency), func(t *testing.T) {
				each(t, func(t *testing.T, r *rig) {
					if r.Mini != nil && name != "of both" {
						t.Skip("left out: the embedded Redis is slow, and differs in nothing that matters here")
					}
					line := newProxy(t, r.Addr)
					matched, cut := 0, 0
					line.cutReplies(func(request []byte) bool {
						if !of(request) {
							return false
						}
						matched++
						if matched%2 != 1 || cut == 12 {
							return false
						}
						cut++
						return true
					})
					var mu sync.Mutex
					starts := map[string]int{}
					count := func(j *job.Job) {
						mu.Lock()
						defer mu.Unlock()
						starts[j.ID]++
					}
					w := r.workOn(line.client(), dispatcher.Config{Concurrency: concurrency, Lease: time.Minute}, handlers{
						"works":        func(_ context.Context, j *job.Job) error { count(j); return nil },
						"always-fails": func(_ context.Context, j *job.Job) error { count(j); return job.RetryAfter(errBoom, time.Hour) },
					})
					from := time.Now()
					good := r.addMany(n, "medium", "works", "cut-good-", scheduler.WithRetention(time.Hour))
					bad := r.addMany(n, "medium", "always-fails", "cut-bad-")
					r.eventually("all jobs settled", func() bool {
						s := r.sum()
						return s.Completed == n && s.Delayed == n
					})
					// One that was leased to nobody would wait for its lease to end.
					timely.Check(t, "all jobs", time.Since(from), 30*time.Second)
					w.end()
					line.mu.Lock()
					t.Logf("%d of %d replies were cut", cut, matched)
					if cut < 2 {
						t.Errorf("%d replies were cut, want several", cut)
					}
					line.mu.Unlock()
					for _, id := range append(good, bad...) {
						if starts[id] != 1 {
							t.Errorf("job %s was started %d times, want once", id, starts[id])
						}
						if j := r.get(id); j.Lost != 0 || j.Attempts > 1 || j.Attempts != len(j.Errors) {
							t.Errorf("job = %+v, want no lost lease and at most one attempt", j)
						}
					}
				})
			})
		}
	}
}

// A reserve is carried out, its answer is lost, and the process is stopped before
// it can ask again: what it leased goes back at once.
func TestCutReserveAtShutdown(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		line := newProxy(t, r.Addr)
		reserved := make(chan struct{})
		var once sync.Once
		line.cutReplies(func(request []byte) bool {
			if !bytes.Contains(request, []byte("\r\n500\r\n")) || !bytes.Contains(request, []byte("some-name")) {
				return false
			}
			once.Do(func() { close(reserved) })
			return true
		})
		r.addMany(5, "medium", "some-name", "job-")
		d := newDiary()
		w := r.workOn(line.client(), dispatcher.Config{Concurrency: 500}, handlers{"some-name": d.handler})
		select {
		case <-reserved:
		case <-time.After(patience):
			t.Fatal("no reserve was seen")
		}
		w.end()
		s := r.sum()
		if s.Active != 0 {
			t.Errorf("sum = %+v, want no job active", s)
		}
		r.work(dispatcher.Config{Concurrency: 1}, handlers{"some-name": d.handler})
		if got := d.wait(t, 5); len(got) != 5 {
			t.Errorf("started %v, want each once", got)
		}
		r.completed(5)
	})
}
