package scheduler

import (
	"context"
	"fmt"
	"os"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/bide-go/bide/dispatcher"
	"github.com/bide-go/bide/internal/redistest"
	"github.com/bide-go/bide/job"
	"github.com/bide-go/bide/promoter"
	"github.com/bide-go/bide/worker"
)

func cpu() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func TestZZPerf(t *testing.T) {
	if os.Getenv("PERF") == "" {
		t.Skip()
	}
	ctx := context.Background()
	r := newRig(t, redistest.NewReal(t))
	var all []Definition
	for i := range 1000 {
		d := Definition{Name: fmt.Sprint("s", i), Job: "tick", Schedule: []string{"@every 1h"}}
		if i < 200 {
			d.Schedule = []string{"@every 1s"}
		}
		all = append(all, d)
	}
	heavy := slices.Clone(all)
	for i := range heavy {
		heavy[i].Schedule = []string{"@every 1s"}
	}
	s := r.scheduler("a")
	timed := func(what string, f func()) { b := time.Now(); f(); t.Log(what, time.Since(b)) }
	timed("add+plan 1000 heavy", func() { s.apply(heavy...) })
	slow := func() {
		for _, e := range r.rdb.SlowLogGet(ctx, 5).Val() {
			t.Log("slow", e.Duration, e.Args[0])
		}
		r.rdb.Do(ctx, "SLOWLOG", "RESET")
	}
	slow()
	for i := range heavy {
		heavy[i].Args = []byte("1")
	}
	timed("rewrite 1000 heavy", func() { s.apply(heavy...) })
	slow()
	for i := range heavy {
		heavy[i].Schedule = []string{"* * * * * *"}
	}
	timed("retime 1000 heavy", func() { s.apply(heavy...) })
	slow()
	timed("remove", func() { s.apply() })
	slow()
	timed("add mixed", func() { s.apply(all...) })
	slow()

	c0 := cpu()
	run := start(s.Run)
	time.Sleep(35 * time.Second)
	run.end(t)
	t.Log("scheduler cpu of 35 s", cpu()-c0)

	var mu sync.Mutex
	var late []time.Duration
	reg := worker.NewRegistry()
	reg.Handle("tick", func(_ context.Context, j *job.Job) error {
		mu.Lock()
		late = append(late, time.Since(j.Tick))
		mu.Unlock()
		return nil
	})
	r.rdb.ConfigResetStat(ctx)
	p := start(promoter.New(r.Client(), promoter.Config{}).Run)
	d := start(dispatcher.New(r.Client(), reg, dispatcher.Config{Concurrency: 50}).Run)
	s2 := start(r.scheduler("b").Run)
	time.Sleep(3 * time.Second)
	mu.Lock()
	late = nil
	mu.Unlock()
	r.rdb.ConfigResetStat(ctx)
	time.Sleep(31 * time.Second)
	mu.Lock()
	slices.Sort(late)
	n := len(late)
	t.Log("ticks", n, "p50", late[n/2], "p99", late[n*99/100], "max", late[n-1])
	mu.Unlock()
	t.Log(r.rdb.Info(ctx, "commandstats").Val())
	s2.end(t)
	p.end(t)
	d.end(t)
}
