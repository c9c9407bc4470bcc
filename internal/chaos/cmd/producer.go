package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/bide-go/bide/internal/chaos"
	"github.com/bide-go/bide/job"
	"github.com/bide-go/bide/scheduler"
)

// hands of a producer: so many calls are under way at a time.
const calls = 4

// maker creates jobs, and writes down each before it is sent and after it is answered.
type maker struct {
	c      *child
	plain  redis.UniversalClient // what it is told is sent once
	client *scheduler.Client
	rec    *chaos.Recorder
	n      atomic.Int64
}

func (c *child) produce(ctx context.Context, rdb, plain redis.UniversalClient, rec *chaos.Recorder) {
	m := &maker{c: c, plain: plain, client: scheduler.NewClient(rdb), rec: rec}
	var group sync.WaitGroup
	loop := func(i int, every time.Duration, f func(context.Context, *rand.Rand)) {
		if every <= 0 {
			return
		}
		group.Go(func() {
			rng := rand.New(rand.NewPCG(uint64(c.Seed), uint64(i)))
			ticker := time.NewTicker(every)
			defer ticker.Stop()
			for {
				select {
				case <-ticker.C:
					f(ctx, rng)
				case <-ctx.Done():
					return
				}
			}
		})
	}
	if c.Rate > 0 {
		for i := range calls {
			loop(i, calls*time.Second/time.Duration(c.Rate), m.one)
		}
	}
	if c.Ordered {
		loop(calls, 60*time.Millisecond, m.ordered)
	}
	if c.Bulk > 0 {
		loop(calls+1, bulkBatch*time.Second/time.Duration(c.Bulk), m.bulk)
	}
	group.Wait()
}

func (m *maker) id() string { return fmt.Sprintf("%s-%d", m.c.Proc, m.n.Add(1)) }

func ms(n int) time.Duration { return time.Duration(n) * time.Millisecond }

// delayed is a delay: mostly short, sometimes none.
func delayed(rng *rand.Rand) time.Duration {
	if rng.IntN(10) < 3 {
		return 0
	}
	return ms(1 + rng.IntN(30)*rng.IntN(100))
}

// describe makes up a task.
func describe(rng *rand.Rand) task {
	t := task{}
	switch n := rng.IntN(100); {
	case n < 60:
	case n < 85:
		t.Work = rng.IntN(100)
	case n < 95:
		t.Work = rng.IntN(1500)
	default:
		t.Work = 2500 + rng.IntN(2000) // longer than a lease
	}
	switch n := rng.IntN(100); {
	case n < 8:
		t.Fail = 1 + rng.IntN(2)
	case n < 10:
		t.Fail, t.Permanent = 1+rng.IntN(2), true
	case n < 13:
		t.Stubborn = 300
	}
	return t
}

// one creates a job, or a few, by one of the ways there are.
func (m *maker) one(ctx context.Context, rng *rand.Rand) {
	switch n := rng.IntN(100); {
	case n < 2:
		m.bad(ctx, rng)
	case n < 8:
		m.inbox(ctx, rng)
	case n < 14:
		var list []scheduler.Request
		var ids []string
		keep := rng.IntN(100) < 85
		for range 2 + rng.IntN(8) {
			id, r := m.request(rng, keep)
			list, ids = append(list, r), append(ids, id)
		}
		m.send(ctx, rng, keep, ids, list)
	default:
		keep := rng.IntN(100) < 85
		id, r := m.request(rng, keep)
		if m.send(ctx, rng, keep, []string{id}, []scheduler.Request{r}) && r.Delay > ms(500) && rng.IntN(10) == 0 {
			m.cancel(ctx, id)
		}
	}
}

var queues = []string{"high", "medium", "low"}

// kept is a retention that outlasts the run.
const kept = 3 * time.Hour

func (m *maker) request(rng *rand.Rand, keep bool) (string, scheduler.Request) {
	id := m.id()
	r := scheduler.Request{Queue: queues[rng.IntN(3)], Name: "act", Args: describe(rng), Delay: delayed(rng)}
	r.Options = []scheduler.Option{scheduler.WithID(id), scheduler.WithBackoff(ms(50), ms(500)), scheduler.WithMaxAttempts(5)}
	if keep {
		r.Options = append(r.Options, scheduler.WithRetention(kept))
	}
	m.rec.Note(chaos.Event{Kind: chaos.Sent, ID: id, Queue: r.Queue, Due: time.Now().Add(r.Delay).UnixMilli(), Kept: keep})
	return id, r
}

// send creates jobs that have been written down, and goes on with the same ids when
// it does not know whether they are there. Those that are not kept may have run and
// gone by then: created again they would run again. It reports whether all are there.
func (m *maker) send(ctx context.Context, rng *rand.Rand, keep bool, ids []string, list []scheduler.Request) bool {
	patient := rng.IntN(10) < 8
	for try := 0; ; try++ {
		call, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		results, err := m.client.ExecuteMany(call, list)
		cancel()
		if err == nil {
			for i, r := range results {
				if r.Err != nil {
					m.rec.Note(chaos.Event{Kind: chaos.Refused, ID: ids[i], Err: r.Err.Error()})
					continue
				}
				m.rec.Note(chaos.Event{Kind: chaos.Acked, ID: r.ID, Due: r.Due.UnixMilli(), Repeated: r.Deduplicated})
			}
			return true
		}
		kind := chaos.Refused
		if errors.Is(err, job.ErrOutcomeUnknown) {
			kind = chaos.Unknown
		}
		for _, id := range ids {
			m.rec.Note(chaos.Event{Kind: kind, ID: id, Err: err.Error()})
		}
		if kind == chaos.Unknown && !keep || !patient || try > 30 || ctx.Err() != nil {
			return false
		}
		time.Sleep(ms(50 + rng.IntN(200)))
		for i, id := range ids {
			m.rec.Note(chaos.Event{Kind: chaos.Sent, ID: id, Queue: list[i].Queue, Repeated: true})
		}
	}
}

// inbox creates a job as any Redis client does. Nothing is kept of it when it has ended,
// so a ZADD that a driver sends again by itself might make it a second time.
func (m *maker) inbox(ctx context.Context, rng *rand.Rand) {
	id, t, delay := m.id(), describe(rng), delayed(rng)
	t.Fail = 0 // the default back-off is longer than the run
	due := time.Now().Add(delay).UnixMilli()
	args, _ := json.Marshal(t)
	m.rec.Note(chaos.Event{Kind: chaos.Sent, ID: id, Queue: "medium", Due: due})
	call, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancel()
	err := m.plain.ZAdd(call, "{bide}:inbox", redis.Z{Score: float64(due) / 1000, Member: fmt.Sprintf(`[%q,"medium","act",%s]`, id, args)}).Err()
	if err != nil {
		m.rec.Note(chaos.Event{Kind: chaos.Unknown, ID: id, Err: err.Error()})
		return
	}
	m.rec.Note(chaos.Event{Kind: chaos.Acked, ID: id, Due: due})
}

func (m *maker) cancel(ctx context.Context, id string) {
	call, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancel()
	m.rec.Note(chaos.Event{Kind: chaos.Asked, ID: id})
	if j, err := m.client.Cancel(call, id); err == nil {
		m.rec.Note(chaos.Event{Kind: chaos.Cancelled, ID: id, State: string(j.State)})
	}
}

// ordered feeds the queue that one slot serves, one job after the other.
func (m *maker) ordered(ctx context.Context, rng *rand.Rand) {
	id := m.id()
	r := scheduler.Request{Queue: chaos.OrderedQueue, Name: "act", Args: task{}, Delay: ms(1 + rng.IntN(400))}
	r.Options = []scheduler.Option{scheduler.WithID(id), scheduler.WithRetention(kept)}
	m.rec.Note(chaos.Event{Kind: chaos.Sent, ID: id, Queue: r.Queue, Due: time.Now().Add(r.Delay).UnixMilli(), Kept: true})
	m.send(ctx, rng, true, []string{id}, []scheduler.Request{r})
}

// bulkBatch is how many bulk jobs are created at a time.
const bulkBatch = 100

// bulk creates many jobs at once and writes down their range.
func (m *maker) bulk(ctx context.Context, rng *rand.Rand) {
	to := m.n.Add(bulkBatch)
	var list []scheduler.Request
	for n := to - bulkBatch + 1; n <= to; n++ {
		r := scheduler.Request{Queue: queues[rng.IntN(3)], Name: "bulk", Options: []scheduler.Option{scheduler.WithID(chaos.BulkID(m.c.Proc, n))}}
		if n%2 == 0 {
			r.Delay = ms(1 + rng.IntN(5000))
		}
		list = append(list, r)
	}
	for try := 0; try < 30 && (try == 0 || ctx.Err() == nil); try++ {
		call, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
		_, err := m.client.ExecuteMany(call, list)
		cancel()
		if err == nil {
			m.rec.Note(chaos.Event{Kind: chaos.Bulk, From: to - bulkBatch + 1, To: to})
			return
		}
		if errors.Is(err, job.ErrOutcomeUnknown) {
			// They may have run already, and nothing is kept of them: created again
			// they would run again.
			return
		}
		time.Sleep(ms(100))
	}
}
