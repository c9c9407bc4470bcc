package scripts_test

import (
	"errors"
	"flag"
	"os"
	"slices"
	"sort"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/bide-go/bide/internal/redistest"
	"github.com/bide-go/bide/job"
	"github.com/bide-go/bide/scripts"
)

// The model's tests are run a few times by default; -rapid.checks=1000 is for a
// long look.
func TestMain(m *testing.M) {
	flag.Parse()
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == "rapid.checks" })
	if !given {
		_ = flag.Set("rapid.checks", "12")
	}
	code := m.Run()
	redistest.StopClusters()
	os.Exit(code)
}

// modelled is what the model knows of one job that is live, retained or dead.
type modelled struct {
	id, unique     string
	state          job.State
	retained       bool
	due            bool // delayed, and its time has come
	late           bool // its expiry has come
	expires        bool // and it can still expire
	marked         bool // asked to cancel
	lost, attempts int
	lease          scripts.Lease
}

// model is one queue in memory.
type model struct {
	*bench
	jobs  map[string]*modelled
	lanes map[string][]string // ids, by lane
	old   []scripts.Lease     // leases that are over
	sum   scripts.Sum
}

func (m *model) ids(match func(j *modelled) bool) []string {
	var list []string
	for id, j := range m.jobs {
		if match(j) {
			list = append(list, id)
		}
	}
	sort.Strings(list)
	return list
}

// pick draws a job that matches, or skips the step.
func (m *model) pick(rt *rapid.T, match func(j *modelled) bool) *modelled {
	list := m.ids(match)
	if len(list) == 0 {
		rt.Skip("none")
	}
	return m.jobs[rapid.SampledFrom(list).Draw(rt, "id")]
}

func in(states ...job.State) func(*modelled) bool {
	return func(j *modelled) bool { return slices.Contains(states, j.state) }
}

// leave takes j out of its lane.
func (m *model) leave(j *modelled) {
	for lane, list := range m.lanes {
		m.lanes[lane] = slices.DeleteFunc(list, func(id string) bool { return id == j.id })
	}
}

// end brings j to an end state.
func (m *model) end(j *modelled, state job.State) {
	m.leave(j)
	if j.lease.ID != "" {
		m.old = append(m.old, j.lease)
	}
	*map[job.State]*int64{job.Completed: &m.sum.Completed, job.Dead: &m.sum.Dead, job.Cancelled: &m.sum.Cancelled, job.Expired: &m.sum.Expired}[state]++
	j.state, j.lease, j.expires, j.marked = state, scripts.Lease{}, false, false
	if state != job.Dead && !j.retained {
		delete(m.jobs, j.id)
	}
}

func (m *model) front(j *modelled) {
	m.old = append(m.old, j.lease)
	j.state, j.lease = job.Waiting, scripts.Lease{}
	m.lanes["medium-delayed"] = append([]string{j.id}, m.lanes["medium-delayed"]...)
}

func (m *model) ok(rt *rapid.T, err error) {
	if err != nil {
		rt.Fatal(err)
	}
}

func (m *model) enqueue(rt *rapid.T) {
	n := scripts.NewJob{
		ID: rapid.SampledFrom([]string{"a", "b", "c", "d", "e", "f", "g", "h"}).Draw(rt, "id"), Queue: "medium", Name: "test",
		Unique: rapid.SampledFrom([]string{"", "", "u", "v"}).Draw(rt, "unique"),
	}
	delayed, retained, expires := rapid.Bool().Draw(rt, "delayed"), rapid.Bool().Draw(rt, "retained"), rapid.Bool().Draw(rt, "expires")
	if delayed {
		n.Delay = time.Hour
	}
	if retained {
		n.Retention = 1000 * time.Hour
	}
	if expires {
		n.ExpiryIn = 1000 * time.Hour
	}
	results, err := enqueue(m.Set, m.ctx(), []scripts.NewJob{n})
	m.ok(rt, err)
	r := results[0]
	holder := m.jobs[n.ID]
	if holder == nil && n.Unique != "" {
		if held := m.ids(func(j *modelled) bool { return j.unique == n.Unique && j.state.Live() }); len(held) > 0 {
			holder = m.jobs[held[0]]
		}
	}
	if holder != nil {
		if !r.Deduplicated || r.ID != holder.id || r.State != holder.state {
			rt.Fatalf("enqueue %+v: %+v, want the existing %+v", n, r, holder)
		}
		return
	}
	j := &modelled{id: n.ID, unique: n.Unique, state: job.Waiting, retained: retained, expires: expires}
	if delayed {
		j.state = job.Delayed
	} else {
		m.lanes["medium"] = append(m.lanes["medium"], j.id)
	}
	if r.Deduplicated || r.Err != nil || r.State != j.state {
		rt.Fatalf("enqueue %+v: %+v", n, r)
	}
	m.jobs[j.id] = j
	m.sum.Created++
}

func (m *model) promote(rt *rapid.T) {
	m.pass(2 * time.Millisecond)
	p, err := m.Promote(m.ctx(), 100, false)
	m.ok(rt, err)
	due := m.ids(func(j *modelled) bool { return j.state == job.Delayed && j.due })
	before := m.lanes["medium-delayed"]
	after := m.bench.lane("medium-delayed")
	if p.Taken != len(due) || len(after) != len(before)+len(due) {
		rt.Fatalf("promoted %d to %v, want %v behind %v", p.Taken, after, due, before)
	}
	moved := slices.Sorted(slices.Values(after[len(before):]))
	if diff := cmp.Diff(due, moved); diff != "" && len(due) > 0 {
		rt.Fatal(diff)
	}
	m.lanes["medium-delayed"] = after
	for _, id := range due {
		m.jobs[id].state, m.jobs[id].due = job.Waiting, false
	}
}

func (m *model) reserve(rt *rapid.T) {
	limit := rapid.IntRange(0, 4).Draw(rt, "limit")
	var want []string
	for _, lane := range []string{"medium-delayed", "medium"} {
		for _, id := range slices.Clone(m.lanes[lane]) {
			if len(want) == limit {
				break
			}
			j := m.jobs[id]
			m.leave(j)
			if j.late && j.expires {
				m.end(j, job.Expired)
			} else {
				want = append(want, id)
			}
		}
	}
	r := m.takeAs(rapid.SampledFrom([]string{"w1", "w2"}).Draw(rt, "worker"), limit, time.Hour, "test")
	if got := ids(r.Jobs); !slices.Equal(got, want) {
		rt.Fatalf("took %v, want %v", got, want)
	}
	for _, l := range r.Jobs {
		j := m.jobs[l.Job.ID]
		if l.Job.Attempts != j.attempts || l.Job.Lost != j.lost {
			rt.Fatalf("took %+v, want %+v", l.Job, j)
		}
		j.state, j.lease, j.expires = job.Active, l.Lease, false
	}
}

// stale draws, now and then, a lease that is over in place of j's.
func (m *model) stale(rt *rapid.T) (scripts.Lease, bool) {
	if len(m.old) == 0 || rapid.IntRange(0, 3).Draw(rt, "stale") > 0 {
		return scripts.Lease{}, false
	}
	return rapid.SampledFrom(m.old).Draw(rt, "old lease"), true
}

func (m *model) complete(rt *rapid.T) {
	if l, over := m.stale(rt); over {
		stale, err := m.Complete(m.ctx(), []scripts.Lease{l})
		m.ok(rt, err)
		if len(stale) != 1 {
			rt.Fatalf("%v was not stale", l)
		}
		return
	}
	j := m.pick(rt, in(job.Active))
	stale, err := m.Complete(m.ctx(), []scripts.Lease{j.lease})
	m.ok(rt, err)
	if len(stale) > 0 {
		rt.Fatalf("%v is stale", stale)
	}
	m.end(j, job.Completed)
}

func (m *model) fails(rt *rapid.T) {
	retry, soon := rapid.Bool().Draw(rt, "retry"), rapid.Bool().Draw(rt, "soon")
	v := scripts.Verdict{Retry: retry, Reason: job.ReasonAttempts, Kind: job.KindFailed, Error: "boom"}
	if !soon {
		v.Pause = time.Hour
	}
	want := job.Dead
	if l, over := m.stale(rt); over {
		v.Lease, want = l, scripts.Stale
	} else {
		j := m.pick(rt, in(job.Active))
		v.Lease = j.lease
		switch {
		case j.marked:
			want = job.Cancelled
			m.end(j, want)
		case retry:
			want = job.Delayed
			m.old = append(m.old, j.lease)
			j.state, j.due, j.lease, j.attempts = want, soon, scripts.Lease{}, j.attempts+1
		default:
			j.attempts++
			m.end(j, want)
		}
	}
	states, err := m.Fail(m.ctx(), []scripts.Verdict{v})
	m.ok(rt, err)
	if states[0] != want {
		rt.Fatalf("fail: %v, want %v", states, want)
	}
}

func (m *model) release(rt *rapid.T) {
	active := m.ids(in(job.Active))
	if len(active) == 0 {
		rt.Skip("none")
	}
	some := rapid.Permutation(active).Draw(rt, "jobs")
	var leases []scripts.Lease
	for _, id := range some {
		leases = append(leases, m.jobs[id].lease)
	}
	states, err := m.Release(m.ctx(), leases)
	m.ok(rt, err)
	for i := len(some) - 1; i >= 0; i-- {
		j, want := m.jobs[some[i]], job.Waiting
		if j.marked {
			want = job.Cancelled
			m.end(j, want)
		} else {
			m.front(j)
		}
		if states[i] != want {
			rt.Fatalf("released %v, want %s to be %s", states, some[i], want)
		}
	}
}

func (m *model) reap(rt *rapid.T) {
	j := m.pick(rt, in(job.Active))
	subject{b: m.bench, id: j.id}.lapse()
	reaped := m.reapAll(2) // before a second lost lease could set it aside
	want := job.Waiting
	j.lost++
	switch {
	case j.marked:
		want = job.Cancelled
		m.end(j, want)
	case j.lost >= 2:
		want = job.Dead
		m.end(j, want)
	default:
		m.front(j)
	}
	if diff := cmp.Diff([]scripts.Reaped{{ID: j.id, State: want}}, reaped); diff != "" {
		rt.Fatal(diff)
	}
}

// refused checks that a call was refused with the state the job is in.
func refused(rt *rapid.T, err error, j *modelled) {
	var state *job.StateError
	if !errors.As(err, &state) || state.From != j.state {
		rt.Fatalf("%v, want it refused as %s", err, j.state)
	}
}

func (m *model) cancel(rt *rapid.T) {
	j := m.pick(rt, func(*modelled) bool { return true })
	_, err := m.Cancel(m.ctx(), j.id)
	switch {
	case j.state.Ended():
		refused(rt, err, j)
	case j.state == job.Active:
		m.ok(rt, err)
		j.marked = true
	default:
		m.ok(rt, err)
		m.end(j, job.Cancelled)
	}
}

func (m *model) reschedule(rt *rapid.T) {
	j, soon := m.pick(rt, func(*modelled) bool { return true }), rapid.Bool().Draw(rt, "soon")
	delay := time.Hour
	if soon {
		delay = 0
	}
	_, err := m.Reschedule(m.ctx(), j.id, delay, time.Time{})
	if j.state != job.Delayed {
		refused(rt, err, j)
		return
	}
	m.ok(rt, err)
	j.due = soon
}

func (m *model) revive(rt *rapid.T) {
	j := m.pick(rt, func(*modelled) bool { return true })
	_, err := m.Revive(m.ctx(), j.id)
	taken := j.unique != "" && len(m.ids(func(o *modelled) bool { return o.unique == j.unique && o.state.Live() })) > 0
	switch {
	case j.state == job.Delayed:
		m.ok(rt, err)
		j.due = true
	case j.state != job.Dead || taken:
		refused(rt, err, j)
	default:
		m.ok(rt, err)
		m.sum.Dead--
		j.state, j.attempts, j.lost = job.Waiting, 0, 0
		m.lanes["medium-delayed"] = append(m.lanes["medium-delayed"], j.id)
	}
}

func (m *model) expire(rt *rapid.T) {
	j := m.pick(rt, func(j *modelled) bool { return j.expires })
	subject{b: m.bench, id: j.id}.late()
	j.late = true
	want := m.ids(func(j *modelled) bool { return j.expires && j.late })
	n, _, err := m.Expire(m.ctx(), 100)
	m.ok(rt, err)
	if n != len(want) {
		rt.Fatalf("expired %d, want %v", n, want)
	}
	for _, id := range want {
		m.end(m.jobs[id], job.Expired)
	}
}

func (m *model) trim(rt *rapid.T) {
	j := m.pick(rt, func(j *modelled) bool { return j.state.Ended() })
	set := scripts.Key("finished")
	if j.state == job.Dead {
		set = scripts.Key("dead")
	}
	m.do("ZADD", set, "XX", 1, j.id)
	trimmed, err := m.Trim(m.ctx(), 100, time.Hour, 100)
	m.ok(rt, err)
	if trimmed.Dead+trimmed.Finished != 1 {
		rt.Fatalf("trimmed %+v", trimmed)
	}
	delete(m.jobs, j.id)
}

// check compares Redis with the model.
func (m *model) check(rt *rapid.T) {
	m.sum.Delayed, m.sum.Waiting, m.sum.Active = 0, 0, 0
	want := map[string]string{}
	for id, j := range m.jobs {
		want[id] = string(j.state)
		if p := map[job.State]*int64{job.Delayed: &m.sum.Delayed, job.Waiting: &m.sum.Waiting, job.Active: &m.sum.Active}[j.state]; p != nil {
			*p++
		}
	}
	sum, err := m.Audit(m.ctx())
	m.ok(rt, err)
	if sum.Gap() != 0 || sum != m.sum {
		rt.Fatalf("sum %+v, want %+v", sum, m.sum)
	}
	got := map[string]string{}
	for id := range m.places() { // each in one
		j, err := m.Inspect(m.ctx(), id)
		m.ok(rt, err)
		got[id] = string(j.State)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		rt.Fatalf("states (-want +got):\n%s", diff)
	}
	for _, lane := range []string{"medium-delayed", "medium"} {
		if got := m.bench.lane(lane); !slices.Equal(got, m.lanes[lane]) {
			rt.Fatalf("lane %s holds %v, want %v", lane, got, m.lanes[lane])
		}
	}
}

func TestModel(t *testing.T) {
	each(t, func(b *bench) {
		rapid.Check(b.t, func(rt *rapid.T) {
			b.flush()
			m := &model{bench: b, jobs: map[string]*modelled{}, lanes: map[string][]string{}}
			rt.Repeat(map[string]func(*rapid.T){
				"enqueue": m.enqueue, "enqueue more": m.enqueue, "promote": m.promote, "reserve": m.reserve, "complete": m.complete,
				"fail": m.fails, "release": m.release, "reap": m.reap, "cancel": m.cancel, "reschedule": m.reschedule, "revive": m.revive,
				"expire": m.expire, "trim": m.trim, "": m.check,
			})
		})
	})
}
