package scripts_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/redis/go-redis/v9"

	"github.com/bide-go/bide/internal/redistest"
	"github.com/bide-go/bide/job"
	"github.com/bide-go/bide/scripts"
)

// raw is a plain client, made once.
func (b *bench) raw() *redis.Client {
	if b.rdb == nil {
		b.rdb = b.Client()
	}
	return b.rdb
}

// do runs one plain command and fails the test if it is refused.
func (b *bench) do(args ...any) any {
	b.t.Helper()
	v, err := b.raw().Do(b.ctx(), args...).Result()
	if err != nil && err != redis.Nil {
		b.t.Fatalf("%v: %v", args, err)
	}
	return v
}

func (b *bench) must(err error) {
	b.t.Helper()
	if err != nil {
		b.t.Fatal(err)
	}
}

// pass lets d go by: the embedded clock is moved, the real one is waited for.
func (b *bench) pass(d time.Duration) {
	b.t.Helper()
	if b.Mini != nil {
		b.Advance(d)
		return
	}
	time.Sleep(d + time.Millisecond) // the clock of a real server can only be waited for
}

// now is Redis' time.
func (b *bench) now() time.Time {
	b.t.Helper()
	now, err := b.raw().Time(b.ctx()).Result()
	b.must(err)
	return now
}

// dump is the whole keyspace as text, without the keys in but.
func (b *bench) dump(but ...string) map[string]string {
	b.t.Helper()
	all := map[string]string{}
	keys, err := b.raw().Keys(b.ctx(), "*").Result()
	b.must(err)
	kinds, reads := make([]*redis.StatusCmd, len(keys)), make([]redis.Cmder, len(keys))
	pipe := b.raw().Pipeline()
	for i, key := range keys {
		kinds[i] = pipe.Type(b.ctx(), key)
	}
	_, _ = pipe.Exec(b.ctx())
	for i, key := range keys {
		switch kinds[i].Val() {
		case "string":
			reads[i] = pipe.Get(b.ctx(), key)
		case "hash":
			reads[i] = pipe.HGetAll(b.ctx(), key)
		case "list":
			reads[i] = pipe.LRange(b.ctx(), key, 0, -1)
		case "zset":
			reads[i] = pipe.ZRangeWithScores(b.ctx(), key, 0, -1)
		case "stream":
			reads[i] = pipe.XRange(b.ctx(), key, "-", "+")
		}
	}
	_, _ = pipe.Exec(b.ctx())
	for i, key := range keys {
		var content any // printed with the fields of a hash in order
		switch r := reads[i].(type) {
		case *redis.StringCmd:
			content = r.Val()
		case *redis.MapStringStringCmd:
			content = r.Val()
		case *redis.StringSliceCmd:
			content = r.Val()
		case *redis.ZSliceCmd:
			content = r.Val()
		case *redis.XMessageSliceCmd:
			content = r.Val()
		}
		all[key] = fmt.Sprint(kinds[i].Val(), " ", content)
	}
	for _, key := range but {
		delete(all, key)
	}
	return all
}

// gap0 fails the test unless every job is accounted for now.
func (b *bench) gap0() scripts.Sum {
	b.t.Helper()
	sum, err := b.Audit(b.ctx())
	b.must(err)
	if sum.Gap() != 0 {
		b.t.Errorf("gap %d, want 0: %+v", sum.Gap(), sum)
	}
	return sum
}

// rejected lists what was noted as no job.
func (b *bench) rejected() []string {
	b.t.Helper()
	entries, err := b.raw().XRange(b.ctx(), scripts.Key("rejected"), "-", "+").Result()
	b.must(err)
	members := []string{}
	for _, e := range entries {
		members = append(members, fmt.Sprint(e.Values["member"]))
	}
	return members
}

func (b *bench) same(what string, want, got any) {
	b.t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		b.t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

// lane lists the ids in a lane, in order.
func (b *bench) lane(name string) []string {
	b.t.Helper()
	list := []string{}
	for _, member := range b.raw().LRange(b.ctx(), scripts.Key("queue")+name, 0, -1).Val() {
		list = append(list, strings.SplitN(member, ":", 3)[2])
	}
	return list
}

// fail ends one attempt: dead for reason, or back after pause if reason is empty.
func (b *bench) fail(l scripts.Leased, reason job.Reason, pause time.Duration) job.State {
	b.t.Helper()
	states, err := b.Fail(b.ctx(), []scripts.Verdict{{Lease: l.Lease, Retry: reason == "", Pause: pause, Reason: reason, Kind: job.KindFailed, Error: "boom"}})
	b.must(err)
	return states[0]
}

// apply makes one change of the set of schedules. Those without rules let their
// runs overlap.
func (b *bench) apply(changes ...scripts.Change) scripts.ApplyResult {
	b.t.Helper()
	for i := range changes {
		if changes[i].Rules == (scripts.Rules{}) {
			changes[i].Rules.Policy = "Allow"
		}
	}
	p, err := b.Poll(b.ctx(), "", true)
	b.must(err)
	r, err := b.Apply(b.ctx(), p.Revision, "test", changes)
	b.must(err)
	if !r.OK {
		b.t.Fatalf("apply: %+v", r)
	}
	return r
}

// schedule reads one applied schedule.
func (b *bench) schedule(name string) scripts.Applied {
	b.t.Helper()
	p, err := b.Poll(b.ctx(), "", false)
	b.must(err)
	for _, s := range p.Schedules {
		if s.Name == name {
			return s
		}
	}
	b.t.Fatalf("schedule %s is not applied", name)
	return scripts.Applied{}
}

// tick describes the job of a tick of an applied schedule.
func (b *bench) tick(s scripts.Applied, at time.Time) scripts.NewJob {
	return scripts.NewJob{
		ID: s.Name + "@" + at.UTC().Format("2006-01-02T15:04:05.000Z"), Queue: "medium", Name: "test", At: at, Tick: at,
		Schedule: s.Name, Incarnation: s.Incarnation, Trigger: job.TriggerSchedule,
	}
}

// plan expands ticks of an applied schedule.
func (b *bench) plan(name string, ticks ...scripts.NewJob) {
	b.t.Helper()
	s := b.schedule(name)
	e := scripts.Expansion{Schedule: name, Number: s.Number, Cursor: s.Cursor, Next: s.Cursor, Span: s.Span, Ticks: ticks}
	for _, n := range ticks {
		e.Next = max(e.Next, n.Tick.UnixMilli())
	}
	done, err := b.Expand(b.ctx(), e)
	b.must(err)
	if !done.OK {
		b.t.Fatalf("expand %s was refused", name)
	}
}

// flush empties the server, so that a test may spoil it.
func (b *bench) flush() { b.do("FLUSHALL") }

// onMini runs test on the embedded server only, whose clock can be driven.
func onMini(t *testing.T, test func(b *bench)) {
	t.Parallel()
	b := newBench(t, redistest.NewMini(t))
	b.Advance(0)
	test(b)
}

// onReal runs test on a real server only.
func onReal(t *testing.T, test func(b *bench), args ...string) {
	t.Parallel()
	test(newBench(t, redistest.NewReal(t, args...)))
}

func zOf(score float64, member string) redis.Z { return redis.Z{Score: score, Member: member} }

func sortedList(list []string) []string {
	slices.Sort(list)
	return list
}

func replaceOnce(s, old, with string) string { return strings.Replace(s, old, with, 1) }
