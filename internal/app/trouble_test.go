package app

import (
	"context"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/bide-go/bide/dispatcher"
	"github.com/bide-go/bide/internal/redistest"
	"github.com/bide-go/bide/job"
	"github.com/bide-go/bide/scheduler"
)

// load is a producer beside a running service.
type load struct {
	acked, ended, lost atomic.Int64
	last               atomic.Int64 // unix ns of the newest end
	stop               context.CancelFunc
	wg                 sync.WaitGroup
}

// produce enqueues a job every few milliseconds, half of them with a delay, and counts
// those that were acknowledged.
func (r *rig) produce() *load {
	ctx, stop := context.WithCancel(context.Background())
	l := &load{stop: stop}
	r.opts.observe = func(o dispatcher.Outcome) {
		if o.State == job.Completed {
			l.ended.Add(1)
			l.last.Store(time.Now().UnixNano())
		}
		if o.Job.Lost > 0 || o.State == "" {
			l.lost.Add(1)
		}
	}
	c := scheduler.NewClient(r.Client())
	l.wg.Go(func() {
		tick := time.NewTicker(5 * time.Millisecond)
		defer tick.Stop()
		for n := 0; ; n++ {
			select {
			case <-tick.C:
			case <-ctx.Done():
				return
			}
			call, cancel := context.WithTimeout(ctx, 300*time.Millisecond)
			_, err := c.ExecuteLater(call, "high", "log", map[string]string{"message": "x"}, time.Duration(n%2)*200*time.Millisecond)
			cancel()
			if err == nil {
				l.acked.Add(1)
			}
		}
	})
	return l
}

func (l *load) end() { l.stop(); l.wg.Wait() }

// TestTroubleUnderLoad lets each trouble happen to a busy service: no role ends,
// readiness tells, and work resumes within five seconds of the trouble's end, without
// a lost lease if it was shorter than one.
func TestTroubleUnderLoad(t *testing.T) {
	ctx := context.Background()
	set := func(r *rig, name, value string) {
		r.t.Helper()
		if err := r.rdb.ConfigSet(ctx, name, value).Err(); err != nil {
			r.t.Fatal(err)
		}
	}
	for _, trouble := range []struct {
		name       string
		begin, end func(r *rig)
		ready      bool          // it is too short to be seen in readiness
		lasts      time.Duration // at least
		loses      bool          // acknowledged jobs go with the data
	}{
		{name: "script cache flushed", begin: func(r *rig) { r.rdb.ScriptFlush(ctx) }, ready: true},
		{name: "connections killed", begin: func(r *rig) {
			r.rdb.Do(ctx, "client", "kill", "type", "normal", "skipme", "no")
		}, ready: true},
		{name: "frozen", begin: func(r *rig) { r.Freeze() }, end: func(r *rig) { r.Thaw() }, lasts: 10 * time.Second},
		{name: "killed and restarted", begin: func(r *rig) { r.Kill() }, end: func(r *rig) { r.Restart() }, lasts: time.Second},
		{name: "read-only", begin: func(r *rig) { r.rdb.ReplicaOf(ctx, "127.0.0.1", "1") },
			end: func(r *rig) { r.rdb.ReplicaOf(ctx, "NO", "ONE") }, lasts: time.Second},
		{name: "too few replicas", begin: func(r *rig) { set(r, "min-replicas-to-write", "1") },
			end: func(r *rig) { set(r, "min-replicas-to-write", "0") }, lasts: time.Second},
		{name: "memory full", begin: func(r *rig) { set(r, "maxmemory", "1") }, end: func(r *rig) { set(r, "maxmemory", "0") }, lasts: time.Second},
		{name: "database flushed", begin: func(r *rig) { r.rdb.FlushAll(ctx) }, ready: true, loses: true},
	} {
		t.Run(trouble.name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, redistest.NewReal(t, "--save", "", "--appendonly", "yes", "--appendfsync", "always"))
			r.opts.Lease = 15 * time.Second
			r.write("version: 1\nschedules:\n  s: { schedule: \"@every 1s\", job: log, args: { message: tick } }\n")
			l := r.produce()
			a := r.serve()
			a.readyWithin(5 * time.Second)
			eventually(t, 10*time.Second, "work begins", func() bool { return l.ended.Load() > 50 })

			trouble.begin(r)
			if !trouble.ready {
				eventually(t, 5*time.Second, "readiness tells", func() bool {
					status, _, _ := a.ask("/-/ready")
					return status == http.StatusServiceUnavailable
				})
			}
			if trouble.end != nil {
				time.Sleep(trouble.lasts) // how long it lasts is the test
				trouble.end(r)
			}
			over := time.Now().UnixNano()
			eventually(t, 5*time.Second+slack, "work resumes", func() bool { return l.last.Load() > over })
			a.readyWithin(5 * time.Second)
			eventually(t, 5*time.Second, "schedules are applied", func() bool { return len(r.applied()) == 1 })

			l.end()
			eventually(t, 15*time.Second, "all jobs end", func() bool {
				sum, err := r.Scripts().Audit(ctx)
				return err == nil && sum.Waiting == 0 && sum.Active == 0 && sum.Delayed < 100 && sum.Created-sum.Completed == sum.Delayed+sum.Skipped &&
					(trouble.loses || sum.Completed >= l.acked.Load())
			})
			if n := l.lost.Load(); n > 0 && !trouble.loses {
				t.Errorf("%d leases were lost in a trouble shorter than a lease", n)
			}
			select {
			case err := <-a.done:
				a.ended = true
				t.Errorf("the service ended: %v", err)
			default:
			}
			if n := r.log.count("redis trouble begins"); n > 60 {
				t.Errorf("the log says %d times that trouble begins", n)
			}
		})
	}
}
