package proctest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/bide-go/bide/internal/redistest"
	"github.com/bide-go/bide/internal/timely"
	"github.com/bide-go/bide/job"
	"github.com/bide-go/bide/scheduler"
	"github.com/bide-go/bide/scripts"
)

type rig struct {
	t testing.TB
	*redistest.Server
	*scheduler.Client
	set       *scripts.Set
	schedules *scheduler.Manager
}

func newRig(t *testing.T) *rig {
	t.Parallel()
	return on(t, redistest.NewReal(t))
}

func on(t testing.TB, s *redistest.Server) *rig {
	return &rig{t: t, Server: s, Client: scheduler.NewClient(s.Client()), set: s.Scripts(), schedules: scheduler.NewManager(s.Client(), "", "test")}
}

func (r *rig) ctx() context.Context { return context.Background() }

func (r *rig) worker(s settings) *process {
	r.t.Helper()
	s.Addr = r.Addr
	return start(r.t, s)
}

func (r *rig) add(name string, args any) string {
	r.t.Helper()
	id, err := r.Execute(r.ctx(), "medium", name, args, scheduler.WithRetention(time.Hour))
	if err != nil {
		r.t.Fatal(err)
	}
	return id
}

func (r *rig) get(id string) *job.Job {
	r.t.Helper()
	j, err := r.Get(r.ctx(), id)
	if err != nil {
		r.t.Fatal(err)
	}
	return j
}

func (r *rig) becomes(id string, state job.State) *job.Job {
	r.t.Helper()
	var last *job.Job
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		j, err := r.Get(r.ctx(), id)
		if err == nil && j.State == state {
			return j
		}
		last = j
	}
	r.t.Fatalf("job %s is not %s within %v: %+v", id, state, patience, last)
	return nil
}

func (r *rig) sum() scripts.Sum {
	r.t.Helper()
	s, err := r.set.Audit(r.ctx())
	if err != nil {
		r.t.Fatal(err)
	}
	return s
}

// slack is what a busy machine may add to a promised time.
const slack = 2 * time.Second

func TestKilledWorker(t *testing.T) {
	r := newRig(t)
	const lease = 2 * time.Second
	first := r.worker(settings{Lease: lease})
	id := r.add("hold", nil)
	first.want("start", id)
	second := r.worker(settings{Lease: lease})
	first.kill()
	killed := time.Now()
	e := second.want("start", id)
	timely.Check(t, "start elsewhere", e.at.Sub(killed), lease*3/2+slack)
	if e.Lost != 1 || e.Attempt != 1 {
		t.Errorf("the second process got %+v, want one lost lease and the first attempt", e)
	}
	second.release()
	second.want("end", id)
	j := r.becomes(id, job.Completed)
	if j.Lost != 1 || j.Attempts != 0 || len(j.Errors) != 1 || j.Errors[0].Kind != job.KindLost {
		t.Errorf("job = %+v, want one lost lease and no attempt", j)
	}
}

// A job that kills whoever runs it is dead in the end, with a reason that says so,
// and the others finish.
func TestJobThatKillsItsWorker(t *testing.T) {
	r := newRig(t)
	s := settings{Lease: time.Second, MaxLost: 3, Concurrency: 4}
	poison := r.add("kill", nil)
	var others []string
	for i := range 20 {
		others = append(others, r.add("sleep", time.Duration(i)*20*time.Millisecond))
	}
	killed, born := 0, time.Now()
	for p := r.worker(s); ; {
		select {
		case <-p.exited:
			killed++
			p = r.worker(s)
			continue
		case <-time.After(20 * time.Millisecond):
		}
		sum := r.sum()
		if sum.Dead == 1 && sum.Completed == int64(len(others)) {
			break
		}
		if deadline := born.Add(patience); killed > s.MaxLost || time.Now().After(deadline) {
			t.Logf("sum %+v", sum)
			t.Fatalf("%d processes were killed, want %d", killed, s.MaxLost)
		}
	}
	j := r.get(poison)
	if j.State != job.Dead || j.Reason != job.ReasonLost || j.Lost != s.MaxLost || j.Attempts != 0 || len(j.Errors) != s.MaxLost {
		t.Errorf("job = %+v, want it dead for the leases it lost", j)
	}
	// A lease may also run out on a machine that stands still.
	if killed < 1 || killed > s.MaxLost {
		t.Errorf("%d processes were killed, want at most %d", killed, s.MaxLost)
	}
	for _, id := range others {
		if j := r.get(id); j.State != job.Completed || j.Attempts != 0 || j.Lost >= s.MaxLost {
			t.Errorf("another job = %+v, want it completed without a failed attempt", j)
		}
	}
}

// A process that stood still for longer than its lease and goes on changes nothing.
func TestStoppedWorker(t *testing.T) {
	r := newRig(t)
	const lease = time.Second
	first := r.worker(settings{Lease: lease})
	id := r.add("hold", nil)
	first.want("start", id)
	first.signal(syscall.SIGSTOP)
	second := r.worker(settings{Lease: lease})
	second.want("start", id)
	first.signal(syscall.SIGCONT)
	first.want("lost", id)
	first.release()
	first.want("end", id) // it returns nil, and is not heard
	second.silent(lease)
	if j := r.get(id); j.State != job.Active || j.Attempts != 0 {
		t.Errorf("job = %+v, want it active still", j)
	}
	second.release()
	second.want("end", id)
	j := r.becomes(id, job.Completed)
	if s := r.sum(); s.Completed != 1 || j.Lost != 1 {
		t.Errorf("sum = %+v, job = %+v, want it completed once after one lost lease", s, j)
	}
}

// The same, and meanwhile the job has come back to that very process.
func TestStoppedWorkerLeasesItsJobAgain(t *testing.T) {
	r := newRig(t)
	const lease = time.Second
	p := r.worker(settings{Lease: lease})
	id := r.add("hold", nil)
	p.want("start", id)
	p.signal(syscall.SIGSTOP)
	for deadline := time.Now().Add(patience); r.get(id).State != job.Waiting; time.Sleep(20 * time.Millisecond) {
		now, err := r.Server.Client().Time(r.ctx()).Result()
		if err != nil || time.Now().After(deadline) {
			t.Fatalf("the lease does not end: %v", err)
		}
		if _, _, _, err := r.set.Reap(r.ctx(), now, 10, 5); err != nil {
			t.Fatal(err)
		}
	}
	p.signal(syscall.SIGCONT)
	// Both attempts run in one process now, and only the first has lost its lease.
	seen := map[string]int{}
	for range 2 {
		e := p.next()
		seen[fmt.Sprint(e.What, " ", e.Lost)]++
	}
	if seen["lost 0"] != 1 || seen["start 1"] != 1 {
		t.Fatalf("the process says %v, want the first attempt lost and a second started", seen)
	}
	p.silent(2 * lease) // and the second keeps its own
	if j := r.get(id); j.State != job.Active || j.Lost != 1 {
		t.Errorf("job = %+v, want it active after one lost lease", j)
	}
	p.release() // both return nil
	r.becomes(id, job.Completed)
	if s := r.sum(); s.Completed != 1 {
		t.Errorf("sum = %+v, want the job completed once", s)
	}
}

func TestTermDrains(t *testing.T) {
	r := newRig(t)
	const lease = time.Second
	first := r.worker(settings{Lease: lease, Grace: 20 * time.Second})
	id := r.add("sleep", 3*lease)
	first.want("start", id)
	first.signal(syscall.SIGTERM)
	first.want("stopping", "")
	second := r.worker(settings{Lease: lease})
	late := r.add("quick", nil)
	second.want("start", late)
	ended := first.want("end", id)
	first.ends()
	timely.Check(t, "exit after the last handler", first.at.Sub(ended.at), slack)
	second.silent(lease / 2)
	if j := r.get(id); j.State != job.Completed || j.Lost != 0 {
		t.Errorf("job = %+v, want it completed and no lease lost", j)
	}
}

// A handler that ignores everything is left behind: its job runs elsewhere within a
// second of the exit.
func TestTermWithAStubbornHandler(t *testing.T) {
	for name, test := range map[string]struct {
		grace   time.Duration
		signals int
	}{"grace period": {300 * time.Millisecond, 1}, "second signal": {time.Hour, 2}} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			first := r.worker(settings{Grace: test.grace})
			id := r.add("hold", nil)
			first.want("start", id)
			second := r.worker(settings{})
			signalled := time.Now()
			for i := range test.signals {
				first.signal(syscall.SIGTERM)
				if i == 0 {
					first.want("stopping", "")
				}
			}
			first.want("interrupted", id)
			first.ends()
			limit := time.Second + slack
			if test.signals == 1 {
				limit += test.grace
			}
			timely.Check(t, "exit", first.at.Sub(signalled), limit)
			e := second.want("start", id)
			timely.Check(t, "start elsewhere after the exit", e.at.Sub(first.at), time.Second+slack)
			// Giving back is the last thing it does: the two run side by side for a
			// moment at most.
			timely.Check(t, "exit after the start elsewhere", first.at.Sub(e.at), time.Second)
			if e.Attempt != 1 || e.Lost != 0 {
				t.Errorf("the second process got %+v, want nothing counted", e)
			}
			second.release()
			r.becomes(id, job.Completed)
		})
	}
}

// Processes are killed at any instant, over and over, and replaced. Every job ends.
func TestKilledAgainAndAgain(t *testing.T) {
	r := newRig(t)
	const n = 400
	s := settings{Lease: time.Second, MaxLost: 50, Concurrency: 5}
	stop := make(chan struct{})
	var killers sync.WaitGroup
	kills := make([]int, 2)
	for i := range kills {
		killers.Go(func() {
			for {
				p := r.worker(s)
				select {
				case <-time.After(time.Duration(150+100*i) * time.Millisecond):
					p.kill()
					kills[i]++
				case <-stop:
					return
				}
			}
		})
	}
	for i := range n {
		delay := time.Duration(i%7) * 300 * time.Millisecond
		if _, err := r.ExecuteLater(r.ctx(), "medium", "sleep", 10*time.Millisecond, delay); err != nil {
			t.Fatal(err)
		}
	}
	time.Sleep(3 * time.Second) // the time of the killing
	close(stop)
	killers.Wait()
	for deadline := time.Now().Add(patience); r.sum().Completed < n; time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("sum = %+v, want %d jobs completed", r.sum(), n)
		}
	}
	t.Logf("%d processes were killed", kills[0]+kills[1])
	if s := r.sum(); s.Completed != n || s.Dead != 0 {
		t.Errorf("sum = %+v, want %d jobs completed and none dead", s, n)
	}
	if _, err := r.Get(r.ctx(), "none"); !errors.Is(err, job.ErrNotFound) {
		t.Errorf("get = %v, want %v", err, job.ErrNotFound)
	}
}
