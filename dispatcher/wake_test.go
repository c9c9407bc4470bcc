package dispatcher_test

import (
	"context"
	"net"
	"testing"
	"time"

	"github.com/bide-go/bide/dispatcher"
	"github.com/bide-go/bide/internal/timely"
	"github.com/bide-go/bide/job"
)

func TestIdleDispatcherStartsAtOnce(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		s := newStage(t)
		for range 3 { // whichever of them
			r.work(dispatcher.Config{}, handlers{"any": s.handler})
		}
		var delays []time.Duration
		for range 31 {
			from := time.Now()
			id := r.add("medium", "any")
			p := s.next()
			delays = append(delays, p.at.Sub(from))
			p.end(nil)
			r.becomes(id, job.Completed)
		}
		timely.Check(t, "median time to the start", median(delays), r.prompt())
	})
}

// A wake-up call taken by a client that then dies costs a second, not the job.
func TestLostWakeUp(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		dead, err := net.Dial("tcp", r.Addr)
		if err != nil {
			t.Fatal(err)
		}
		defer dead.Close()
		// Whoever blocks first is served first.
		if _, err := dead.Write([]byte("BLPOP {bide}:wake:medium 30\r\n")); err != nil {
			t.Fatal(err)
		}
		s := newStage(t)
		r.work(dispatcher.Config{}, handlers{"any": s.handler})
		r.eventually("the dispatcher looked once", func() bool {
			st, err := r.set.Stats(r.ctx())
			return err == nil && st.Workers == 1
		})
		from := time.Now()
		r.add("medium", "any")
		p := s.next()
		timely.Check(t, "start without a wake-up call", p.at.Sub(from), 3*time.Second)
		p.end(nil)
		r.completed(1)
	})
}

// A queue with more work than slots wakes the others.
func TestWorkIsPassedOn(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		s := newStage(t)
		for range 4 {
			r.work(dispatcher.Config{Concurrency: 1}, handlers{"hold": s.handler})
		}
		r.eventually("all are there", func() bool {
			st, err := r.set.Stats(r.ctx())
			return err == nil && st.Workers == 4
		})
		from := time.Now()
		r.addMany(4, "medium", "hold", "job-") // one call wakes one of them
		var plays []*play
		for range 4 {
			plays = append(plays, s.next())
		}
		timely.Check(t, "four starts", time.Since(from), 3*time.Second)
		for _, p := range plays {
			p.end(nil)
		}
		r.completed(4)
	})
}

// An idle service asks Redis now and then, and one that works does not ask more
// than it has to.
func TestIdleDispatcherIsQuiet(t *testing.T) {
	r := onRedis(t)
	r.work(dispatcher.Config{}, handlers{"any": func(context.Context, *job.Job) error { return nil }})
	r.promote()
	r.completedOne()
	commands := func() int64 {
		text, err := r.rdb.Info(r.ctx(), "stats").Result()
		if err != nil {
			t.Fatal(err)
		}
		return infoNumber(text, "total_commands_processed")
	}
	before := commands()
	const span = 3 * time.Second
	time.Sleep(span) // the span of the measurement
	// Ten looks of the promoter, two sweeps and the waiting for calls, a second;
	// a command inside a script counts, too.
	if n := commands() - before; n > 150*int64(span/time.Second) {
		t.Errorf("%d commands in %v of idleness, want at most 150 a second", n, span)
	} else {
		t.Logf("%d commands in %v of idleness", n, span)
	}
}
