package app

import (
	"context"
	"errors"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bide-go/bide/dispatcher"
	"github.com/bide-go/bide/internal/redistest"
	"github.com/bide-go/bide/internal/timely"
	"github.com/bide-go/bide/job"
	"github.com/bide-go/bide/scheduler"
)

func completed(o dispatcher.Outcome) bool { return o.State == job.Completed }

func TestRunServesAllRolesAndDrains(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, server *redistest.Server) {
		r := newRig(t, server)
		var seen outcomes
		r.opts.observe = seen.add
		r.write("version: 1\nschedules:\n  s: { schedule: \"@every 1s\", job: log, args: { message: hello } }\n")
		a := r.serve()
		a.readyWithin(5 * time.Second)
		c := scheduler.NewClient(r.rdb)
		ctx := context.Background()
		if _, err := c.ExecuteLater(ctx, "low", "log", map[string]string{"message": "later"}, 300*time.Millisecond, scheduler.WithID("later")); err != nil {
			t.Fatal(err)
		}
		eventually(t, 10*time.Second, "the delayed job and two ticks ran", func() bool {
			return seen.count(func(o dispatcher.Outcome) bool { return completed(o) && o.Job.ID == "later" }) == 1 &&
				seen.count(func(o dispatcher.Outcome) bool { return completed(o) && o.Job.Schedule == "s" }) >= 2
		})

		// A job that is running when the service is asked to stop may finish.
		if _, err := c.Execute(ctx, "high", "log", map[string]string{"message": "slow", "sleep": "700ms"}, scheduler.WithID("slow"), scheduler.WithRetention(time.Hour)); err != nil {
			t.Fatal(err)
		}
		eventually(t, 5*time.Second, "the slow job runs", func() bool { return r.log.count("slow") == 1 })
		a.end()
		if j, err := c.Get(ctx, "slow"); err != nil || j.State != job.Completed {
			t.Errorf("the job that was running: %+v, %v\n%s", j, err, r.log)
		}
		for _, message := range []string{"serving", "listening", "stopped"} {
			if r.log.count(message) != 1 {
				t.Errorf("%q is not logged once: %s", message, r.log)
			}
		}
		if answer, err := http.Get("http://" + a.address + "/-/healthy"); err == nil {
			answer.Body.Close()
			t.Error("it still listens")
		}
	})
}

// slowJob starts a service and a job in it that runs for a minute.
func slowJob(t testing.TB, r *rig) (*app, *scheduler.Client) {
	t.Helper()
	r.opts.Grace = 30 * time.Second
	a := r.serve()
	c := scheduler.NewClient(r.rdb)
	if _, err := c.Execute(context.Background(), "high", "log", map[string]string{"message": "slow", "sleep": "1m"}, scheduler.WithID("slow")); err != nil {
		t.Fatal(err)
	}
	// The handler says so: an active job may still be on its way to it.
	eventually(t, 5*time.Second, "the job runs", func() bool { return r.log.count("slow") == 1 })
	return a, c
}

func TestASecondSignalCutsTheGracePeriodShort(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, server *redistest.Server) {
		r := newRig(t, server)
		a, c := slowJob(t, r)
		a.stop()
		eventually(t, 5*time.Second, "it drains", func() bool { return r.log.count("draining") == 1 })
		began := time.Now()
		close(r.hard)
		if err := a.wait(10 * time.Second); !errors.Is(err, ErrCutShort) {
			t.Errorf("want ErrCutShort, got %v", err)
		}
		if took := time.Since(began); took > timely.Limit(2*time.Second+slack) {
			t.Errorf("it took %v", took)
		}
		if j, err := c.Get(context.Background(), "slow"); err != nil || j.State != job.Waiting || j.Attempts != 0 {
			t.Errorf("the job was not given back whole: %+v, %v", j, err)
		}
	})
}

func TestTheGracePeriodIsBounded(t *testing.T) {
	t.Parallel()
	r := mini(t)
	a, c := slowJob(t, r)
	a.stop() // 30 s of grace
	eventually(t, 5*time.Second, "it drains", func() bool { return r.log.count("draining") == 1 })
	select {
	case err := <-a.done:
		t.Fatalf("it did not wait for the job: %v", err)
	case <-time.After(300 * time.Millisecond):
	}
	if _, err := c.Cancel(context.Background(), "slow"); err != nil {
		t.Fatal(err)
	}
	if err := a.wait(10 * time.Second); err != nil {
		t.Errorf("it ended with %v", err)
	}

	r = mini(t)
	r.opts.Grace = time.Nanosecond
	a = r.serve()
	c = scheduler.NewClient(r.rdb)
	if _, err := c.Execute(context.Background(), "high", "log", map[string]string{"message": "slow", "sleep": "1m"}, scheduler.WithID("slow")); err != nil {
		t.Fatal(err)
	}
	// The handler says so: an active job may still be on its way to it.
	eventually(t, 5*time.Second, "the job runs", func() bool { return r.log.count("slow") == 1 })
	a.stop()
	if err := a.wait(5 * time.Second); err != nil {
		t.Errorf("it ended with %v", err)
	}
	if j, err := c.Get(context.Background(), "slow"); err != nil || j.State != job.Waiting {
		t.Errorf("the job was not given back: %+v, %v", j, err)
	}
}

func TestAMistakeInARolesOptionsEndsTheProcess(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		change func(*Options)
		says   string
	}{
		"concurrency": {func(o *Options) { o.Concurrency = -1 }, "worker: dispatcher: concurrency -1"},
		"queue":       {func(o *Options) { o.Queues = []string{"NO"} }, `"NO"`},
		"lease":       {func(o *Options) { o.Lease = time.Millisecond }, "below 1s"},
		"namespace":   {func(o *Options) { o.Namespace = "NO" }, "namespace"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := mini(t)
			tt.change(&r.opts)
			err := r.begin().wait(10 * time.Second)
			var file *FileError
			if err == nil || !strings.Contains(err.Error(), tt.says) || errors.As(err, &file) {
				t.Errorf("want an error with %q, got %v", tt.says, err)
			}
		})
	}
}

func TestABusyAddress(t *testing.T) {
	t.Parallel()
	busy, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer busy.Close()
	r := mini(t)
	r.opts.Listen = busy.Addr().String()
	if err := r.begin().wait(5 * time.Second); err == nil || !strings.Contains(err.Error(), "--listen") || !strings.Contains(err.Error(), "in use") {
		t.Errorf("want an error that names --listen, got %v", err)
	}
	r.opts.AnyPort = true
	a := r.serve()
	if a.address == r.opts.Listen {
		t.Error("it listens on the busy address")
	}
	if status, _, _ := a.ask("/-/healthy"); status != http.StatusOK {
		t.Errorf("healthy: %d", status)
	}
	a.end()
	r.opts.AnyPort, r.opts.Listen = false, "127.0.0.1:notaport"
	if err := r.begin().wait(5 * time.Second); err == nil || !strings.Contains(err.Error(), "--listen") {
		t.Errorf("a bad address: %v", err)
	}
}

func TestNoAddressListensNowhere(t *testing.T) {
	t.Parallel()
	r := mini(t)
	r.opts.Listen = ""
	if a := r.serve(); a.address != "" {
		t.Errorf("it listens on %s", a.address)
	}
}

// newerLayout makes the namespace that of a version to come, with a job that is due.
func (r *rig) newerLayout() {
	r.t.Helper()
	ctx := context.Background()
	if _, err := scheduler.NewClient(r.rdb).ExecuteLater(ctx, "high", "log", map[string]string{"message": "x"}, time.Millisecond, scheduler.WithID("theirs")); err != nil {
		r.t.Fatal(err)
	}
	r.rdb.HSet(ctx, "{bide}:meta", "layout", 99)
}

func TestANewerLayoutIsRefused(t *testing.T) {
	t.Parallel()
	r := mini(t)
	r.newerLayout()
	before := r.Mini.Dump()
	err := r.begin().wait(5 * time.Second)
	if err == nil || !strings.Contains(err.Error(), "layout 99") || !strings.Contains(err.Error(), "newer bide") {
		t.Errorf("want an error that names both layouts, got %v", err)
	}
	if after := r.Mini.Dump(); after != before {
		t.Errorf("something was written:\n%s\nbefore:\n%s", after, before)
	}
}

// The layout is known only when Redis answers; until then nobody may touch it.
func TestANewerLayoutIsRefusedWhenRedisComes(t *testing.T) {
	t.Parallel()
	r := mini(t)
	r.newerLayout()
	r.write(twoGood)
	before := r.Mini.Dump()
	r.Mini.Close()
	a := r.serve()
	if err := r.Mini.Restart(); err != nil {
		t.Fatal(err)
	}
	err := a.wait(10 * time.Second)
	if err == nil || !strings.Contains(err.Error(), "layout 99") {
		t.Errorf("want an error that names the layout, got %v", err)
	}
	if after := r.Mini.Dump(); after != before {
		t.Errorf("something was written:\n%s\nbefore:\n%s", after, before)
	}
}

func TestRedisAwayAtStart(t *testing.T) {
	t.Parallel()
	r := newRig(t, redistest.NewReal(t))
	r.write(twoGood)
	r.Kill()
	a := r.serve()
	if status, h, _ := a.ask("/-/ready"); status != http.StatusServiceUnavailable || h.Ready {
		t.Errorf("ready: %d %+v", status, h)
	}
	if status, h, _ := a.ask("/-/healthy"); status != http.StatusOK || !h.Live {
		t.Errorf("healthy: %d %+v", status, h)
	}
	r.Restart()
	a.readyWithin(5 * time.Second)
	wantApplied(t, r, "one", "two")
	id, err := scheduler.NewClient(r.rdb).ExecuteLater(context.Background(), "high", "log", map[string]string{"message": "x"}, 100*time.Millisecond)
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, 5*time.Second, "a job runs", func() bool {
		_, err := scheduler.NewClient(r.rdb).Get(context.Background(), id)
		return errors.Is(err, job.ErrNotFound)
	})
}

// Nor does it matter that Redis takes no writes, also when nothing of bide is in it yet.
func TestRedisTakesNoWritesAtStart(t *testing.T) {
	t.Parallel()
	for name, state := range map[string]struct{ set, unset []any }{
		"its memory is full":       {[]any{"CONFIG", "SET", "maxmemory", "1"}, []any{"CONFIG", "SET", "maxmemory", "0"}},
		"it is a replica":          {[]any{"REPLICAOF", "127.0.0.1", "1"}, []any{"REPLICAOF", "NO", "ONE"}},
		"its replicas are missing": {[]any{"CONFIG", "SET", "min-replicas-to-write", "1"}, []any{"CONFIG", "SET", "min-replicas-to-write", "0"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx := context.Background()
			r := newRig(t, redistest.NewReal(t))
			r.write(twoGood)
			if err := r.rdb.Do(ctx, state.set...).Err(); err != nil {
				t.Fatal(err)
			}
			a := r.serve()
			if status, h, _ := a.ask("/-/ready"); status != http.StatusServiceUnavailable || h.Ready {
				t.Errorf("ready: %d %+v", status, h)
			}
			if err := r.rdb.Do(ctx, state.unset...).Err(); err != nil {
				t.Fatal(err)
			}
			a.readyWithin(5 * time.Second)
			wantApplied(t, r, "one", "two")
		})
	}
}

func TestItStopsWhileRedisIsAway(t *testing.T) {
	t.Parallel()
	r := newRig(t, redistest.NewReal(t))
	a := r.serve()
	a.readyWithin(5 * time.Second)
	r.Kill()
	a.stop()
	if err := a.wait(r.opts.Grace + 5*time.Second); err != nil {
		t.Errorf("it ended with %v", err)
	}
	r.Restart() // for the audit
}

func TestEachRoleAlone(t *testing.T) {
	t.Parallel()
	for _, role := range Roles {
		t.Run(role, func(t *testing.T) {
			t.Parallel()
			r := mini(t)
			r.write(twoGood)
			r.opts.Roles = []string{role}
			a := r.serve()
			a.readyWithin(5 * time.Second)
			if has := slices.Equal(r.applied(), []string{"one", "two"}); has != (role == "scheduler") {
				t.Errorf("applied: %v", r.applied())
			}
			a.end()
		})
	}
}
