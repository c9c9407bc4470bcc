package scheduler

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/rs/zerolog"
	"go.uber.org/goleak"

	"github.com/bide-go/bide/internal/redistest"
	"github.com/bide-go/bide/internal/timely"
	"github.com/bide-go/bide/job"
	"github.com/bide-go/bide/scripts"
)

func TestMain(m *testing.M) {
	// Sequences of scripts are slow to check, and most tests wait more than they
	// compute. Flags on the command line win.
	for name, value := range map[string]string{"rapid.checks": "30", "test.parallel": "6"} {
		if err := flag.Set(name, value); err != nil {
			panic(err)
		}
	}
	redis.SetLogger(silent{})
	goleak.VerifyTestMain(m)
}

// silent keeps the driver from printing between the tests that a server is away.
type silent struct{}

func (silent) Printf(context.Context, string, ...any) {}

// nine is where the clock of the embedded Redis stands when a test begins.
var nine = time.Date(2026, 11, 30, 9, 0, 0, 0, time.UTC)

// rig is a Redis with what tests of schedules do over and over: the roles are
// stepped by hand and the clock of the embedded Redis stands still until it is set.
type rig struct {
	t testing.TB
	*redistest.Server
	set   *scripts.Set
	rdb   *redis.Client
	clock time.Time
	taken int
}

func newRig(t testing.TB, s *redistest.Server) *rig {
	r := &rig{t: t, Server: s, set: s.Scripts(), rdb: s.Client()}
	if s.Mini != nil {
		r.at(nine)
	}
	return r
}

func mini(t testing.TB) *rig { return newRig(t, redistest.NewMini(t)) }

func (r *rig) at(now time.Time) {
	r.clock = now
	r.Mini.SetTime(now)
}

func (r *rig) after(d time.Duration) { r.at(r.clock.Add(d)) }

// copy is one scheduler with its log.
type copyOf struct {
	*Scheduler
	r   *rig
	log *logs
}

func (r *rig) scheduler(name string) *copyOf {
	l := &logs{}
	return &copyOf{New(r.Server.Client(), Config{Name: name, Log: zerolog.New(l)}), r, l}
}

// pass makes one pass, which must succeed.
func (c *copyOf) step() {
	c.r.t.Helper()
	if err := c.pass(context.Background()); err != nil {
		c.r.t.Fatal(err)
	}
}

// apply makes definitions the set and carries it out.
func (c *copyOf) apply(definitions ...Definition) {
	c.r.t.Helper()
	c.applyKeeping(nil, definitions...)
}

func (c *copyOf) applyKeeping(keep []string, definitions ...Definition) {
	c.r.t.Helper()
	if err := c.Replace(definitions, keep); err != nil {
		c.r.t.Fatal(err)
	}
	c.step()
}

// promote moves all that is due to the lanes and counts it.
func (r *rig) promote() int {
	r.t.Helper()
	p, err := r.set.Promote(context.Background(), 1000, true)
	if err != nil {
		r.t.Fatal(err)
	}
	return p.Taken
}

// work runs and completes all waiting jobs, and returns them in their order.
func (r *rig) work() []*job.Job {
	r.t.Helper()
	ctx := context.Background()
	var all []*job.Job
	for {
		r.taken++
		queues, err := r.set.Queues(ctx)
		if err != nil {
			r.t.Fatal(err)
		}
		if len(queues) == 0 {
			return all
		}
		a := scripts.ReserveArgs{Token: fmt.Sprintf("w:%d", r.taken), Lease: time.Minute, Limit: 500, Names: []string{"tick", "tock"}}
		for _, q := range queues {
			a.Offers = append(a.Offers, scripts.Offer{Queue: q, Slots: 500})
		}
		got, err := r.set.Reserve(ctx, a)
		if err != nil {
			r.t.Fatal(err)
		}
		if len(got.Jobs) == 0 && !got.Again {
			return all
		}
		var leases []scripts.Lease
		for _, l := range got.Jobs {
			leases = append(leases, l.Lease)
			all = append(all, l.Job)
		}
		if _, err := r.set.Complete(ctx, leases); err != nil {
			r.t.Fatal(err)
		}
	}
}

// run promotes and works, and returns the ids of what ran.
func (r *rig) run() []string {
	r.t.Helper()
	r.promote()
	var ids []string
	for _, j := range r.work() {
		ids = append(ids, j.ID)
	}
	return ids
}

// planned lists the ids of all delayed jobs in due order.
func (r *rig) planned() []string {
	r.t.Helper()
	jobs, _, _, err := r.set.List(context.Background(), scripts.Page{Place: "delayed", Look: 1000, Want: 1000})
	if err != nil {
		r.t.Fatal(err)
	}
	slices.SortFunc(jobs, func(a, b *job.Job) int { return a.Due.Compare(b.Due) })
	ids := []string{}
	for _, j := range jobs {
		ids = append(ids, j.ID)
	}
	return ids
}

func (r *rig) get(id string) *job.Job {
	r.t.Helper()
	j, err := r.set.Inspect(context.Background(), id)
	if err != nil {
		r.t.Fatal(err)
	}
	return j
}

func (r *rig) sum() scripts.Sum {
	r.t.Helper()
	sum, err := r.set.Audit(context.Background())
	if err != nil {
		r.t.Fatal(err)
	}
	if sum.Gap() != 0 {
		r.t.Errorf("audit: gap %d, want 0: %+v", sum.Gap(), sum)
	}
	return sum
}

// field reads one field of a schedule, empty if it has none.
func (r *rig) field(schedule, field string) string {
	return r.rdb.HGet(context.Background(), "{bide}:schedule:"+schedule, field).Val()
}

// missed is the count of ticks of a schedule that did not run.
func (r *rig) missed(schedule string) int {
	var n int
	_, _ = fmt.Sscan(r.field(schedule, "missed"), &n)
	return n
}

// revision names the applied set.
func (r *rig) revision() string {
	return r.rdb.HGet(context.Background(), "{bide}:meta", "revision").Val()
}

// applied lists the names of the applied schedules, sorted.
func (r *rig) applied() []string {
	names := r.rdb.HKeys(context.Background(), "{bide}:schedules").Val()
	slices.Sort(names)
	return names
}

// every is a schedule whose runs may overlap and start at any time.
func every(name string, expressions ...string) Definition {
	return Definition{Name: name, Job: "tick", Schedule: expressions, ConcurrencyPolicy: Allow, StartingDeadline: 10 * 365 * 24 * time.Hour}
}

// ticks are the ids of a schedule's ticks at these instants.
func ticks(name string, at ...time.Time) []string {
	ids := []string{}
	for _, t := range at {
		ids = append(ids, name+"@"+t.UTC().Format(time.RFC3339))
	}
	return ids
}

// series is every step from first to last.
func series(first, last time.Time, step time.Duration) []time.Time {
	var all []time.Time
	for t := first; !t.After(last); t = t.Add(step) {
		all = append(all, t)
	}
	return all
}

// logs keeps what is logged. It is safe for concurrent use.
type logs struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (l *logs) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(p)
}

func (l *logs) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.String()
}

// find returns the entries with this message.
func (l *logs) find(message string) []map[string]any {
	var found []map[string]any
	for line := range strings.Lines(l.String()) {
		var entry map[string]any
		if json.Unmarshal([]byte(line), &entry) == nil && entry["message"] == message {
			found = append(found, entry)
		}
	}
	return found
}

// eventually polls ok until it holds.
func eventually(t testing.TB, limit time.Duration, what string, ok func() bool) {
	t.Helper()
	limit = timely.Limit(limit)
	deadline := time.Now().Add(limit)
	for !ok() {
		if time.Now().After(deadline) {
			t.Fatalf("not within %v: %s", limit, what)
		}
		time.Sleep(5 * time.Millisecond) // between two looks at Redis
	}
}

// superseded asks for one tick by itself.
func (p *plan) superseded(tick time.Time) time.Time {
	return (&walk{p, []time.Time{tick}}).superseded()
}
