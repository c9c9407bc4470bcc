package bundled_test

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/bide-go/bide/dispatcher"
	"github.com/bide-go/bide/internal/redistest"
	"github.com/bide-go/bide/job"
	"github.com/bide-go/bide/promoter"
	"github.com/bide-go/bide/scheduler"
	"github.com/bide-go/bide/worker/bundled"
)

// service is a promoter and a worker with the bundled handlers on a real Redis.
type service struct {
	t *testing.T
	*scheduler.Client
	outcomes chan dispatcher.Outcome
}

func newService(t *testing.T, opt bundled.Options) *service {
	t.Helper()
	server := redistest.NewReal(t)
	s := &service{t, scheduler.NewClient(server.Client()), make(chan dispatcher.Outcome, 100)}
	ctx, stop := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	p := promoter.New(server.Client(), promoter.Config{})
	d := dispatcher.New(server.Client(), registry(t, opt), dispatcher.Config{
		Lease: 3 * time.Second, Observe: func(o dispatcher.Outcome) { s.outcomes <- o },
	})
	wg.Go(func() { _ = p.Run(ctx) })
	wg.Go(func() { _ = d.Run(ctx) })
	t.Cleanup(func() { stop(); wg.Wait() })
	return s
}

func (s *service) add(name, args string, opts ...scheduler.Option) string {
	s.t.Helper()
	id, err := s.Execute(s.t.Context(), "medium", name, json.RawMessage(args), append(opts, scheduler.WithRetention(time.Hour))...)
	if err != nil {
		s.t.Fatal(err)
	}
	return id
}

// next is the outcome of the next attempt that is settled.
func (s *service) next() dispatcher.Outcome {
	s.t.Helper()
	select {
	case o := <-s.outcomes:
		return o
	case <-time.After(patience):
		s.t.Fatal("no attempt ends")
		return dispatcher.Outcome{}
	}
}

func (s *service) get(id string) *job.Job {
	s.t.Helper()
	j, err := s.Get(s.t.Context(), id)
	if err != nil {
		s.t.Fatal(err)
	}
	return j
}

// What becomes of jobs of http in the service: its times, its reasons.
func TestHTTPInService(t *testing.T) {
	var mu sync.Mutex
	calls := map[string]int{}
	server := serve(t, func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		calls[r.URL.Path]++
		n := calls[r.URL.Path]
		mu.Unlock()
		switch {
		case r.URL.Path == "/ok", n > 1 && r.URL.Path != "/gone":
		case r.URL.Path == "/gone":
			w.WriteHeader(http.StatusGone)
		case r.URL.Path == "/busy":
			w.Header().Set("Retry-After", "2")
			w.WriteHeader(http.StatusTooManyRequests)
		case r.URL.Path == "/capped":
			w.Header().Set("Retry-After", "86400")
			w.WriteHeader(http.StatusServiceUnavailable)
		case r.URL.Path == "/slow":
			<-r.Context().Done()
		default:
			w.WriteHeader(http.StatusInternalServerError)
		}
	})
	s := newService(t, bundled.Options{})
	run := func(path string, opts ...scheduler.Option) (id string, first dispatcher.Outcome) {
		id = s.add("http", `{"url":"`+server.URL+path+`"}`, opts...)
		return id, s.next()
	}

	id, o := run("/ok")
	if j := s.get(id); o.State != job.Completed || j.State != job.Completed || j.Timeout != 30*time.Second {
		t.Errorf("200: outcome %+v, job %+v, want it completed, with a timeout of 30s", o, j)
	}

	id, o = run("/fails")
	if second := s.next(); o.State != job.Delayed || second.State != job.Completed || second.Job.Attempt() != 2 {
		t.Errorf("500 then 200: outcomes %+v, %+v, want the second attempt to complete", o, second)
	}
	if j := s.get(id); len(j.Errors) != 1 || !strings.Contains(j.LastError(), "500 Internal Server Error") {
		t.Errorf("500 then 200: job %+v, want the first failure kept", j)
	}

	id, o = run("/gone")
	if j := s.get(id); o.State != job.Dead || j.Reason != job.ReasonPermanent || j.Attempts != 1 || !strings.Contains(j.LastError(), "410 Gone") {
		t.Errorf("410: outcome %+v, job %+v, want it dead at once", o, j)
	}

	id, o = run("/busy", scheduler.WithBackoff(time.Millisecond, time.Minute))
	second := s.next()
	if wait := second.Job.Started.Sub(o.Job.Started); o.Pause != 2*time.Second || wait < 2*time.Second || second.State != job.Completed {
		t.Errorf("429: pause %v, started again after %v, %s, want 2s", o.Pause, wait, second.State)
	}
	if j := s.get(id); j.Attempts != 1 {
		t.Errorf("429: job %+v, want the attempt counted", j)
	}

	_, o = run("/capped", scheduler.WithBackoff(time.Millisecond, 50*time.Millisecond))
	if second := s.next(); o.Pause != 50*time.Millisecond || second.State != job.Completed {
		t.Errorf("503: pause %v, then %s, want what the job allows", o.Pause, second.State)
	}

	id, o = run("/slow", scheduler.WithTimeout(200*time.Millisecond), scheduler.WithMaxAttempts(1))
	j := s.get(id)
	if o.State != job.Dead || j.Reason != job.ReasonAttempts || j.Errors[0].Kind != job.KindTimeout || !strings.Contains(j.LastError(), "not answered after") {
		t.Errorf("slow: outcome %+v, job %+v, want it timed out", o, j)
	}

	id = s.add("http", `{"url":"http://169.254.169.254/latest/"}`)
	if o, j := s.next(), s.get(id); o.State != job.Dead || j.Reason != job.ReasonPermanent || !strings.Contains(j.LastError(), "link-local") {
		t.Errorf("metadata: outcome %+v, job %+v, want it dead at once", o, j)
	}

	t.Setenv("BUNDLED_TEST_TOKEN", "s3cret")
	id = s.add("http", `{"url":"`+server.URL+`/ok","headers":{"X":{"env":"BUNDLED_TEST_TOKEN"}}}`)
	if o, j := s.next(), s.get(id); o.State != job.Dead || j.Reason != job.ReasonPermanent || !strings.Contains(j.LastError(), "refers to a secret") {
		t.Errorf("a reference in a plain job: outcome %+v, job %+v, want it dead at once", o, j)
	}
}
