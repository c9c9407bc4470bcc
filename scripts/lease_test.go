package scripts_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/bide-go/bide/job"
	"github.com/bide-go/bide/scripts"
)

// A worker that lost its lease changes nothing any more, whoever has the job now.
func TestAStaleLeaseChangesNothing(t *testing.T) {
	each(t, func(b *bench) {
		b.add(scripts.NewJob{ID: "a", Retention: time.Hour})
		old := b.take(1)[0]
		places := []func(){
			func() { subject{b: b, id: "a"}.lapse(); b.reapAll(5) }, // waiting
			func() { b.take(1) }, // the same process again
			func() { subject{b: b, id: "a"}.lapse(); b.reapAll(5); b.takeAs("w2", 1, time.Hour, "test") }, // another one
			func() { subject{b: b, id: "a"}.lapse(); b.reapAll(1) },                                       // dead
		}
		for i, move := range places {
			move()
			for _, l := range []scripts.Lease{old.Lease, {ID: "a", Token: "w1"}, {ID: "a", Token: "w1:"}, {ID: "a", Token: ""}, {ID: "none", Token: old.Lease.Token}} {
				before := b.dump()
				stale, err := b.Complete(b.ctx(), []scripts.Lease{l})
				b.must(err)
				b.same("complete", []string{l.ID}, stale)
				states, err := b.Fail(b.ctx(), []scripts.Verdict{{Lease: l, Retry: true}, {Lease: l, Reason: job.ReasonAttempts}})
				b.must(err)
				b.same("fail", []job.State{scripts.Stale, scripts.Stale}, states)
				states, err = b.Release(b.ctx(), []scripts.Lease{l})
				b.must(err)
				b.same("release", []job.State{scripts.Stale}, states)
				renewals, err := b.Renew(b.ctx(), time.Hour, []scripts.Lease{l})
				b.must(err)
				b.same("renew", []scripts.Renewal{scripts.RenewalStale}, renewals)
				b.same(fmt.Sprintf("keyspace at place %d", i), before, b.dump())
			}
		}
	})
}

func (b *bench) reapAll(most int) []scripts.Reaped {
	b.t.Helper()
	reaped, _, _, err := b.Reap(b.ctx(), b.now(), 500, most)
	b.must(err)
	return reaped
}

func TestTheSameProcessLeasesAJobAgain(t *testing.T) {
	each(t, func(b *bench) {
		b.add(scripts.NewJob{ID: "a"})
		first := b.takeAs("w1", 1, time.Millisecond, "test").Jobs
		b.pass(3 * time.Millisecond)
		b.same("reaped", []scripts.Reaped{{ID: "a", State: job.Waiting}}, b.reapAll(5))
		second := b.take(1)
		if len(second) != 1 || second[0].Job.Lost != 1 || second[0].Job.Attempt() != 1 {
			b.t.Fatalf("%+v", second)
		}
		b.same("first is stale", []string{"a"}, b.complete(first...))
		b.state("a", job.Active)
		b.same("second is not", []string(nil), b.complete(second...))
	})
}

// A lease is reaped only after its end, and a renewal moves that.
func TestReapTakesOnlyWhatHasExpired(t *testing.T) {
	onMini(t, func(b *bench) {
		b.add(scripts.NewJob{ID: "a"})
		got := b.takeAs("w1", 1, time.Second, "test").Jobs
		b.pass(time.Second)
		b.same("at its end", 0, len(b.reapAll(5)))
		_, err := b.Renew(b.ctx(), time.Second, leasesOf(got))
		b.must(err)
		b.pass(time.Second)
		b.same("renewed", 0, len(b.reapAll(5)))
		earlier, _, _, err := b.Reap(b.ctx(), b.now().Add(-time.Hour), 500, 5)
		b.must(err)
		b.same("expired since the pass before", 0, len(earlier))
		b.pass(time.Millisecond)
		b.same("expired", []scripts.Reaped{{ID: "a", State: job.Waiting}}, b.reapAll(5))
	})
}

func TestTooManyLostLeasesKill(t *testing.T) {
	each(t, func(b *bench) {
		b.add(scripts.NewJob{ID: "a"})
		for i := 1; i <= 3; i++ {
			got := b.take(1)
			b.same("lost so far", i-1, got[0].Job.Lost)
			subject{b: b, id: "a"}.lapse()
			b.reapAll(3)
		}
		j := b.state("a", job.Dead)
		if j.Reason != job.ReasonLost || j.Lost != 3 || j.Attempts != 0 || len(j.Errors) != 3 || j.Errors[0].Kind != job.KindLost || j.Errors[0].Worker != "w1" {
			b.t.Errorf("%+v", j)
		}
	})
}

// What was asked to cancel never comes back.
func TestACancelMarkSurvivesEveryExit(t *testing.T) {
	exits := []struct {
		name string
		exit func(b *bench, l scripts.Leased)
		want job.State
	}{
		{"success", func(b *bench, l scripts.Leased) { b.complete(l) }, job.Completed},
		{"failure", func(b *bench, l scripts.Leased) { b.same("fail", job.Cancelled, b.fail(l, "", 0)) }, job.Cancelled},
		{"death", func(b *bench, l scripts.Leased) {
			b.same("fail", job.Cancelled, b.fail(l, job.ReasonAttempts, 0))
		}, job.Cancelled},
		{"reap", func(b *bench, l scripts.Leased) { subject{b: b, id: l.Job.ID}.lapse(); b.reapAll(1) }, job.Cancelled},
		{"release", func(b *bench, l scripts.Leased) {
			states, err := b.Release(b.ctx(), []scripts.Lease{l.Lease})
			b.must(err)
			b.same("release", []job.State{job.Cancelled}, states)
		}, job.Cancelled},
	}
	each(t, func(b *bench) {
		for _, retention := range []time.Duration{0, time.Hour} {
			for _, x := range exits {
				b.flush()
				b.add(scripts.NewJob{ID: "a", Retention: retention, Unique: "u"})
				l := b.take(1)[0]
				for range 2 {
					state, err := b.Cancel(b.ctx(), "a")
					b.must(err)
					b.same("cancel", job.Active, state)
				}
				b.same("marked", true, b.state("a", job.Active).CancelRequested)
				b.same("calls to the worker", int64(1), b.raw().LLen(b.ctx(), scripts.Key("wake_worker")+"w1").Val())
				renewals, err := b.Renew(b.ctx(), time.Minute, []scripts.Lease{l.Lease})
				b.must(err)
				b.same("renewal", []scripts.Renewal{scripts.CancelAsked}, renewals)
				x.exit(b, l)
				if retention > 0 {
					b.state("a", x.want)
				} else {
					b.gone("a")
				}
				end, err := b.FindEnd(b.ctx(), "a")
				b.must(err)
				b.same(x.name+" event", x.want, end.State)
				if x.want == job.Cancelled {
					b.same(x.name+" reason", job.ReasonRequest, end.Reason)
				}
				b.same("unique key freed", int64(0), b.raw().Exists(b.ctx(), scripts.Key("unique")+"u").Val())
				b.gap0()
			}
		}
	})
}

// What is given back or was lost goes to the front, in the order it had.
func TestGivenBackInOrder(t *testing.T) {
	each(t, func(b *bench) {
		b.addAll(batch(6, scripts.NewJob{Delay: time.Millisecond}))
		b.pass(3 * time.Millisecond)
		b.promote()
		got := b.take(4)
		_, err := b.Release(b.ctx(), leasesOf(got[1:]))
		b.must(err)
		b.same("lane after release", []string{"0001", "0002", "0003", "0004", "0005"}, b.lane("medium-delayed"))
		got = b.takeAs("w1", 2, time.Millisecond, "test").Jobs
		b.pass(3 * time.Millisecond)
		b.same("reaped", 2, len(b.reapAll(5)))
		b.same("lane after reap", []string{"0001", "0002", "0003", "0004", "0005"}, b.lane("medium-delayed"))
		j := b.take(1)[0].Job
		if j.Attempts != 0 || j.Lost != 1 {
			b.t.Errorf("given back and lost: %+v", j)
		}
		b.same("old leases", 2, len(b.complete(got...)))
		for _, wake := range []string{"medium"} {
			b.same("wake-up call", int64(1), b.raw().LLen(b.ctx(), scripts.Key("wake")+wake).Val())
		}
	})
}

func TestRecoverFindsWhatANonceLeased(t *testing.T) {
	each(t, func(b *bench) {
		b.addAll(batch(3, scripts.NewJob{Args: []byte(`{"n":1}`)}))
		first := b.take(1)[0]
		b.fail(first, "", 0)
		for b.promote() == 0 {
		}
		b.take(1) // another nonce of the same process
		token := fmt.Sprintf("w1:%d", b.seq+1)
		got := b.take(9)
		found, err := b.Recover(b.ctx(), token, time.Minute)
		b.must(err)
		b.same("found", len(got), len(found))
		for _, l := range found {
			if l.Lease.Token != token || l.Err != nil || string(l.Job.Args) != `{"n":1}` {
				b.t.Errorf("%+v", l)
			}
		}
		for _, none := range []string{"w1:none", "w", "", "w1"} {
			found, err := b.Recover(b.ctx(), none, time.Minute)
			b.must(err)
			b.same("found for "+none, 0, len(found))
		}
		b.complete(found...)
		b.same("active", int64(1), b.gap0().Active)
	})
}

// Redis keeps many leases in no order. What a reserve leased is found in that of the
// lanes all the same: what was due by due time, then the others by arrival.
func TestRecoverKeepsTheOrderOfTheLanes(t *testing.T) {
	each(t, func(b *bench) {
		const n = 60
		for i := range n {
			j := scripts.NewJob{ID: fmt.Sprintf("j%02d", i)}
			if i%3 > 0 {
				j.Delay = time.Duration(1+i*37%23) * time.Millisecond
			}
			b.add(j)
		}
		for promoted := 0; promoted < n-n/3; {
			promoted += b.promote()
		}
		token := fmt.Sprintf("w1:%d", b.seq+1)
		got := b.take(n)
		found, err := b.Recover(b.ctx(), token, time.Minute)
		b.must(err)
		b.same("jobs", n, len(got))
		b.same("order", ids(got), ids(found))
	})
}

// A reserve can be slow on its way: its process has given up on it, has asked what
// it leased, and Redis comes to it only then. It leases nothing, since nobody would
// know; later ones of the process do, and those of others.
func TestAReserveThatComesAfterItsRecovery(t *testing.T) {
	each(t, func(b *bench) {
		reserve := func(token string) []scripts.Leased {
			b.t.Helper()
			r, err := b.Reserve(b.ctx(), scripts.ReserveArgs{Token: token, Lease: time.Minute, Limit: 1, Names: []string{"test"},
				Offers: []scripts.Offer{{"medium", 1}}})
			b.must(err)
			return r.Jobs
		}
		for i := range 4 {
			b.add(scripts.NewJob{ID: fmt.Sprint("a", i)})
		}
		for _, token := range []string{"w1:7", "w1:3"} { // in no order
			found, err := b.Recover(b.ctx(), token, time.Minute)
			b.must(err)
			b.same("found", 0, len(found))
		}
		for _, late := range []string{"w1:7", "w1:3", "w1:6"} {
			b.same("leased by "+late, 0, len(reserve(late)))
		}
		for _, other := range []string{"w1:8", "w1:10", "w11:1", "w2:7"} {
			b.same("leased by "+other, 1, len(reserve(other)))
		}
	})
}
