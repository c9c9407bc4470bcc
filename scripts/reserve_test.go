package scripts_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/bide-go/bide/job"
	"github.com/bide-go/bide/scripts"
)

func (b *bench) pauseOf(id string) time.Duration {
	b.t.Helper()
	s := subject{b: b}
	for _, member := range b.raw().ZRange(b.ctx(), scripts.Key("delayed"), 0, -1).Val() {
		if member[len(member)-len(id):] == id {
			score := b.raw().ZScore(b.ctx(), scripts.Key("delayed"), member).Val()
			return time.UnixMilli(int64(score)).Sub(b.now().Truncate(time.Millisecond))
		}
	}
	b.t.Fatalf("%s is not delayed: %s", id, s.member())
	return 0
}

// A windowful of jobs that nobody handles is put off, for longer each time.
func TestAForeignWindowIsPutOff(t *testing.T) {
	onMini(t, func(b *bench) {
		b.addAll(batch(129, scripts.NewJob{ID: "x", Name: "foreign", Queue: "high"}))
		b.add(scripts.NewJob{ID: "mine", Queue: "high"})
		due := b.state("x0000", job.Waiting).Due
		for round, want := range []time.Duration{1, 2, 4, 8, 16, 32, 60, 60, 60} {
			r := b.takeAs("w1", 1, time.Minute, "test")
			b.same("again", true, r.Again)
			b.same("taken", 0, len(r.Jobs))
			j := b.state("x0000", job.Delayed)
			if j.Attempts != 0 || !j.Due.Equal(due) {
				b.t.Errorf("put off: %+v", j)
			}
			b.same("pause", want*time.Second, b.pauseOf("x0127"))
			b.same("lane", 0, len(b.lane("high-delayed")))
			if round == 0 {
				b.same("behind the window", []string{"mine"}, ids(b.take(10)))
			}
			b.pass(want * time.Second)
			b.same("promoted", 129, b.promote())
			b.gap0()
		}
		b.same("handled in the end", 100, len(b.takeAs("w2", 100, time.Minute, "foreign").Jobs))
	})
}

// Fewer than a window stay in place and order, and block nothing.
func TestOthersJobsKeepTheirPlace(t *testing.T) {
	each(t, func(b *bench) {
		var want []string
		for i := range 100 {
			name := "test"
			if i%3 > 0 {
				name = "foreign"
				want = append(want, fmt.Sprintf("j%02d", i))
			}
			b.add(scripts.NewJob{ID: fmt.Sprintf("j%02d", i), Name: name, Queue: "high"})
		}
		b.add(scripts.NewJob{ID: "low", Queue: "low"})
		got := b.take(20)
		b.same("taken", "j00 j57", got[0].Job.ID+" "+got[19].Job.ID)
		got = b.take(20)
		b.same("taken", 15, len(got))
		b.same("the other queue is served", "low", got[14].Job.ID)
		b.same("left in place", want, b.lane("high"))
		b.same("nothing is delayed", int64(0), b.gap0().Delayed)
	})
}

// What a live process elsewhere handles is left to it; one looks past it.
func TestNamesHandledElsewhere(t *testing.T) {
	each(t, func(b *bench) {
		b.must(b.Beat(b.ctx(), scripts.Presence{ID: "w2", Names: []string{"elsewhere"}, Queues: []string{"high"}}))
		b.addAll(batch(300, scripts.NewJob{ID: "e", Name: "elsewhere", Queue: "high"}))
		b.addAll(batch(3, scripts.NewJob{ID: "mine", Queue: "high"}))
		got := b.take(2)
		b.same("taken", []string{"mine0000", "mine0001"}, ids(got))
		lane := b.lane("high")
		b.same("left", 301, len(lane))
		b.same("in order", true, slices.IsSorted(lane[:300]))

		// With orphans among them only those are put off.
		b.do("DEL", scripts.Key("queue")+"high")
		b.flush()
		b.must(b.Beat(b.ctx(), scripts.Presence{ID: "w2", Names: []string{"elsewhere"}, Queues: []string{"high"}}))
		for i := range 129 {
			name := "elsewhere"
			if i%10 == 0 {
				name = "orphan"
			}
			b.add(scripts.NewJob{ID: fmt.Sprintf("j%03d", i), Queue: "high", Name: name})
		}
		b.add(scripts.NewJob{ID: "mine", Queue: "high"})
		r := b.takeAs("w1", 1, time.Minute, "test")
		b.same("again", true, r.Again)
		b.same("orphans are put off", int64(13), b.gap0().Delayed)
		b.same("taken", []string{"mine"}, ids(b.take(5)))
		b.same("others are left", 116, len(b.lane("high")))
	})
}

// A lane deeper than one looks is dug into, whoever handles its jobs.
func TestADeepForeignLaneBlocksNothing(t *testing.T) {
	each(t, func(b *bench) {
		b.must(b.Beat(b.ctx(), scripts.Presence{ID: "w2", Names: []string{"elsewhere"}, Queues: []string{"high"}}))
		for i := range 3 {
			b.addAll(batch(400, scripts.NewJob{ID: fmt.Sprint("e", i), Name: "elsewhere", Queue: "high"}))
		}
		b.add(scripts.NewJob{ID: "mine", Queue: "high"})
		b.add(scripts.NewJob{ID: "low", Queue: "low"})
		var got []string
		for range 10 {
			got = append(got, ids(b.take(1))...)
		}
		slices.Sort(got)
		b.same("taken", []string{"low", "mine"}, got)
		b.gap0()
	})
}

func (b *bench) offer(limit int, offers ...scripts.Offer) []string {
	b.t.Helper()
	b.seq++
	r, err := b.Reserve(b.ctx(), scripts.ReserveArgs{Token: fmt.Sprint("w1:", b.seq), Lease: time.Minute, Limit: limit, Names: []string{"test"}, Offers: offers})
	b.must(err)
	queues := []string{}
	for _, l := range r.Jobs {
		queues = append(queues, l.Job.Queue[:1])
	}
	return queues
}

func TestOffers(t *testing.T) {
	each(t, func(b *bench) {
		for _, queue := range []string{"low", "medium", "high"} {
			b.addAll(batch(5, scripts.NewJob{ID: queue, Queue: queue}))
		}
		b.same("strict", []string{"h", "h", "m", "m", "m", "m"}[:2], b.offer(2, scripts.Offer{"high", 2}, scripts.Offer{"medium", 2}, scripts.Offer{"low", 2}))
		b.same("weighted", []string{"h", "m", "m", "l"}, b.offer(4, scripts.Offer{"high", 1}, scripts.Offer{"medium", 2}, scripts.Offer{"low", 1}))
		b.same("the rest goes round", []string{"h", "h", "m"}, b.offer(3, scripts.Offer{"high", 2}, scripts.Offer{"medium", 1}, scripts.Offer{"low", 0}))
		b.same("quotas first", []string{"m", "l", "m"}, b.offer(3, scripts.Offer{"high", 1}, scripts.Offer{"medium", 1}, scripts.Offer{"low", 1}))
		b.must(b.PauseQueue(b.ctx(), "low", "me", "why"))
		b.same("paused", []string{}, b.offer(5, scripts.Offer{"low", 5}))
		b.must(b.ResumeQueue(b.ctx(), "low"))
		b.same("resumed", []string{"l", "l", "l"}, b.offer(9, scripts.Offer{"high", 3}, scripts.Offer{"low", 9}))
	})
}

// calls reads and takes the wake-up calls of a list.
func (b *bench) calls(key string) []string {
	b.t.Helper()
	list := b.raw().LRange(b.ctx(), key, 0, -1).Val()
	b.do("DEL", key)
	return list
}

func TestWakeUpCalls(t *testing.T) {
	each(t, func(b *bench) {
		key, promoter := scripts.Key("wake")+"medium", scripts.Key("wake_promoter")
		one, none := []string{"-"}, []string{}

		b.add(scripts.NewJob{ID: "a"})
		b.add(scripts.NewJob{ID: "b"})
		b.same("enqueue", one, b.calls(key))
		got := b.take(1)
		b.same("work is left", one, b.calls(key))
		b.take(1)
		b.same("nothing is left", none, b.calls(key))
		_, err := b.Release(b.ctx(), leasesOf(got))
		b.must(err)
		b.same("release", one, b.calls(key))
		b.take(1)
		subject{b: b, id: "a"}.lapse()
		b.reapAll(5)
		b.same("reap", one, b.calls(key))
		b.fail(b.take(1)[0], job.ReasonAttempts, 0)
		b.calls(key)
		_, err = b.Revive(b.ctx(), "a")
		b.must(err)
		b.same("revive", one, b.calls(key))
		b.must(b.PauseQueue(b.ctx(), "medium", "me", ""))
		b.same("pause", none, b.calls(key))
		b.must(b.ResumeQueue(b.ctx(), "medium"))
		b.same("resume", one, b.calls(key))

		b.calls(promoter)
		b.add(scripts.NewJob{ID: "c", Delay: time.Hour})
		b.same("a new head", one, b.calls(promoter))
		b.add(scripts.NewJob{ID: "d", Delay: 2 * time.Hour})
		b.same("behind the head", none, b.calls(promoter))
		_, err = b.Reschedule(b.ctx(), "d", 3*time.Hour, time.Time{})
		b.must(err)
		b.same("still behind", none, b.calls(promoter))
		_, err = b.Reschedule(b.ctx(), "d", time.Minute, time.Time{})
		b.must(err)
		b.same("rescheduled to the head", one, b.calls(promoter))
		b.fail(b.take(1)[0], "", time.Second)
		b.same("a retry at the head", one, b.calls(promoter))
		b.calls(key)
		_, err = b.Revive(b.ctx(), "c")
		b.must(err)
		b.same("due now", one, b.calls(promoter))
		b.pass(2 * time.Millisecond)
		b.same("promoted", 1, b.promote())
		b.same("promote", one, b.calls(key))
	})
}

// A call that nobody here can use goes from process to process, each once.
func TestAWakeUpCallDiesOut(t *testing.T) {
	each(t, func(b *bench) {
		key := scripts.Key("wake") + "medium"
		b.add(scripts.NewJob{Name: "foreign"})
		call := b.calls(key)[0]
		woken := func(worker, content string) []string {
			b.t.Helper()
			r, err := b.Reserve(b.ctx(), scripts.ReserveArgs{Token: worker + ":1", Lease: time.Minute, Limit: 5, Names: []string{"test"},
				Offers: []scripts.Offer{{"high", 5}, {"medium", 5}}, WokenFor: "medium", Call: content})
			b.must(err)
			b.same("left", true, r.Left)
			return b.calls(key)
		}
		hops := 0
		for hops < 10 {
			next := woken([]string{"worker-a", "worker-b", "worker-c"}[hops%3], call)
			if len(next) == 0 {
				break
			}
			call = next[0]
			hops++
		}
		b.same("hops", 3, hops)
		b.same("call", "- worker-a worker-b worker-c", call)
		b.takeAs("worker-d", 5, time.Minute, "test")
		b.same("not woken, took nothing", []string{}, b.calls(key))
	})
}

func TestAThousandQueues(t *testing.T) {
	each(t, func(b *bench) {
		var jobs []scripts.NewJob
		for i := range 500 {
			jobs = append(jobs, scripts.NewJob{ID: fmt.Sprint("a", i), Queue: fmt.Sprint("q", i), Name: "test"})
		}
		b.addAll(jobs)
		for i := range jobs {
			jobs[i].ID, jobs[i].Queue = fmt.Sprint("b", i), fmt.Sprint("r", i)
		}
		jobs = append(jobs[:498], scripts.NewJob{ID: "last", Queue: "last", Name: "test", Delay: time.Hour}, scripts.NewJob{ID: "x", Queue: "last", Name: "test"})
		b.addAll(jobs)
		b.must(b.PauseQueue(b.ctx(), "one-more", "me", "")) // the 1,000th
		results, err := enqueue(b.Set, b.ctx(), []scripts.NewJob{{ID: "y", Queue: "too-many", Name: "test"}, {ID: "z", Queue: "q0", Name: "test"}})
		b.must(err)
		if results[0].Err == nil || results[1].Err != nil {
			b.t.Errorf("%+v", results)
		}
		b.gone("y")
		if err := b.PauseQueue(b.ctx(), "another", "me", ""); err == nil {
			b.t.Error("the 1,001st queue was paused")
		}
		b.must(b.Beat(b.ctx(), scripts.Presence{ID: "w", Queues: []string{"another"}}))
		b.same("queues", int64(1000), b.raw().HLen(b.ctx(), scripts.Key("queues")).Val())
		b.apply(scripts.Change{Act: "add", Name: "s", Definition: "d"})
		tick := b.tick(b.schedule("s"), b.now().Add(time.Hour))
		tick.Queue = "too-many"
		b.plan("s", tick)
		b.same("a tick with no lane is counted", "1", b.raw().HGet(b.ctx(), scripts.Key("schedule")+"s", "missed").Val())
		b.same("created", int64(1001), b.gap0().Created)
	})
}
