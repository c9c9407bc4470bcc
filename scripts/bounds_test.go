package scripts_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/bide-go/bide/job"
	"github.com/bide-go/bide/scripts"
)

// batch makes n jobs that differ only in their ids.
func batch(n int, like scripts.NewJob) []scripts.NewJob {
	jobs := make([]scripts.NewJob, n)
	for i := range jobs {
		jobs[i] = like
		jobs[i].ID = fmt.Sprintf("%s%04d", like.ID, i)
		if like.Unique != "" {
			jobs[i].Unique = fmt.Sprintf("%s%d", like.Unique, i)
		}
		if jobs[i].Queue == "" {
			jobs[i].Queue = "medium"
		}
		if jobs[i].Name == "" {
			jobs[i].Name = "test"
		}
	}
	return jobs
}

func (b *bench) addAll(jobs []scripts.NewJob) {
	b.t.Helper()
	results, err := enqueue(b.Set, b.ctx(), jobs)
	b.must(err)
	for i, r := range results {
		if r.Err != nil || r.Deduplicated || r.ID != jobs[i].ID {
			b.t.Fatalf("enqueue %s: %+v", jobs[i].ID, r)
		}
	}
}

// Every script takes the largest batch that its caller may send, on both servers.
func TestTheLargestBatches(t *testing.T) {
	each(t, func(b *bench) {
		rich := scripts.NewJob{ID: "rich-", Unique: "u", Retention: time.Hour, ExpiryIn: time.Hour}
		b.addAll(batch(scripts.EnqueueJobs, rich))
		rich.ID, rich.Unique, rich.Delay = "late-", "v", time.Millisecond
		b.addAll(batch(scripts.EnqueueJobs, rich))
		rich.ID, rich.Unique = "later-", "w"
		b.addAll(batch(scripts.EnqueueJobs, rich))
		again, err := enqueue(b.Set, b.ctx(), batch(scripts.EnqueueJobs, rich))
		b.must(err)
		for _, r := range again {
			if !r.Deduplicated {
				b.t.Fatalf("%+v", r)
			}
		}
		b.pass(3 * time.Millisecond)
		p, err := b.Promote(b.ctx(), scripts.PromoteJobs, true)
		b.must(err)
		b.same("promoted", scripts.PromoteJobs, p.Taken)

		got := b.take(scripts.ReserveJobs)
		b.same("taken", scripts.ReserveJobs, len(got))
		renewals, err := b.Renew(b.ctx(), time.Minute, leasesOf(got))
		b.must(err)
		b.same("renewed", scripts.Renewed, renewals[len(renewals)-1])
		states, err := b.Release(b.ctx(), leasesOf(got))
		b.must(err)
		b.same("released", job.Waiting, states[0])
		again2 := b.take(scripts.ReserveJobs)
		b.same("taken again in the same order", ids(got), ids(again2))
		b.same("stale", []string(nil), b.complete(again2...))

		var verdicts []scripts.Verdict
		for i, l := range b.take(scripts.ReserveJobs) {
			verdicts = append(verdicts, scripts.Verdict{Lease: l.Lease, Retry: i%2 == 0, Pause: time.Hour, Reason: job.ReasonAttempts, Kind: job.KindFailed,
				Error: strings.Repeat("e", 2*job.MaxText), Stack: strings.Repeat("s", 2*job.MaxText)})
		}
		states, err = b.Fail(b.ctx(), verdicts)
		b.must(err)
		b.same("failed", []job.State{job.Delayed, job.Dead}, states[498:])

		b.take(scripts.ReserveJobs)
		for _, id := range b.raw().ZRange(b.ctx(), scripts.Key("active"), 0, -1).Val() {
			b.do("ZADD", scripts.Key("active"), 1, id)
		}
		reaped, _, more, err := b.Reap(b.ctx(), b.now(), 200, 5)
		b.must(err)
		b.same("reaped", 200, len(reaped))
		b.same("more", true, more)

		for _, id := range b.raw().ZRange(b.ctx(), scripts.Key("finished"), 0, -1).Val() {
			b.do("ZADD", scripts.Key("finished"), 1, id)
		}
		trimmed, err := b.Trim(b.ctx(), 500, time.Hour, 0)
		b.must(err)
		b.same("trimmed", scripts.Trimmed{Finished: 500, Dead: 250}, trimmed)
		for _, id := range b.raw().ZRange(b.ctx(), scripts.Key("expiry"), 0, -1).Val() {
			b.do("ZADD", scripts.Key("expiry"), 1, id)
		}
		b.gap0()
	})
}

// Large bodies are handed out in calls of a few megabytes, at least one each, and
// those of others' names are not even read.
func TestLargeBodiesAreReservedInBoundedCalls(t *testing.T) {
	each(t, func(b *bench) {
		const each = 1 << 20
		args := json.RawMessage(`"` + strings.Repeat("x", each-2) + `"`)
		jobs := batch(40, scripts.NewJob{Args: args})
		for i := 0; i < len(jobs); i += 4 {
			b.addAll(jobs[i : i+4])
		}
		b.addAll(batch(10, scripts.NewJob{ID: "small-"}))
		total, calls := 0, 0
		for {
			got := b.take(scripts.ReserveJobs)
			if len(got) == 0 {
				break
			}
			size := 0
			for _, l := range got {
				size += len(l.Job.Args)
				if l.Job.ID != fmt.Sprintf("%04d", total) && !strings.HasPrefix(l.Job.ID, "small-") {
					b.t.Errorf("job %d is %s", total, l.Job.ID)
				}
				total++
			}
			if size > 4<<20 {
				b.t.Errorf("call %d answered with %d bytes", calls, size)
			}
			b.complete(got...)
			calls++
		}
		b.same("jobs", 50, total)
		if calls > 15 {
			b.t.Errorf("%d calls, want about 14 of 3 jobs each", calls)
		}
	})
}

// A body larger than a call's bound still comes, alone.
func TestABodyBeyondTheBoundComesAlone(t *testing.T) {
	each(t, func(b *bench) {
		args := json.RawMessage(`"` + strings.Repeat("x", 5<<20) + `"`)
		b.add(scripts.NewJob{ID: "a", Args: args})
		b.add(scripts.NewJob{ID: "b", Args: args})
		b.add(scripts.NewJob{ID: "c"})
		for _, want := range []string{"a", "b", "c"} {
			got := b.take(10)
			b.same("taken", []string{want}, ids(got))
			b.complete(got...)
		}
	})
}

// A schedule's edit may be what brings the first large bodies.
func TestRewrittenBodiesCountAsLarge(t *testing.T) {
	each(t, func(b *bench) {
		b.apply(scripts.Change{Act: "add", Name: "s", Definition: "d"})
		var ticks []scripts.NewJob
		for i := range 20 {
			ticks = append(ticks, b.tick(b.schedule("s"), b.now().Add(time.Hour+time.Duration(i)*time.Second).Truncate(time.Second)))
		}
		b.plan("s", ticks...)
		for i := range ticks {
			ticks[i].Args = json.RawMessage(`"` + strings.Repeat("x", 1<<20-2) + `"`)
		}
		b.apply(scripts.Change{Act: "rewrite", Name: "s", Definition: "e", Ticks: ticks})
		for i := range ticks {
			_, err := b.Revive(b.ctx(), ticks[i].ID)
			b.must(err)
		}
		b.promote()
		if b.Mini == nil {
			b.do("CONFIG", "RESETSTAT")
		}
		b.same("taken", 3, len(b.take(500)))
		if b.Mini == nil {
			if stats := b.raw().Info(b.ctx(), "commandstats").Val(); !strings.Contains(stats, "strlen") {
				b.t.Error("20 bodies of 1 MiB were read unmeasured")
			}
		}
	})
}

// A restart of Redis, or SCRIPT FLUSH, forgets the scripts between any two calls.
func TestScriptsAreForgotten(t *testing.T) {
	each(t, func(b *bench) {
		for _, s := range situations() {
			b.flush()
			call := s.prep(b)
			b.do("SCRIPT", "FLUSH")
			if err := call(); err != nil {
				b.t.Errorf("%s: %v", s.name, err)
			}
			b.gap0()
		}
		b.flush()
		b.addAll(batch(4, scripts.NewJob{}))
		got := b.take(2)
		b.do("SCRIPT", "FLUSH")
		r := b.Turn(b.ctx(), scripts.Turn{
			Complete: leasesOf(got[:1]), Fail: []scripts.Verdict{{Lease: got[1].Lease, Reason: job.ReasonAttempts}},
			Reserve: &scripts.ReserveArgs{Token: "w9:1", Lease: time.Minute, Limit: 9, Names: []string{"test"}, Offers: []scripts.Offer{{"medium", 9}}},
		})
		if r.CompleteErr != nil || r.FailErr != nil || r.ReserveErr != nil {
			b.t.Errorf("turn: %+v", r)
		}
		b.same("taken", []string{"0002", "0003"}, ids(r.Reserved.Jobs))
		b.sum(scripts.Sum{Created: 4, Active: 2, Completed: 1, Dead: 1})
	})
}

// Jobs that somebody else handles are passed over without reading their args.
func TestLargeBodiesOfOthersAreNotRead(t *testing.T) {
	onReal(t, func(b *bench) {
		jobs := batch(132, scripts.NewJob{Name: "other", Args: json.RawMessage(`"` + strings.Repeat("x", 1<<20-2) + `"`)})
		for i := 0; i < len(jobs); i += 4 {
			b.addAll(jobs[i : i+4])
		}
		b.add(scripts.NewJob{ID: "mine"})
		b.must(b.Beat(b.ctx(), scripts.Presence{ID: "w2", Names: []string{"other"}}))
		b.do("CONFIG", "RESETSTAT")
		b.same("taken", []string{"mine"}, ids(b.take(9)))
		stats := b.raw().Info(b.ctx(), "commandstats").Val()
		if strings.Contains(stats, "cmdstat_mget") || !strings.Contains(stats, "cmdstat_get:calls=1,") {
			b.t.Errorf("more than one body was read:\n%s", stats)
		}
		b.same("left in place", 132, len(b.lane("medium")))
	})
}
