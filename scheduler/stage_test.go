package scheduler

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/bide-go/bide/job"
	"github.com/bide-go/bide/scripts"
)

// stage is a rig whose clock runs in steps, with a scheduler, a promoter and a worker
// of many slots whose handlers take their time.
type stage struct {
	*rig
	sched    *copyOf
	length   time.Duration // how long a handler takes
	stubborn bool          // it does not heed that it was cancelled
	open     []*running
	begun    []string // ids, in the order in which they began
	at       map[string]time.Time
	ends     map[string]job.State // as the worker was told
	most     int                  // that ran at once
}

type running struct {
	scripts.Leased
	began time.Time
}

func newStage(t testing.TB, d Definition, length time.Duration) *stage {
	r := mini(t)
	s := &stage{rig: r, sched: r.scheduler("a"), length: length, at: map[string]time.Time{}, ends: map[string]job.State{}}
	s.sched.apply(d)
	return s
}

// moment lets what is due happen, without any time passing.
func (s *stage) moment() {
	s.t.Helper()
	ctx := context.Background()
	for range 300 {
		did := s.promote()
		s.open = slices.DeleteFunc(s.open, func(r *running) bool {
			renewed, err := s.set.Renew(ctx, time.Minute, []scripts.Lease{r.Lease})
			if err != nil {
				s.t.Fatal(err)
			}
			switch {
			case renewed[0] == scripts.RenewalStale:
				s.ends[r.Job.ID] = scripts.Stale
				return true
			case renewed[0] == scripts.CancelAsked && !s.stubborn:
				states, err := s.set.Fail(ctx, []scripts.Verdict{{Lease: r.Lease, Retry: true, Kind: job.KindFailed, Error: "cancelled"}})
				if err != nil {
					s.t.Fatal(err)
				}
				s.ends[r.Job.ID] = states[0]
			case s.clock.Sub(r.began) >= s.length:
				if _, err := s.set.Complete(ctx, []scripts.Lease{r.Lease}); err != nil {
					s.t.Fatal(err)
				}
				s.ends[r.Job.ID] = job.Completed
			default:
				return false
			}
			did++
			return true
		})
		for _, l := range s.take() {
			did++
			s.open = append(s.open, &running{l, s.clock})
			s.begun = append(s.begun, l.Job.ID)
			s.at[l.Job.ID] = s.clock
		}
		s.most = max(s.most, len(s.open))
		if did == 0 {
			return
		}
	}
	s.t.Fatal("it never comes to rest")
}

// take leases all that waits.
func (r *rig) take() []scripts.Leased {
	r.t.Helper()
	r.taken++
	got, err := r.set.Reserve(context.Background(), scripts.ReserveArgs{
		Token: "w:" + time.Duration(r.taken).String(), Lease: time.Minute, Limit: 500, Names: []string{"tick"},
		Offers: []scripts.Offer{{Queue: "medium", Slots: 500}},
	})
	if err != nil {
		r.t.Fatal(err)
	}
	return got.Jobs
}

// play lets time pass until an instant, with the scheduler at work.
func (s *stage) play(until time.Time) {
	s.t.Helper()
	for s.clock.Before(until) {
		s.after(250 * time.Millisecond)
		if s.clock.Equal(s.clock.Truncate(time.Second)) {
			s.sched.step()
		}
		s.moment()
	}
}

// count reads one counter of the schedule.
func (s *stage) count(field string) int { return int(scripts.Millis(s.field("s", field))) }

// history lists the records of the schedule by their reason or, without one, outcome.
func (s *stage) history() map[string][]time.Time {
	s.t.Helper()
	page, err := NewManager(s.rdb, "", "test").History(context.Background(), "s", HistoryFilter{Limit: 1000})
	if err != nil {
		s.t.Fatal(err)
	}
	all := map[string][]time.Time{}
	for _, r := range page.Runs {
		key := string(r.Reason)
		if key == "" {
			key = string(r.Outcome)
		}
		all[key] = append(all[key], r.Tick)
	}
	for _, list := range all {
		slices.SortFunc(list, time.Time.Compare)
	}
	return all
}

func seconds(list ...int) []time.Time {
	var all []time.Time
	for _, s := range list {
		all = append(all, sec(s))
	}
	return all
}

// zAt is an entry of the active set whose lease has run out.
func zAt(id string) redis.Z { return redis.Z{Score: 1, Member: id} }
