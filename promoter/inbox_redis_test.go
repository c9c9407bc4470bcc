package promoter_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/bide-go/bide/dispatcher"
	"github.com/bide-go/bide/internal/redistest"
	"github.com/bide-go/bide/job"
	"github.com/bide-go/bide/promoter"
	"github.com/bide-go/bide/scheduler"
)

const (
	inbox    = "{bide}:inbox"
	rejected = "{bide}:rejected"
)

// put does what any Redis client can do: one ZADD.
func (r *rig) put(score, member string) {
	r.t.Helper()
	if err := r.rdb.Do(r.ctx(), "ZADD", inbox, score, member).Err(); err != nil {
		r.t.Fatal(err)
	}
}

// putMany fills the inbox with n entries for jobs <prefix>0…, scored 1, 2, …: all
// due, and ordered.
func (r *rig) putMany(n int, prefix string) []string {
	r.t.Helper()
	ids := make([]string, n)
	pipe := r.rdb.Pipeline()
	for i := range ids {
		ids[i] = fmt.Sprint(prefix, i)
		pipe.ZAdd(r.ctx(), inbox, redis.Z{Score: float64(i + 1), Member: entry(ids[i], strconv.Itoa(i))})
	}
	if _, err := pipe.Exec(r.ctx()); err != nil {
		r.t.Fatal(err)
	}
	return ids
}

func entry(id, args string) string { return `["` + id + `", "medium", "any", ` + args + `]` }

func (r *rig) inInbox() int64 { return r.rdb.ZCard(r.ctx(), inbox).Val() }

// drained waits until the inbox is empty.
func (r *rig) drained() {
	r.t.Helper()
	for deadline := time.Now().Add(4 * patience); r.inInbox() > 0; time.Sleep(5 * time.Millisecond) { // Redis tells nobody
		if time.Now().After(deadline) {
			r.t.Fatalf("%d entries are still in the inbox after %v; %+v", r.inInbox(), 4*patience, r.sum())
		}
	}
}

// rejections returns what the stream of rejected entries holds, by member.
func (r *rig) rejections() map[string]map[string]any {
	r.t.Helper()
	messages, err := r.rdb.XRange(r.ctx(), rejected, "-", "+").Result()
	if err != nil {
		r.t.Fatal(err)
	}
	all := map[string]map[string]any{}
	for _, m := range messages {
		all[m.Values["member"].(string)] = m.Values
	}
	return all
}

// watched returns a client on which hook sees the scripts that read the inbox and
// that adopt from it.
func (r *rig) watched(hook inboxHook) *redis.Client {
	rdb := r.Server.Client()
	rdb.AddHook(hook)
	return rdb
}

// inboxHook is called around the two calls that adoption is made of.
type inboxHook struct {
	read  func()                                    // after a read that found something
	adopt func(args []any, call func() error) error // in place of an adoption; args are its arguments
}

func (inboxHook) DialHook(next redis.DialHook) redis.DialHook { return next }

func (inboxHook) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

func (h inboxHook) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		args := cmd.Args()
		// eval, text or hash, 1, key: the read has one more, an adoption seven an entry.
		if name := cmd.Name(); name != "eval" && name != "evalsha" || len(args) < 5 {
			return next(ctx, cmd)
		}
		if len(args) >= 4+7 && (len(args)-4)%7 == 0 && h.adopt != nil {
			err := h.adopt(args[4:], func() error { return next(ctx, cmd) })
			if err != nil && cmd.Err() == nil {
				cmd.SetErr(err)
			}
			return err
		}
		err := next(ctx, cmd)
		if len(args) == 5 && err == nil && h.read != nil {
			if c, ok := cmd.(interface{ Val() any }); ok {
				if list, ok := c.Val().([]any); ok && len(list) > 0 {
					h.read()
				}
			}
		}
		return err
	}
}

func TestOneZADDMakesAJob(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		r.promote(1)
		for i := range 9 {
			r.put("0", `["mail-`+strconv.Itoa(i)+`", "high", "send-email", {"to": "x"}]`)
		}
		r.drained()
		j, err := r.Get(r.ctx(), "mail-3")
		if err != nil {
			t.Fatal(err)
		}
		if j.State != job.Waiting || j.Queue != "high" || j.Name != "send-email" || string(j.Args) != `{"to": "x"}` || j.Trigger != job.TriggerInbox ||
			j.MaxAttempts != job.DefaultMaxAttempts || j.Timeout != job.DefaultTimeout || j.Retention != 0 || j.Unique != "" || !j.Expiry.IsZero() || !j.Due.Equal(j.Created) {
			t.Errorf("job: %+v", j)
		}
		// Due now means the normal lane, behind jobs that were planned for now.
		if n := r.rdb.LLen(r.ctx(), "{bide}:queue:high").Val(); n != 9 {
			t.Errorf("%d jobs in the normal lane, want 9", n)
		}
	})
}

// Not in parallel to other tests, since it measures.
func TestTheInboxIsReadTenTimesASecond(t *testing.T) {
	r := newRig(t, redistest.NewReal(t))
	p := promoter.New(r.Server.Client(), promoter.Config{})
	r.run(p.Run)
	r.eventually("a pass", func() bool { return !p.LastPass().IsZero() })
	var rounds [][]time.Duration
	for round := range 5 { // others may use this machine
		var took []time.Duration
		for i := range 9 {
			id := fmt.Sprintf("job-%d-%d", round, i)
			time.Sleep(rand.N(100 * time.Millisecond)) // at any time between two passes
			before := time.Now()
			r.put("0", entry(id, "null"))
			r.eventually(id+" is there", func() bool { _, err := r.Get(r.ctx(), id); return err == nil })
			took = append(took, time.Since(before).Round(time.Millisecond))
		}
		slices.Sort(took)
		if rounds = append(rounds, took); took[len(took)/2] <= 100*time.Millisecond {
			t.Logf("adopted within %v", took)
			return
		}
	}
	t.Errorf("adopted within %v, want 100ms", rounds)
}

// An entry for later starts at its instant, not before, to the microsecond.
func TestInboxEntriesStartAtTheirInstant(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		type start struct {
			id string
			us int64
		}
		starts := make(chan start, 100)
		r.promote(2)
		r.work(dispatcher.Config{}, func(_ context.Context, j *job.Job) error {
			starts <- start{j.ID, r.now().UnixMicro()}
			return nil
		})
		due := map[string]int64{}
		from := r.now().UnixMicro()
		random := rand.New(rand.NewPCG(3, 4))
		for i := range 60 {
			id := fmt.Sprint("job-", i)
			due[id] = from + 300_000 + random.Int64N(300_000)
			r.put(fmt.Sprintf("%d.%06d", due[id]/1e6, due[id]%1e6), entry(id, "null"))
		}
		for range due {
			select {
			case s := <-starts:
				if s.us < due[s.id] {
					t.Errorf("%s started %d µs early", s.id, due[s.id]-s.us)
				}
			case <-time.After(patience):
				t.Fatal("not all started")
			}
		}
	})
}

func TestInboxEntriesOfTheFarFuture(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		r.promote(1)
		for score, want := range map[string]string{
			"4102444800":     "2100-01-01T00:00:00Z",
			"4102444800.125": "2100-01-01T00:00:00.125Z",
			"253370764800":   "9999-01-01T00:00:00Z",
			"253402300799":   "9999-12-31T23:59:59Z",
		} {
			id := "job-" + score
			r.put(score, entry(id, "null"))
			r.drained()
			if j, err := r.Get(r.ctx(), id); err != nil || j.State != job.Delayed || j.Due.Format(time.RFC3339Nano) != want {
				t.Errorf("score %s: %+v, %v; want it due %s", score, j, err, want)
			}
		}
		if s := r.sum(); s.Delayed != 4 {
			t.Errorf("sum = %+v", s)
		}
	})
}

// An entry whose id is taken, by a job in whatever state, changes nothing.
func TestInboxEntriesWhoseIDIsTaken(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		end := r.run(dispatcher.New(r.Server.Client(), anyHandler(func(_ context.Context, j *job.Job) error {
			if j.ID == "dead" {
				return job.Permanent(errors.New("no"))
			}
			return nil
		}), dispatcher.Config{}).Run)
		create := func(id string, delay time.Duration, opts ...scheduler.Option) {
			if _, err := r.ExecuteLater(r.ctx(), "low", "any", id, delay, append(opts, scheduler.WithID(id))...); err != nil {
				t.Fatal(err)
			}
		}
		create("dead", 0)
		create("retained", 0, scheduler.WithRetention(time.Hour))
		r.eventually("both ended", func() bool { s := r.sum(); return s.Dead == 1 && s.Completed == 1 })
		end()
		create("delayed", time.Hour)
		create("waiting", 0)
		before := map[string]*job.Job{}
		for _, id := range []string{"dead", "retained", "delayed", "waiting"} {
			j, err := r.Get(r.ctx(), id)
			if err != nil {
				t.Fatal(err)
			}
			before[id] = j
			r.put("0", entry(id, `"another"`))
		}
		r.put("0", entry("new", "null"))
		r.promote(2)
		r.drained()
		for id, was := range before {
			j, err := r.Get(r.ctx(), id)
			if err != nil || j.State != was.State || string(j.Args) != string(was.Args) || j.Trigger != was.Trigger || !j.Due.Equal(was.Due) {
				t.Errorf("%s = %+v, %v, want it unchanged: %+v", id, j, err, was)
			}
		}
		if s := r.sum(); s.Created != 5 || len(r.rejections()) != 0 {
			t.Errorf("sum = %+v, rejected %v", s, r.rejections())
		}
	})
}

func TestInvalidInboxEntriesAreRejectedOneByOne(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		long := strings.Repeat("x", 1<<20)
		deep := strings.Repeat("[", 20_000) + strings.Repeat("]", 20_000)
		invalid := map[string]struct{ score, reason string }{
			`hello`:                                         {"0", "JSON"},
			``:                                              {"0", "JSON"},
			`null`:                                          {"0", "elements"},
			`{"id":"a"}`:                                    {"0", "array"},
			`["a", "high", "any"]`:                          {"0", "3 elements"},
			`["a", "high", "any", 1, 2]`:                    {"0", "5 elements"},
			`["a", "high", "any", 1] ["b"]`:                 {"0", "follows|JSON"},
			`["a", "high", "any", {"x": 1]`:                 {"0", "JSON"},
			`[7, "high", "any", null]`:                      {"0", "id is not a string"},
			`["a", null, "any", null]`:                      {"0", "queue is not a string"},
			`["a", "high", ["any"], null]`:                  {"0", "name is not a string"},
			`["", "high", "any", null]`:                     {"0", "job id"},
			`["a@b", "high", "any", null]`:                  {"0", "@"},
			`["a b", "high", "any", null]`:                  {"0", "job id"},
			`["a\u0000", "high", "any", null]`:              {"0", "job id"},
			"[\"a\x00\", \"high\", \"any\", 1]":             {"0", "JSON"},
			`["a", "high-delayed", "any", null]`:            {"0", "-delayed"},
			`["a", "HIGH", "any", null]`:                    {"0", "queue"},
			`["a", "high", "", null]`:                       {"0", "job name"},
			"[\"a\", \"high\", \"any\", \"\xff\"]":          {"0", "UTF-8"},
			`["long", "high", "any", "` + long + `"]`:       {"0", "1048576 are allowed"},
			`["` + long + `", "high", "any", 1]`:            {"0", "job id"},
			`["deep", "high", "any", ` + deep + `]`:         {"0", "depth"},
			`["never", "high", "any", null]`:                {"inf", "no time"},
			`["ever", "high", "any", null]`:                 {"-inf", "no time"},
			`["ms", "high", "any", null]`:                   {"1764500000000", "not milliseconds"},
			`["` + strings.Repeat("é", 700) + `", 1, 2, 3]`: {"5", "job id|queue"},
		}
		i := 0
		for member, want := range invalid {
			r.put(want.score, member)
			r.put("0", entry(fmt.Sprint("good-", i), "null"))
			i++
		}
		before := r.now().Truncate(time.Millisecond)
		r.promote(2)
		r.drained()
		after := r.now()
		if s := r.sum(); s.Created != int64(i) || s.Waiting != int64(i) {
			t.Errorf("sum = %+v, want the %d good ones waiting", s, i)
		}
		got := r.rejections()
		if len(got) != len(invalid) || r.rdb.XLen(r.ctx(), rejected).Val() != int64(len(invalid)) {
			t.Errorf("%d rejected, want %d", len(got), len(invalid))
		}
		for member, want := range invalid {
			values, ok := got[member[:min(len(member), 1024)]]
			if !ok {
				t.Errorf("%.80q is not among the rejected", member)
				continue
			}
			if len(values) != 4 {
				t.Errorf("%.80q: fields %v, want at, reason, score and member", member, values)
			}
			reason, _ := values["reason"].(string)
			if !slices.ContainsFunc(strings.Split(want.reason, "|"), func(w string) bool { return strings.Contains(reason, w) }) {
				t.Errorf("%.80q: reason %q, want one about %q", member, reason, want.reason)
			}
			score, _ := strconv.ParseFloat(fmt.Sprint(values["score"]), 64)
			if was, _ := strconv.ParseFloat(want.score, 64); score != was {
				t.Errorf("%.80q: score %v, want %v", member, values["score"], want.score)
			}
			ms, _ := strconv.ParseInt(fmt.Sprint(values["at"]), 10, 64)
			if at := time.UnixMilli(ms); at.Before(before) || at.After(after) {
				t.Errorf("%.80q: rejected at %v, want it between %v and %v", member, at, before, after)
			}
		}
	})
}

func TestTheRejectedAreCapped(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		pipe := r.rdb.Pipeline()
		for i := range 2500 {
			pipe.ZAdd(r.ctx(), inbox, redis.Z{Score: float64(i), Member: fmt.Sprint("no job ", i)})
		}
		if _, err := pipe.Exec(r.ctx()); err != nil {
			t.Fatal(err)
		}
		r.promote(1)
		r.drained()
		if n := r.rdb.XLen(r.ctx(), rejected).Val(); n < 1000 || n > 1200 {
			t.Errorf("%d rejected are kept, want about 1,000", n)
		}
	})
}

// What is hostile but valid arrives byte for byte.
func TestHostileInboxEntriesArriveWhole(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		deep := strings.Repeat("[", 5000) + strings.Repeat("]", 5000)
		args := map[string]string{
			"largest":   `"` + strings.Repeat("x", job.MaxArgs-2) + `"`,
			"deep":      deep,
			"numbers":   `[12345678901234567, 98765432109876543210987654321, 1e400, -0, 1.0, 0.1000]`,
			"empty":     `{"list": [], "map": {}}`,
			"twice":     `{"a": 1, "a": 2}`,
			"controls":  `"\u0000\u001f\t\n\\\""`,
			"unicode":   `{"grüße": "日本語 \u2028   💰 <&>", "\ud83d": null}`,
			"many line": "{\n\t\"a\": [\n\t\t1\n\t]\n}",
		}
		for id, a := range args {
			r.put("0", entry(strings.ReplaceAll(id, " ", "-"), a))
		}
		r.promote(2)
		r.drained()
		for id, want := range args {
			j, err := r.Get(r.ctx(), strings.ReplaceAll(id, " ", "-"))
			if err != nil || string(j.Args) != want {
				t.Errorf("%s: %v; args %.80q…, want %.80q…", id, err, jobArgs(j), want)
			}
		}
		if n := len(r.rejections()); n != 0 {
			t.Errorf("%d were rejected", n)
		}
	})
}

func jobArgs(j *job.Job) string {
	if j == nil {
		return ""
	}
	return string(j.Args)
}

// Of entries with one id the first due makes the job, in one batch as in several.
func TestInboxEntriesWithOneID(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		for i := range 50 {
			r.put(strconv.Itoa(1000-i), entry("job", strconv.Itoa(i)))
			r.put(strconv.Itoa(2000-i), entry(fmt.Sprint("other-", i), "0"))
		}
		r.promote(3)
		r.drained()
		j, err := r.Get(r.ctx(), "job")
		if err != nil || string(j.Args) != "49" {
			t.Errorf("job %+v, %v; want the args of the entry with the lowest score", j, err)
		}
		if s := r.sum(); s.Created != 51 || s.Waiting != 51 {
			t.Errorf("sum = %+v, want 51", s)
		}
	})
}
