package dispatcher_test

import (
	"context"
	"net"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/bide-go/bide/dispatcher"
	"github.com/bide-go/bide/internal/timely"
	"github.com/bide-go/bide/job"
)

// healed is how soon after Redis is back jobs must be started again: 5 s, and some
// more for a machine that has other things to do.
const healed = 7 * time.Second

func infoNumber(text, field string) int64 {
	_, rest, _ := strings.Cut(text, field+":")
	value, _, _ := strings.Cut(rest, "\r\n")
	n, _ := strconv.ParseInt(value, 10, 64)
	return n
}

func (r *rig) completedOne() {
	r.t.Helper()
	r.becomes(r.add("medium", "any"), job.Completed)
}

func TestRedisRestart(t *testing.T) {
	r := onRedis(t, "--save", "", "--appendonly", "yes", "--appendfsync", "always")
	p := r.promote()
	const n = 300
	var mu sync.Mutex
	done := map[string]int{}
	gate := make(chan struct{})
	w := r.work(dispatcher.Config{Concurrency: 10}, handlers{"any": func(_ context.Context, j *job.Job) error {
		mu.Lock()
		done[j.ID]++
		reached := len(done) == n/3
		mu.Unlock()
		if reached {
			close(gate)
		}
		time.Sleep(time.Millisecond)
		return nil
	}})
	ids := r.addMany(n, "medium", "any", "job-")
	later := r.addLater("medium", "any", 2*time.Second)
	<-gate
	r.Kill()
	time.Sleep(1500 * time.Millisecond) // the outage
	r.Restart()
	back := time.Now()
	fresh := r.add("high", "any")
	r.becomes(fresh, job.Completed)
	timely.Check(t, "first job after the restart", time.Since(back), healed)
	r.becomes(later, job.Completed)
	r.completed(n + 2)
	for _, id := range ids {
		if done[id] == 0 {
			t.Errorf("job %s never ran", id)
		}
	}
	if !w.running() || !p.running() {
		t.Error("a role ended because Redis was away")
	}
}

// A pause of Redis shorter than the lease costs nothing.
func TestShortFreeze(t *testing.T) {
	r := onRedis(t)
	const lease = 4 * time.Second
	s := newStage(t)
	for range 2 {
		r.work(dispatcher.Config{Concurrency: 5, Lease: lease}, handlers{"hold": s.handler})
	}
	ids := r.addMany(5, "medium", "hold", "job-")
	plays := make([]*play, len(ids))
	for i := range plays {
		plays[i] = s.next()
	}
	for range 2 {
		r.Freeze()
		time.Sleep(lease * 6 / 10) // the freeze
		r.Thaw()
		s.nobody(lease / 2)
	}
	for _, p := range plays {
		if p.ctx.Err() != nil {
			t.Errorf("job %s lost its context: %v", p.job.ID, context.Cause(p.ctx))
		}
		p.end(nil)
	}
	r.completed(5)
}

// A pause longer than the lease: by the time that anybody else starts a job, the
// context of its first handler has ended.
func TestLongFreeze(t *testing.T) {
	r := onRedis(t)
	const lease, n = time.Second, 5
	s, quick := newStage(t), newDiary()
	for range 2 {
		r.work(dispatcher.Config{Concurrency: 2 * n, Lease: lease}, handlers{"hold": s.handler, "any": quick.handler})
	}
	ids := r.addMany(n, "medium", "hold", "job-")
	plays := map[string]*play{}
	for range ids {
		p := s.next()
		plays[p.job.ID] = p
	}
	r.Freeze()
	frozen := time.Now()
	for _, p := range plays {
		p.wantCause(t, job.ErrLeaseLost)
	}
	timely.Check(t, "all contexts ended after the freeze", time.Since(frozen), 3*lease)
	time.Sleep(lease) // what is left of the freeze
	r.Thaw()
	back := time.Now()
	r.becomes(r.add("high", "any"), job.Completed)
	timely.Check(t, "first job after the freeze", time.Since(back), healed)
	for range ids {
		q := s.next()
		p := plays[q.job.ID]
		if p == nil {
			t.Fatalf("job %s was started a third time", q.job.ID)
		}
		equal(t, "attempts", q.job.Attempts, 0)
		equal(t, "lost", q.job.Lost, 1)
		delete(plays, q.job.ID)
		p.end(errBoom) // changes nothing
		q.end(nil)
	}
	r.completed(n + 1)
}

// Whatever an operator throws at Redis while jobs run, they all end, once.
func TestFlushedScriptsAndKilledClients(t *testing.T) {
	r := onRedis(t)
	p := r.promote()
	const n = 1000
	var starts atomic.Int64
	w := r.work(dispatcher.Config{Concurrency: 10}, handlers{"any": func(context.Context, *job.Job) error {
		starts.Add(1)
		time.Sleep(5 * time.Millisecond)
		return nil
	}})
	r.addMany(n, "medium", "any", "job-")
	other := r.Server.Client()
	for i := 0; r.sumPatiently().Completed < n; i++ {
		if i > 2000 {
			t.Fatalf("no end: %+v", r.sumPatiently())
		}
		switch i % 3 {
		case 0:
			other.ScriptFlush(r.ctx())
		case 1:
			for _, kind := range []string{"normal", "pubsub"} {
				other.ClientKillByFilter(r.ctx(), "TYPE", kind, "SKIPME", "yes")
			}
		}
		time.Sleep(20 * time.Millisecond) // between two blows
	}
	equal(t, "starts", starts.Load(), n)
	calm := time.Now()
	r.completedPatiently(n)
	id := ""
	r.eventually("a job can be added", func() bool {
		var err error
		id, err = r.ExecuteLater(r.ctx(), "medium", "any", nil, 10*time.Millisecond)
		return err == nil
	})
	r.eventually("the last job", func() bool { return starts.Load() == n+1 })
	timely.Check(t, "job "+id+" after the trouble", time.Since(calm), healed)
	if !w.running() || !p.running() {
		t.Error("a role ended because of Redis trouble")
	}
}

// sumPatiently is sum on a connection that may just have been killed.
func (r *rig) sumPatiently() (s sumOf) {
	r.t.Helper()
	r.eventually("an audit", func() bool {
		sum, err := r.set.Audit(r.ctx())
		s = sumOf{sum.Completed}
		return err == nil
	})
	return s
}

type sumOf struct{ Completed int64 }

func (r *rig) completedPatiently(n int64) {
	r.t.Helper()
	equal(r.t, "completed", r.sumPatiently().Completed, n)
}

// While Redis is away nobody hammers on its door.
func TestNoBusyLoopWhileRedisIsAway(t *testing.T) {
	r := onRedis(t, "--save", "", "--appendonly", "yes", "--appendfsync", "always")
	s := newStage(t)
	r.promote()
	r.work(dispatcher.Config{Concurrency: 4}, handlers{"hold": s.handler, "any": newDiary().handler})
	for range 2 {
		r.add("medium", "hold")
	}
	held := []*play{s.next(), s.next()}
	r.Kill()
	l, err := net.Listen("tcp", r.Addr)
	if err != nil {
		t.Fatal(err)
	}
	var knocks atomic.Int64
	closed := make(chan struct{})
	go func() {
		defer close(closed)
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			knocks.Add(1)
			_ = c.Close()
		}
	}()
	held[0].end(nil) // now there is something to settle, too
	time.Sleep(time.Second)
	before := knocks.Load()
	const span = 3 * time.Second
	time.Sleep(span) // the span of the measurement
	n := knocks.Load() - before
	t.Logf("%d connections in %v", n, span)
	if n > 60*int64(span/time.Second) {
		t.Errorf("%d connections were tried in %v, want some tens a second at most", n, span)
	}
	_ = l.Close()
	<-closed
	r.Restart()
	back := time.Now()
	r.becomes(r.add("high", "any"), job.Completed)
	timely.Check(t, "first job after the outage", time.Since(back), healed)
	held[1].end(nil)
	r.completed(3)
}

// A dispatcher that is started while Redis is away serves as soon as it is back.
func TestStartWithoutRedis(t *testing.T) {
	r := onRedis(t, "--save", "", "--appendonly", "yes", "--appendfsync", "always")
	r.Kill()
	p := r.promote()
	w := r.work(dispatcher.Config{}, handlers{"any": newDiary().handler})
	if !w.LastPass().IsZero() {
		t.Error("LastPass is set before Redis was there")
	}
	time.Sleep(500 * time.Millisecond) // of trouble
	r.Restart()
	back := time.Now()
	r.becomes(r.addLater("high", "any", 20*time.Millisecond), job.Completed)
	timely.Check(t, "first job", time.Since(back), healed)
	if !w.running() || !p.running() {
		t.Error("a role ended because Redis was away")
	}
	if since := time.Since(w.LastPass()); since > time.Minute {
		t.Errorf("LastPass was %v ago", since)
	}
}

// Connections that die without a word are noticed and replaced, those that wait
// for a wake-up call too.
func TestStrandedConnections(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		line := newProxy(t, r.Addr)
		s := newStage(t)
		r.workOn(line.client(), dispatcher.Config{}, handlers{"any": s.handler})
		for range 3 {
			id := r.add("medium", "any")
			s.next().end(nil)
			r.becomes(id, job.Completed)
		}
		line.strand()
		from := time.Now()
		r.add("medium", "any")
		p := s.next()
		// The driver waits 3 s for an answer and 11 s for a wake-up call.
		timely.Check(t, "start after the connections were stranded", p.at.Sub(from), 18*time.Second)
		p.end(nil)
		r.completed(4)
	})
}
