package bigtest

import (
	"context"
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/bide-go/bide/internal/redistest"
	"github.com/bide-go/bide/job"
	"github.com/bide-go/bide/scripts"
)

// slowAfter is how long Redis may be held by one call.
const slowAfter = 50 * time.Millisecond

// lane is a long lane and the clocks over what is done to it.
type lane struct {
	t   *testing.T
	ctx context.Context
	rdb *redis.Client
	*meter
	*scripts.Set
}

// quick fails the test if a call of f holds Redis for longer than slowAfter, by its
// SLOWLOG. On a busy machine that catches calls that only waited for the processor,
// so f is asked to do its work a second time, and what the longest call cost the
// processor counts as well.
func (l *lane) quick(what string, f func(again bool)) {
	l.t.Helper()
	var first []time.Duration
	for _, again := range []bool{false, true} {
		must(l.t, l.rdb.Do(l.ctx, "SLOWLOG", "RESET").Err())
		l.most = 0
		f(again)
		slow := l.slow()
		switch {
		case len(slow) == 0:
			l.t.Logf("%s: at most %v of the processor a call", what, l.most.Round(time.Microsecond))
			return
		case !again:
			first = slow
		case l.most < slowAfter:
			l.t.Logf("%s: held Redis for %v and for %v on a busy machine; at most %v of the processor a call", what, first, slow, l.most)
		default:
			l.t.Errorf("%s: held Redis for %v, and again for %v; %v of the processor a call, want less than %v", what, first, slow, l.most, slowAfter)
		}
	}
}

// slow lists how long the slow calls took.
func (l *lane) slow() []time.Duration {
	l.t.Helper()
	log, err := l.rdb.SlowLogGet(l.ctx, -1).Result()
	must(l.t, err)
	var took []time.Duration
	for _, entry := range log {
		took = append(took, entry.Duration)
	}
	return took
}

// No call holds Redis for long, however many jobs wait in a lane.
func TestALaneOfAMillionJobs(t *testing.T) {
	jobs := 1_000_000
	if racing {
		jobs = 50_000
		t.Logf("%d jobs only: the race detector watches", jobs)
	}
	if testing.Short() {
		t.Skip("left out of a short run")
	}
	s := redistest.NewReal(t, "--save", "", "--appendonly", "no", "--slowlog-log-slower-than", strconv.FormatInt(slowAfter.Microseconds(), 10))
	l := &lane{t: t, ctx: context.Background(), rdb: s.Client(), meter: &meter{side: s.Client()}}
	l.Set = newSet(t, l.rdb)

	// Every 2,500th job is late at once, and every 1,000th has a unique key and a
	// retention.
	start := time.Now()
	seed(t, l.Set, 0, jobs, func(i int) scripts.NewJob {
		n := scripts.NewJob{Queue: "big"}
		switch {
		case i%2500 == 1:
			n.ExpiryIn = time.Millisecond
		case i%1000 == 2:
			n.Unique, n.Retention = id(i), time.Hour
		}
		return n
	})
	t.Logf("%d jobs made in %v", jobs, time.Since(start).Round(time.Millisecond))

	l.rdb.AddHook(l.meter)

	// Reading.
	for name, f := range map[string]func(){
		"stats": func() {
			st, err := l.Stats(l.ctx)
			must(t, err)
			if len(st.Queues) != 1 || st.Queues[0].Waiting != int64(jobs) {
				t.Errorf("stats: %+v", st.Queues)
			}
		},
		"audit": func() {
			sum, err := l.Audit(l.ctx)
			must(t, err)
			if sum.Gap() != 0 || sum.Waiting != int64(jobs) {
				t.Errorf("audit: %+v", sum)
			}
		},
		"survey": func() {
			counts, err := l.Survey(l.ctx, "big")
			must(t, err)
			if len(counts) != 1 || counts[0].Name != "test" || counts[0].Jobs != 1000 {
				t.Errorf("survey: %+v", counts)
			}
			_, err = l.Survey(l.ctx, "")
			must(t, err)
		},
		"inspect": func() {
			for _, i := range []int{0, jobs / 2, jobs - 1} {
				j, err := l.Inspect(l.ctx, id(i))
				must(t, err)
				if j.State != job.Waiting {
					t.Errorf("%s is %s", j.ID, j.State)
				}
			}
		},
		"pages in the middle": func() {
			after := strconv.Itoa(jobs / 2)
			for range 10 {
				page, next, looked, err := l.List(l.ctx, scripts.Page{Place: "lane", Lane: "big", After: after, Look: 1000, Want: 1000})
				must(t, err)
				if len(page) != 1000 || looked != 1000 {
					t.Fatalf("a page behind %s: %d jobs of %d, next %q", after, len(page), looked, next)
				}
				after = next
			}
			// A filter that nothing passes.
			_, _, looked, err := l.List(l.ctx, scripts.Page{Place: "lane", Lane: "big", After: after, Look: 1000, Want: 50, Name: "other"})
			must(t, err)
			if looked != 1000 {
				t.Errorf("looked at %d", looked)
			}
		},
		"a look for orphans": func() {
			o, err := l.FindOrphans(l.ctx, 20_000)
			must(t, err)
			if len(o.Found) != 0 {
				t.Errorf("orphans: %+v", o.Found[:min(len(o.Found), 10)])
			}
		},
	} {
		l.quick(name, func(bool) { f() })
	}

	// Working at the front.
	l.quick("reserve, release and complete", func(again bool) {
		for i := range 4 {
			r, err := l.Reserve(l.ctx, scripts.ReserveArgs{
				Token: fmt.Sprintf("w%v:%d", again, i), Lease: time.Minute, Limit: scripts.ReserveJobs, Names: []string{"test"},
				Offers: []scripts.Offer{{Queue: "big", Slots: scripts.ReserveJobs}},
			})
			must(t, err)
			var leases []scripts.Lease
			for _, x := range r.Jobs {
				leases = append(leases, x.Lease)
			}
			if len(leases) < scripts.ReserveJobs-10 {
				t.Fatalf("took %d", len(leases))
			}
			_, err = l.Release(l.ctx, leases[:200])
			must(t, err)
			_, err = l.Complete(l.ctx, leases[200:])
			must(t, err)
		}
	})

	// Cancelling leaves ghosts in a lane this long.
	cancelled := 0
	l.quick("cancel", func(again bool) {
		shift := 10
		if again {
			shift = 20
		}
		for _, at := range []int{jobs - 1000, jobs / 2, jobs / 4} { // the ghosts at the end come first when they are swept
			for i := range 10 {
				state, err := l.Cancel(l.ctx, id(at+i*25+shift))
				must(t, err)
				if state != job.Cancelled {
					t.Errorf("cancel: %s", state)
				}
				cancelled++
			}
		}
	})
	expired := 0
	l.quick("the expiry sweep", func(bool) {
		n, _, err := l.Expire(l.ctx, 200)
		must(t, err)
		expired += n
	})
	for more := true; more; {
		var n int
		var err error
		n, more, err = l.Expire(l.ctx, 200)
		must(t, err)
		expired += n
	}
	if want := jobs/2500 - 2; expired < want { // some were taken above
		t.Errorf("%d expired, want at least %d", expired, want)
	}
	sweep := func(bool) {
		_, err := l.Trim(l.ctx, 200, time.Hour, 100_000)
		must(t, err)
	}
	l.quick("the sweep of ghosts in a lane too long to walk", sweep)

	// Clearing, and where the lane has become short enough to be walked, sweeping.
	length := func() int {
		n, err := l.rdb.LLen(l.ctx, "{bide}:queue:big").Result()
		must(t, err)
		return int(n)
	}
	clearTo := func(left int) {
		for length() > left {
			_, _, err := l.ClearQueue(l.ctx, "big", 1000)
			must(t, err)
		}
	}
	l.quick("clear, a thousand a call", func(again bool) {
		if again {
			clearTo(jobs * 3 / 5)
		} else {
			clearTo(jobs * 4 / 5)
		}
	})
	clearTo(jobs / 2)
	l.quick("the sweep of ghosts in a lane that is walked", sweep)
	l.quick("stats and audit over ghosts", func(bool) {
		_, err := l.Stats(l.ctx)
		must(t, err)
		sum, err := l.Audit(l.ctx)
		must(t, err)
		if sum.Gap() != 0 {
			t.Errorf("audit: gap %d: %+v", sum.Gap(), sum)
		}
	})
	l.quick("clear", func(again bool) {
		if again {
			clearTo(0)
		} else {
			clearTo(jobs / 4)
		}
	})
	clearTo(0)
	sum, err := l.Audit(l.ctx)
	must(t, err)
	if sum.Gap() != 0 || sum.Waiting != 0 || sum.Created != int64(jobs) || sum.Expired < int64(expired) || sum.Cancelled < int64(cancelled) {
		t.Errorf("in the end: %+v", sum)
	}
	if left := l.rdb.HLen(l.ctx, "{bide}:ghosts").Val(); left != 0 {
		t.Errorf("%d ghosts are left of an empty lane", left)
	}
	t.Logf("all in %v", time.Since(start).Round(time.Millisecond))
}
