package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/bide-go/bide/internal/chaos"
	"github.com/bide-go/bide/scripts"
)

// The workers' settings: a lease as short as a busy machine allows, so that many are
// lost in a minute.
const (
	lease = chaos.Lease
	grace = 3 * time.Second
)

// harness is one run.
type harness struct {
	duration   time.Duration
	seed       int64
	kind       string
	mild, keep bool
	only       string // faults, by name, with commas between
	pace       time.Duration
	rate, bulk int
	bide, self string

	dir   string
	tb    *tb
	rec   *chaos.Recorder
	store *store
	set   *scripts.Set
	slots []*slot // those that faults are aimed at
	began time.Time
	over  chan struct{} // closed when the faults are to end

	redisBusy atomic.Bool // with a fault of the whole

	faults atomic.Int64
	audits atomic.Int64
	gap    atomic.Int64
	jobs   atomic.Int64

	stalled atomic.Int64 // ns by which this process was woken late, at worst
	synced  atomic.Int64 // Unix ns when the replica last had everything

	records sync.Map // ids of runs in the schedules' histories that have been looked at

	mu     sync.Mutex
	rng    *rand.Rand
	counts map[string]int
}

// roll draws a number below n.
func (h *harness) roll(n int) int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.rng.IntN(n)
}

func (h *harness) count(what string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.counts[what]++
}

func (h *harness) run() (code int, err error) {
	redis.SetLogger(silent{})
	h.rng = rand.New(rand.NewPCG(uint64(h.seed), 1))
	h.counts = map[string]int{}
	h.over = make(chan struct{})
	if h.dir, err = os.MkdirTemp("", "chaos"); err != nil {
		return 2, err
	}
	defer func() {
		if h.keep || code != 0 || err != nil {
			fmt.Println("the files of the run are in", h.dir)
			return
		}
		_ = os.RemoveAll(h.dir)
	}()
	h.tb = &tb{dir: h.dir}
	defer func() {
		switch r := recover().(type) {
		case nil:
		case fatal:
			err = r
		default:
			panic(r)
		}
	}()
	defer h.tb.close()
	if err := h.build(); err != nil {
		return 2, err
	}
	if err := h.start(); err != nil {
		return 2, err
	}
	watching, stop := context.WithCancel(context.Background())
	defer stop()
	go h.watchMachine(watching)
	go h.watchReplica(watching)
	go h.watchFailovers(watching)
	h.trouble()
	h.rest()
	return h.judge()
}

// build makes the binaries.
func (h *harness) build() (err error) {
	if h.self, err = os.Executable(); err != nil || h.bide != "" {
		return err
	}
	h.bide = filepath.Join(h.dir, "bide")
	out, err := exec.CommandContext(context.Background(), "go", "build", "-tags", "chaos", "-o", h.bide, "github.com/bide-go/bide").CombinedOutput()
	if err != nil {
		return fmt.Errorf("build bide: %w\n%s", err, out)
	}
	return nil
}

func (h *harness) schedules() string { return h.dir + "/schedules.yaml" }

func (h *harness) start() (err error) {
	if h.rec, err = chaos.NewRecorder(h.dir+"/harness.events", "harness"); err != nil {
		return err
	}
	if err := h.writePlan(); err != nil {
		return err
	}
	if h.store, err = newStore(h, h.kind); err != nil {
		return err
	}
	if h.set, err = scripts.New(h.store.client, ""); err != nil {
		return err
	}
	for i := range 2 {
		h.slots = append(h.slots, h.service(fmt.Sprint("scheduler-", i+1), "scheduler"), h.service(fmt.Sprint("promoter-", i+1), "promoter"))
		h.slots = append(h.slots, h.child(fmt.Sprint("producer-", i+1), child{Role: "producer", Rate: h.rate / 2, Bulk: h.bulk / 2, Ordered: i == 0}))
	}
	for i := range 3 {
		h.slots = append(h.slots, h.child(fmt.Sprint("worker-", i+1), child{Role: "worker", Queues: queues, Concurrency: 20, Lease: lease, Grace: grace}))
	}
	h.slots = append(h.slots, h.child("single", child{Role: "worker", Queues: []string{chaos.OrderedQueue}, Concurrency: 1, Lease: lease, Grace: grace}))
	for _, s := range h.slots {
		go s.supervise()
	}
	h.began = time.Now()
	return nil
}

// trouble makes it until the time is over.
func (h *harness) trouble() {
	fmt.Printf("chaos: seed %d, %v, redis %s, files in %s\n", h.seed, h.duration, h.kind, h.dir)
	sampling, stop := context.WithCancel(context.Background())
	defer stop()
	go h.sample(sampling)
	deadline := time.After(h.duration)
	list := h.possible()
	total := 0
	for _, f := range list {
		total += f.weight
	}
	pace, spread := 150, 700 // ms between faults
	if h.mild {
		pace, spread = 10_000, 20_000
	}
	if h.pace > 0 {
		pace, spread = int(h.pace.Milliseconds()), 1
	}
	h.pause(1500) // they begin to work first
	var running sync.WaitGroup
	for {
		n := h.roll(total)
		i := slices.IndexFunc(list, func(f fault) bool { n -= f.weight; return n < 0 })
		f := list[i]
		if !f.redis || h.redisBusy.CompareAndSwap(false, true) {
			running.Go(func() {
				f.do(h)
				if f.redis {
					h.pause(1000 + h.roll(3000)) // a time to work in
					h.redisBusy.Store(false)
				}
			})
		}
		select {
		case <-deadline:
			close(h.over)
			running.Wait()
			h.progress()
			return
		case <-time.After(time.Duration(pace+h.roll(spread)) * time.Millisecond):
		}
	}
}

// sample audits four times a second, weighs the processes once a second, and reads the
// schedules' histories once a minute, before they forget.
func (h *harness) sample(ctx context.Context) {
	ticker := time.NewTicker(250 * time.Millisecond)
	defer ticker.Stop()
	for n := 0; ; n++ {
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
		_, _ = h.audit(ctx) // while Redis is away there is none
		if n%4 == 0 {
			for _, s := range h.slots {
				if proc, bytes := s.memory(); bytes > 0 {
					h.rec.Note(chaos.Event{Kind: chaos.Memory, Proc: proc, N: bytes})
				}
			}
		}
		if n%240 == 239 {
			for _, t := range timetables {
				_ = h.replaced(ctx, t.name)
			}
		}
		if every := 20; h.mild && n%(10*every) == 0 || !h.mild && n%every == 0 {
			h.progress()
		}
	}
}

func (h *harness) audit(ctx context.Context) (scripts.Sum, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	sum, err := h.set.Audit(ctx)
	if err != nil {
		return sum, err
	}
	h.audits.Add(1)
	h.jobs.Store(sum.Created)
	if gap := sum.Gap(); gap != 0 {
		h.gap.Store(gap)
		h.rec.Note(chaos.Event{Kind: chaos.Audited, Gap: gap, What: fmt.Sprintf("%+v", sum)})
	}
	return sum, nil
}

func (h *harness) progress() {
	fmt.Printf("%4.0f s  %4d faults  %8d jobs  %6d audits  gap %d\n", time.Since(h.began).Seconds(), h.faults.Load(), h.jobs.Load(), h.audits.Load(), h.gap.Load())
}

// mostRest is how long everything may take to come to rest after the last fault.
const mostRest = 90 * time.Second

// rest heals everything, lets what is under way come to its end, reads what became of
// the jobs, and ends the processes.
func (h *harness) rest() {
	ctx := context.Background()
	for _, s := range h.slots {
		for _, n := range h.store.nodes {
			n.net.Delay(s.conn(), 0)
			n.net.Pass(s.conn())
			n.net.CutReplies(s.conn(), 0, nil)
		}
		s.signal(syscall.SIGCONT)
		_ = os.Remove(h.offsetFile(s.name))
	}
	var ending sync.WaitGroup
	for _, s := range h.slots {
		if s.role == "producer" {
			ending.Go(func() { s.retire(s.term) })
		}
	}
	ending.Wait()
	if !h.within(mostRest, func() bool { sum, err := h.audit(ctx); return err == nil && sum.Created > 0 }) {
		h.rec.Note(chaos.Event{Kind: chaos.Stuck, What: "Redis does not answer"})
		return
	}
	h.ticks(ctx)
	// An empty set takes the planned ticks back.
	if err := os.WriteFile(h.schedules(), []byte("version: 1\nschedules: {}\n"), 0o600); err != nil {
		panic(err)
	}
	var last scripts.Sum
	rested := h.within(mostRest, func() bool {
		var err error
		last, err = h.audit(ctx)
		stats, err2 := h.set.Stats(ctx)
		return errors.Join(err, err2) == nil && last.Delayed+last.Waiting+last.Active+stats.Inbox == 0
	})
	if !rested {
		h.rec.Note(chaos.Event{Kind: chaos.Stuck, What: fmt.Sprintf("not all jobs ended within %v: %+v", mostRest, last)})
	}
	h.rec.Note(chaos.Event{Kind: chaos.Total, N: last.Created})
	time.Sleep(300 * time.Millisecond) // the last outcomes are written down
	for i, s := range h.slots {
		switch {
		case s.role == "producer":
		case i%2 == 0: // half are counted, the others have to end well
			ending.Go(func() { s.retire(s.count) })
		default:
			ending.Go(func() { s.retire(s.term) })
		}
	}
	ending.Wait()
}

// watchMachine writes down how late this process is woken, whenever that is later than
// ever before: others need as much longer for what they do at once.
func (h *harness) watchMachine(ctx context.Context) {
	const step = 50 * time.Millisecond
	for ctx.Err() == nil {
		begun := time.Now()
		time.Sleep(step)
		late := time.Since(begun) - step
		if late > 4*step && int64(late) > h.stalled.Load() {
			h.stalled.Store(int64(late))
			h.rec.Note(chaos.Event{Kind: chaos.Stalled, N: int64(late)})
		}
	}
}
