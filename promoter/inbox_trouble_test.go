package promoter_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/bide-go/bide/internal/redistest"
	"github.com/bide-go/bide/internal/timely"
	"github.com/bide-go/bide/job"
	"github.com/bide-go/bide/promoter"
	"github.com/bide-go/bide/scheduler"
	"github.com/bide-go/bide/worker"
)

// Three promoters drain a full inbox together: bounded batches, each job once, in
// the order of the scores.
func TestAFullInbox(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		n := 10_000
		if r.Mini != nil { // its Lua is slow
			n = 1000
		}
		ids := r.putMany(n, "job-")
		var calls, most atomic.Int64
		for range 3 {
			rdb := r.watched(inboxHook{adopt: func(args []any, call func() error) error {
				calls.Add(1)
				for entries := int64(len(args) / 7); ; {
					if was := most.Load(); was >= entries || most.CompareAndSwap(was, entries) {
						return call()
					}
				}
			}})
			r.run(promoter.New(rdb, promoter.Config{}).Run)
		}
		from := time.Now()
		r.drained()
		t.Logf("%d entries adopted in %v by %d calls", n, time.Since(from).Round(time.Millisecond), calls.Load())
		if most.Load() > 200 {
			t.Errorf("a call adopted %d entries, want at most 200", most.Load())
		}
		if s := r.sum(); s.Created != int64(n) || s.Waiting != int64(n) {
			t.Errorf("sum = %+v, want %d waiting", s, n)
		}
		r.sameOrder("lane", r.lane("medium"), ids)
	})
}

// Large entries make small batches.
func TestAnInboxOfLargeEntries(t *testing.T) {
	t.Parallel()
	r := newRig(t, redistest.NewReal(t))
	args := `"` + strings.Repeat("x", job.MaxArgs-2) + `"`
	for i := range 7 {
		r.put(strconv.Itoa(i), entry(fmt.Sprint("job-", i), args))
	}
	var most atomic.Int64
	rdb := r.watched(inboxHook{adopt: func(all []any, call func() error) error {
		size := int64(0)
		for i := 0; i < len(all); i += 7 {
			size += int64(len(all[i].(string)))
		}
		most.Store(max(most.Load(), size))
		return call()
	}})
	r.run(promoter.New(rdb, promoter.Config{}).Run)
	r.drained()
	if s := r.sum(); s.Waiting != 7 {
		t.Errorf("sum = %+v, want 7 waiting", s)
	}
	if got := most.Load(); got > 5<<20 {
		t.Errorf("a call adopted %d bytes, want at most 5 MiB", got)
	}
}

// While entries wait to be adopted, jobs that become due are promoted.
func TestAFullInboxDoesNotStopPromotion(t *testing.T) {
	t.Parallel()
	r := newRig(t, redistest.NewReal(t))
	r.putMany(20_000, "job-")
	if _, err := r.ExecuteLater(r.ctx(), "low", "any", nil, time.Millisecond, scheduler.WithID("due")); err != nil {
		t.Fatal(err)
	}
	time.Sleep(2 * time.Millisecond) // it is due now
	r.promote(1)
	var left int64
	r.eventually("promoted", func() bool {
		left = r.inInbox()
		j, err := r.Get(r.ctx(), "due")
		return err == nil && j.State == job.Waiting
	})
	if left < 15_000 {
		t.Errorf("the due job was promoted with %d entries left, want it before them", left)
	}
	r.drained()
}

// A client may take its entry back as long as it is in the inbox.
func TestInboxEntriesThatAreTakenBack(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		for i := range 10 {
			r.put("0", entry(fmt.Sprint("job-", i), "null"))
		}
		r.rdb.ZRem(r.ctx(), inbox, entry("job-3", "null"))
		// One goes between the read and the adoption.
		rdb := r.watched(inboxHook{read: func() { r.rdb.ZRem(r.ctx(), inbox, entry("job-7", "null")) }})
		r.run(promoter.New(rdb, promoter.Config{}).Run)
		r.drained()
		r.eventually("adopted", func() bool { return r.sum().Created == 8 })
		for _, id := range []string{"job-3", "job-7"} {
			if _, err := r.Get(r.ctx(), id); !errors.Is(err, job.ErrNotFound) {
				t.Errorf("%s: %v, want no job", id, err)
			}
		}
	})
}

// A promoter that dies between reading the inbox and adopting leaves the entries for
// the next one; one whose answer is lost has adopted them, once.
func TestAPromoterThatDiesWhileAdopting(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		for name, hook := range map[string]func(die context.CancelFunc) inboxHook{
			"after the read": func(die context.CancelFunc) inboxHook { return inboxHook{read: die} },
			"before the adoption": func(die context.CancelFunc) inboxHook {
				return inboxHook{adopt: func([]any, func() error) error { die(); return io.EOF }}
			},
			"after the adoption": func(die context.CancelFunc) inboxHook {
				return inboxHook{adopt: func(_ []any, call func() error) error {
					if err := call(); err != nil { // the script is not known yet
						return err
					}
					die()
					return io.EOF
				}}
			},
		} {
			created := r.sum().Created
			prefix := strings.ReplaceAll(name, " ", "-") + "-"
			ids := r.putMany(300, prefix)
			ctx, die := context.WithCancel(context.Background())
			if err := promoter.New(r.watched(hook(die)), promoter.Config{}).Run(ctx); err != nil {
				t.Fatal(err)
			}
			if left := r.inInbox(); left != 300 && left != 100 {
				t.Errorf("%s: %d entries are left, want 300, or 100 with a batch adopted", name, left)
			}
			end := r.run(promoter.New(r.Server.Client(), promoter.Config{}).Run)
			r.drained()
			end()
			if n := r.sum().Created - created; n != 300 {
				t.Errorf("%s: %d jobs were made, want 300", name, n)
			}
			r.sameOrder(name, r.lane("medium"), ids)
		}
	})
}

// The same without a death: the promoter goes on after a lost answer.
func TestAnAdoptionWhoseAnswerIsLost(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		ids := r.putMany(500, "job-")
		var n atomic.Int64
		rdb := r.watched(inboxHook{adopt: func(_ []any, call func() error) error {
			if err := call(); err != nil {
				return err
			}
			if n.Add(1)%2 == 1 {
				return io.EOF
			}
			return nil
		}})
		r.run(promoter.New(rdb, promoter.Config{}).Run)
		r.drained()
		r.sameOrder("lane", r.lane("medium"), ids)
	})
}

// With no memory left entries wait, and are adopted when there is some again.
// Jobs that are there already are promoted meanwhile.
func TestTheInboxOfAFullRedis(t *testing.T) {
	t.Parallel()
	r := newRig(t, redistest.NewReal(t))
	ids := r.putMany(300, "job-")
	r.put("0", "no job at all")
	r.many(5, "later-", func(i int) scheduler.Request {
		return scheduler.Request{Queue: "low", Delay: time.Duration(300+100*i) * time.Millisecond}
	})
	r.rdb.ConfigSet(r.ctx(), "maxmemory", "1")
	r.promote(2)
	r.eventually("the others are promoted", func() bool { s := r.sum(); return s.Delayed == 0 && s.Waiting == 5 })
	if n := r.inInbox(); n != 301 && n != 300 {
		t.Errorf("%d entries wait, want them all", n)
	}
	if s := r.sum(); s.Created != 5 {
		t.Errorf("sum = %+v, want no new job", s)
	}
	r.rdb.ConfigSet(r.ctx(), "maxmemory", "0")
	r.drained()
	r.sameOrder("lane", r.lane("medium"), ids)
	if len(r.rejections()) != 1 {
		t.Errorf("rejected: %v, want the one that is no job", r.rejections())
	}
}

// Something foreign under the keys of the inbox stops neither promotion nor, where
// it can go on, adoption.
func TestForeignThingsUnderTheKeysOfTheInbox(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		r.promote(2)
		promoted := func(id string) {
			t.Helper()
			if _, err := r.ExecuteLater(r.ctx(), "low", "any", nil, 50*time.Millisecond, scheduler.WithID(id)); err != nil {
				t.Fatal(err)
			}
			r.eventually(id+" is promoted", func() bool {
				j, err := r.Get(r.ctx(), id)
				return err == nil && j.State == job.Waiting
			})
		}
		r.rdb.Set(r.ctx(), inbox, "foreign", 0)
		promoted("beside-a-foreign-inbox")
		r.rdb.Del(r.ctx(), inbox)
		r.put("0", entry("adopted", "null"))
		r.drained()

		r.rdb.Set(r.ctx(), rejected, "foreign", 0)
		r.put("0", "no job")
		r.put("0", entry("adopted-too", "null"))
		promoted("beside-foreign-rejections")
		r.eventually("adopted", func() bool { _, err := r.Get(r.ctx(), "adopted-too"); return err == nil })
		if got := r.rdb.Get(r.ctx(), rejected).Val(); got != "foreign" {
			t.Errorf("what stood under the key of the rejected is now %q", got)
		}
		r.rdb.Del(r.ctx(), rejected)
		if s := r.sum(); s.Created != 4 {
			t.Errorf("sum = %+v, want 4", s)
		}
	})
}

// anyHandler is a registry in which h handles the jobs called any.
func anyHandler(h worker.Handler) *worker.Registry {
	reg := worker.NewRegistry()
	reg.Handle("any", h)
	return reg
}

// While the inbox cannot be adopted from, jobs that are there are promoted as
// promptly as ever.
func TestAStuckInboxMakesNoJobLate(t *testing.T) {
	t.Parallel()
	r := newRig(t, redistest.NewReal(t))
	r.putMany(10, "job-")
	rdb := r.watched(inboxHook{adopt: func([]any, func() error) error { return errors.New("OOM") }})
	p := promoter.New(rdb, promoter.Config{})
	r.run(p.Run)
	r.eventually("a pass", func() bool { return !p.LastPass().IsZero() })
	time.Sleep(2 * time.Second) // the back-off has grown by then
	var late []time.Duration
	for i := range 7 {
		id := fmt.Sprint("late-", i)
		due := r.now().Add(150 * time.Millisecond).Truncate(time.Millisecond)
		if _, err := r.ExecuteAt(r.ctx(), "low", "any", nil, due, scheduler.WithID(id)); err != nil {
			t.Fatal(err)
		}
		time.Sleep(70 * time.Millisecond) // its wake-up call is over
		r.eventually("promoted", func() bool { return r.sum().Delayed == 0 })
		late = append(late, r.now().Sub(due))
	}
	slices.Sort(late)
	if late[len(late)/2] > timely.Limit(100*time.Millisecond) {
		t.Errorf("jobs were late by %v", late)
	}
	r.rdb.Del(r.ctx(), inbox)
}
