package scripts_test

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/redis/go-redis/v9"

	"github.com/bide-go/bide/internal/redistest"
	"github.com/bide-go/bide/job"
	"github.com/bide-go/bide/scripts"
)

// bench is one namespace with what tests do over and over.
type bench struct {
	t *testing.T
	*redistest.Server
	*scripts.Set
	rdb *redis.Client
	seq int
}

func newBench(t *testing.T, s *redistest.Server) *bench {
	return &bench{t: t, Server: s, Set: s.Scripts()}
}

func (b *bench) ctx() context.Context { return context.Background() }

// add creates one job and fails the test if it is not new.
func (b *bench) add(n scripts.NewJob) string {
	b.t.Helper()
	b.seq++
	if n.ID == "" {
		n.ID = fmt.Sprintf("job-%d", b.seq)
	}
	if n.Queue == "" {
		n.Queue = "medium"
	}
	if n.Name == "" {
		n.Name = "test"
	}
	r := b.enqueue(n)
	if r.Err != nil || r.Deduplicated {
		b.t.Fatalf("enqueue %s: %+v", n.ID, r)
	}
	return n.ID
}

// enqueue creates jobs with one call.
func enqueue(set *scripts.Set, ctx context.Context, jobs []scripts.NewJob) ([]scripts.Created, error) {
	batch := scripts.NewBatch(jobs...)
	if err := set.Enqueue(ctx, batch); err != nil {
		return nil, err
	}
	return batch.Created(), nil
}

func (b *bench) enqueue(n scripts.NewJob) scripts.Created {
	b.t.Helper()
	r, err := enqueue(b.Set, b.ctx(), []scripts.NewJob{n})
	if err != nil {
		b.t.Fatal(err)
	}
	return r[0]
}

// take reserves up to limit jobs named test from high, medium and low.
func (b *bench) take(limit int) []scripts.Leased {
	b.t.Helper()
	return b.takeAs("w1", limit, time.Minute, "test").Jobs
}

func (b *bench) takeAs(worker string, limit int, lease time.Duration, names ...string) scripts.Reserved {
	b.t.Helper()
	b.seq++
	r, err := b.Reserve(b.ctx(), scripts.ReserveArgs{
		Token: fmt.Sprintf("%s:%d", worker, b.seq), Lease: lease, Limit: limit, Names: names,
		Offers: []scripts.Offer{{"high", limit}, {"medium", limit}, {"low", limit}},
	})
	if err != nil {
		b.t.Fatal(err)
	}
	return r
}

func (b *bench) promote() int {
	b.t.Helper()
	p, err := b.Promote(b.ctx(), 1000, false)
	if err != nil {
		b.t.Fatal(err)
	}
	return p.Taken
}

func (b *bench) state(id string, want job.State) *job.Job {
	b.t.Helper()
	j, err := b.Inspect(b.ctx(), id)
	if err != nil {
		b.t.Fatalf("inspect %s: %v", id, err)
	}
	if j.State != want {
		b.t.Fatalf("job %s is %s, want %s", id, j.State, want)
	}
	return j
}

func (b *bench) gone(id string) {
	b.t.Helper()
	if j, err := b.Inspect(b.ctx(), id); err == nil {
		b.t.Fatalf("job %s is %s, want it gone", id, j.State)
	}
}

func (b *bench) complete(l ...scripts.Leased) []string {
	b.t.Helper()
	stale, err := b.Complete(b.ctx(), leasesOf(l))
	if err != nil {
		b.t.Fatal(err)
	}
	return stale
}

func leasesOf(l []scripts.Leased) []scripts.Lease {
	var leases []scripts.Lease
	for _, x := range l {
		leases = append(leases, x.Lease)
	}
	return leases
}

func ids(l []scripts.Leased) []string {
	list := []string{}
	for _, x := range l {
		list = append(list, x.Job.ID)
	}
	return list
}

func (b *bench) sum(want scripts.Sum) {
	b.t.Helper()
	got, err := b.Audit(b.ctx())
	if err != nil {
		b.t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		b.t.Errorf("sum (-want +got):\n%s", diff)
	}
}

// each runs test on the embedded Redis, on a real one, and in a real cluster.
func each(t *testing.T, test func(b *bench)) {
	redistest.Each(t, func(t *testing.T, s *redistest.Server) { test(newBench(t, s)) })
	t.Run("cluster", func(t *testing.T) { t.Parallel(); test(newBench(t, redistest.NewOnCluster(t))) })
}

func TestLifecycleOfAJob(t *testing.T) {
	each(t, func(b *bench) {
		id := b.add(scripts.NewJob{ID: "a", Queue: "high", Args: json.RawMessage(`{"n":12345678901234567,"l":[]}`), Headers: map[string]string{"k": "v"}})
		b.state(id, job.Waiting)
		got := b.take(10)
		if len(got) != 1 {
			b.t.Fatalf("took %v", ids(got))
		}
		j := got[0].Job
		if string(j.Args) != `{"n":12345678901234567,"l":[]}` || j.Headers["k"] != "v" || j.Queue != "high" || j.Name != "test" || j.Attempt() != 1 {
			b.t.Errorf("job %+v", j)
		}
		b.state(id, job.Active)
		b.sum(scripts.Sum{Created: 1, Active: 1})
		if stale := b.complete(got...); stale != nil {
			b.t.Errorf("stale %v", stale)
		}
		b.gone(id)
		b.sum(scripts.Sum{Created: 1, Completed: 1})
		if stale := b.complete(got...); len(stale) != 1 {
			b.t.Error("completing twice was not stale")
		}
		end, err := b.FindEnd(b.ctx(), id)
		if err != nil || end.State != job.Completed {
			b.t.Errorf("end %+v, %v", end, err)
		}
	})
}

func TestDelayedJobsBecomeDueInOrder(t *testing.T) {
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		if s.Mini == nil {
			t.Skip("only the embedded clock can be moved")
		}
		b := newBench(t, s)
		s.Advance(0)
		for i := range 20 {
			b.add(scripts.NewJob{ID: fmt.Sprintf("tie-%02d", i), Delay: 2 * time.Second})
		}
		b.add(scripts.NewJob{ID: "earlier", Delay: time.Second})
		b.add(scripts.NewJob{ID: "tomorrow", Delay: 24 * time.Hour})
		b.add(scripts.NewJob{ID: "now"})
		if n := b.promote(); n != 0 {
			t.Fatalf("promoted %d early", n)
		}
		s.Advance(1999 * time.Millisecond)
		if n := b.promote(); n != 1 {
			t.Fatalf("promoted %d, want the earlier one", n)
		}
		s.Advance(2 * time.Millisecond)
		if n := b.promote(); n != 20 {
			t.Fatalf("promoted %d, want 20", n)
		}
		want := []string{"earlier"}
		for i := range 20 {
			want = append(want, fmt.Sprintf("tie-%02d", i))
		}
		want = append(want, "now") // delayed before normal
		if diff := cmp.Diff(want, ids(b.take(100))); diff != "" {
			t.Errorf("order (-want +got):\n%s", diff)
		}
	})
}

func TestRetryDeathAndRevival(t *testing.T) {
	each(t, func(b *bench) {
		id := b.add(scripts.NewJob{})
		got := b.take(1)
		states, err := b.Fail(b.ctx(), []scripts.Verdict{{Lease: got[0].Lease, Retry: true, Kind: job.KindFailed, Error: "boom", Stack: "s"}})
		if err != nil || states[0] != job.Delayed {
			b.t.Fatal(states, err)
		}
		j := b.state(id, job.Delayed)
		if j.Attempts != 1 || j.LastError() != "boom" || j.Errors[0].Stack != "s" || j.Errors[0].Worker != "w1" {
			b.t.Errorf("job %+v", j)
		}
		for b.promote() == 0 {
		}
		got = b.take(1)
		if got[0].Job.Attempt() != 2 {
			b.t.Errorf("attempt %d, want 2", got[0].Job.Attempt())
		}
		states, _ = b.Fail(b.ctx(), []scripts.Verdict{{Lease: got[0].Lease, Reason: job.ReasonAttempts, Kind: job.KindPanic, Error: "again"}})
		if states[0] != job.Dead {
			b.t.Fatal(states)
		}
		j = b.state(id, job.Dead)
		if j.Reason != job.ReasonAttempts || j.Attempts != 2 || len(j.Errors) != 2 || j.Finished.IsZero() {
			b.t.Errorf("job %+v", j)
		}
		b.sum(scripts.Sum{Created: 1, Dead: 1})
		if st, err := b.Revive(b.ctx(), id); err != nil || st != job.Waiting {
			b.t.Fatal(st, err)
		}
		b.sum(scripts.Sum{Created: 1, Waiting: 1})
		j = b.state(id, job.Waiting)
		if j.Attempts != 0 || j.Lost != 0 || len(j.Errors) != 2 || j.Reason != "" {
			b.t.Errorf("revived job %+v", j)
		}
		b.complete(b.take(1)...)
		b.gone(id)
	})
}
