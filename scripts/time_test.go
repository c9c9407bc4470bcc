package scripts_test

import (
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/bide-go/bide/job"
	"github.com/bide-go/bide/scripts"
)

// Nothing starts early by a fraction, and what is past starts now.
func TestDelaysAreNeverEarly(t *testing.T) {
	onMini(t, func(b *bench) {
		for _, micros := range []int{0, 1, 499, 999} {
			start := time.Date(2030, 1, 2, 3, 4, 5, micros*1000, time.UTC)
			b.Mini.SetTime(start)
			for _, d := range []time.Duration{1, time.Microsecond, 999 * time.Microsecond, time.Millisecond, time.Millisecond + 1, 1500 * time.Microsecond} {
				r := b.enqueue(scripts.NewJob{ID: fmt.Sprint(micros, "-", int64(d)), Queue: "low", Name: "test", Delay: d})
				if r.State != job.Delayed || r.Due.Before(start.Add(d)) || r.Due.After(start.Add(d+2*time.Millisecond)) {
					b.t.Errorf("at %s, in %v: %+v", start, d, r)
				}
				at := start.Add(d)
				r = b.enqueue(scripts.NewJob{ID: fmt.Sprint("at-", micros, "-", int64(d)), Queue: "low", Name: "test", At: at})
				if r.Due.Before(at) && r.State == job.Delayed || r.Due.After(at.Add(2*time.Millisecond)) {
					b.t.Errorf("at %s, at %v: %+v", start, at, r)
				}
			}
			for b.promote() > 0 {
			}
			for _, l := range b.take(500) {
				if l.Job.Due.After(l.Job.Started) {
					b.t.Errorf("%s is due %s and started %s", l.Job.ID, l.Job.Due, l.Job.Started)
				}
			}
		}
	})
}

func TestZeroAndNegativeDelaysMeanNow(t *testing.T) {
	each(t, func(b *bench) {
		for i, n := range []scripts.NewJob{
			{}, {Delay: -1}, {Delay: -time.Hour}, {Delay: math.MinInt64}, {At: time.Unix(0, 0)}, {At: time.Unix(-5, 5)},
			{At: time.Date(1, 1, 1, 0, 0, 1, 0, time.UTC)}, {At: b.now().Add(-time.Second)},
		} {
			n.ID, n.Queue, n.Name = fmt.Sprint("j", i), "low", "test"
			r := b.enqueue(n)
			if r.State != job.Waiting || r.Due.IsZero() || r.Due.After(b.now()) {
				b.t.Errorf("%+v: %+v", n, r)
			}
		}
		b.same("taken", 8, len(b.take(9)))
	})
}

// Instants centuries away survive every number on their way.
func TestFarDates(t *testing.T) {
	each(t, func(b *bench) {
		for i, at := range []time.Time{
			time.Date(2100, 2, 28, 23, 59, 59, 1e6, time.UTC), time.Date(5138, 11, 16, 9, 46, 40, 7e6, time.UTC),
			time.Date(9999, 12, 31, 23, 59, 59, 999e6, time.UTC),
		} {
			id := b.add(scripts.NewJob{ID: fmt.Sprint("far-", i), At: at, Expiry: at.Add(time.Millisecond)})
			j := b.state(id, job.Delayed)
			if !j.Due.Equal(at) || !j.Expiry.Equal(at.Add(time.Millisecond)) {
				b.t.Errorf("due %s, want %s; expiry %s", j.Due, at, j.Expiry)
			}
			r := b.enqueue(scripts.NewJob{ID: id, Queue: "low", Name: "test"})
			if !r.Due.Equal(at) {
				b.t.Errorf("deduplicated: due %s, want %s", r.Due, at)
			}
			later := at.Add(-time.Hour)
			due, err := b.Reschedule(b.ctx(), id, 0, later)
			b.must(err)
			if !due.Equal(later) || !b.state(id, job.Delayed).Due.Equal(later) {
				b.t.Errorf("rescheduled to %s, want %s", due, later)
			}
			p, err := b.Promote(b.ctx(), 10, false)
			b.must(err)
			if p.Taken != 0 || p.Next < 24*time.Hour {
				b.t.Errorf("due %s: %+v", at, p)
			}
			jobs, _, _, err := b.List(b.ctx(), scripts.Page{Place: "delayed", Look: 9, Want: 9})
			b.must(err)
			if !jobs[0].Due.Equal(later) {
				b.t.Errorf("listed: %s, want %s", jobs[0].Due, later)
			}
			subject{b: b, id: id}.ask()
		}
		r := b.enqueue(scripts.NewJob{ID: "longest", Queue: "low", Name: "test", Delay: math.MaxInt64, ExpiryIn: math.MaxInt64, Retention: math.MaxInt64})
		if r.State != job.Delayed || r.Due.Before(b.now().AddDate(290, 0, 0)) {
			b.t.Errorf("%+v", r)
		}
		b.add(scripts.NewJob{ID: "retry"})
		l := b.take(1)[0]
		b.fail(l, "", math.MaxInt64)
		if due := b.state("retry", job.Delayed).Due; due.Before(b.now().AddDate(290, 0, 0)) {
			b.t.Errorf("retry due %s", due)
		}
	})
}

// Jobs of one due time come out in the order in which they were created, over many
// calls, queues and kinds.
func TestTiesComeOutInOrderOfArrival(t *testing.T) {
	each(t, func(b *bench) {
		at := b.now().Add(20 * time.Millisecond)
		var want []string
		for i := range 300 {
			id := fmt.Sprintf("%x-%d", (i*7919)%300, i) // not in the order of ids
			n := scripts.NewJob{ID: id, At: at}
			if i%3 == 0 {
				n.Retention = time.Hour
			}
			b.add(n)
			want = append(want, id)
		}
		b.pass(25 * time.Millisecond)
		for range 6 {
			_, err := b.Promote(b.ctx(), 50, false)
			b.must(err)
		}
		var got []string
		for range 10 {
			got = append(got, ids(b.take(30))...)
		}
		b.same("order", want, got)
	})
}

// A job that was not started in time ends, also where nobody would pop it.
func TestExpiryInPausedAndUnservedQueues(t *testing.T) {
	each(t, func(b *bench) {
		b.must(b.PauseQueue(b.ctx(), "medium", "me", "why"))
		b.add(scripts.NewJob{ID: "paused", ExpiryIn: 2 * time.Millisecond, Unique: "p"})
		b.add(scripts.NewJob{ID: "unserved", Queue: "nobody", ExpiryIn: 2 * time.Millisecond, Retention: time.Hour})
		b.add(scripts.NewJob{ID: "delayed", Delay: time.Hour, ExpiryIn: 2 * time.Millisecond})
		b.add(scripts.NewJob{ID: "kept", ExpiryIn: time.Hour})
		b.add(scripts.NewJob{ID: "started", Queue: "high", ExpiryIn: 50 * time.Millisecond})
		started := b.take(1)
		b.same("started", []string{"started"}, ids(started))
		b.pass(60 * time.Millisecond)
		expired, more, err := b.Expire(b.ctx(), 2)
		b.must(err)
		b.same("expired", 2, expired)
		b.same("more", true, more)
		expired, more, err = b.Expire(b.ctx(), 2)
		b.must(err)
		b.same("expired", 1, expired)
		b.same("more", false, more)
		b.gone("paused")
		b.gone("delayed")
		j := b.state("unserved", job.Expired)
		if j.Reason != job.ReasonDeadline || j.Finished.IsZero() {
			b.t.Errorf("%+v", j)
		}
		b.add(scripts.NewJob{ID: "again", Unique: "p"})
		// A retry of a job that was started is not too late.
		b.fail(started[0], "", 0)
		b.pass(time.Millisecond)
		b.promote()
		b.same("retry", []string{"started"}, ids(b.take(1)))
		b.sum(scripts.Sum{Created: 6, Waiting: 2, Active: 1, Expired: 3})
	})
}

// A late job that is popped before the sweep sees it ends too.
func TestALateJobIsNotStarted(t *testing.T) {
	each(t, func(b *bench) {
		b.add(scripts.NewJob{ID: "late", ExpiryIn: time.Millisecond})
		b.add(scripts.NewJob{ID: "kept", Expiry: b.now().Add(time.Hour)})
		b.pass(3 * time.Millisecond)
		b.same("taken", []string{"kept"}, ids(b.take(9)))
		b.gone("late")
		end, err := b.FindEnd(b.ctx(), "late")
		b.must(err)
		b.same("end", job.Expired, end.State)
		b.same("reason", job.ReasonDeadline, end.Reason)
	})
}

// fixed are the keys that a system keeps when all its jobs have gone.
var fixed = []string{"counts", "events", "queues", "rejected", "meta", "schedules", "schedule:s", "succeeded:s", "failed:s", "workers", "beats", "names", "wake:medium", "wake:low", "wake@promoter", "wake@worker:w1"}

func (b *bench) leftovers() []string {
	left := []string{}
	for key := range b.dump() {
		if !slices.Contains(fixed, key[len("{bide}:"):]) {
			left = append(left, key)
		}
	}
	slices.Sort(left)
	return left
}

// When retention is over nothing is left of a job.
func TestRetentionLeavesNoKeysBehind(t *testing.T) {
	onMini(t, func(b *bench) {
		b.apply(scripts.Change{Act: "add", Name: "s", Definition: "d"})
		for i, retention := range []time.Duration{0, time.Second, time.Hour} {
			id := fmt.Sprint("r", i)
			n := func(end string) scripts.NewJob {
				return scripts.NewJob{ID: end + id, Retention: retention, Unique: end + id, ExpiryIn: time.Minute, Schedule: "s", Incarnation: "1"}
			}
			for _, end := range []string{"cancelled", "expired", "completed", "dead"} {
				b.add(n(end))
			}
			subject{b: b, id: "cancelled" + id}.ask()
			subject{b: b, id: "expired" + id}.late()
			_, _, err := b.Expire(b.ctx(), 9)
			b.must(err)
			l := b.take(1)[0]
			b.fail(l, "", 0)
			b.pass(time.Millisecond)
			b.promote()
			got := b.take(2)
			b.same("taken", 2, len(got))
			for _, l := range got {
				if l.Job.ID == "dead"+id {
					b.fail(l, job.ReasonAttempts, 0)
				} else {
					b.complete(l)
				}
			}
		}
		b.same("retained", 6, len(b.raw().ZRange(b.ctx(), scripts.Key("finished"), 0, -1).Val()))
		b.pass(2 * time.Second)
		trimmed, err := b.Trim(b.ctx(), 100, 24*time.Hour, 100)
		b.must(err)
		b.same("after 2 s", scripts.Trimmed{Finished: 3}, trimmed)
		b.pass(2 * time.Hour)
		trimmed, err = b.Trim(b.ctx(), 100, time.Hour, 100)
		b.must(err)
		b.same("after 2 h", scripts.Trimmed{Finished: 3, Dead: 3}, trimmed)
		b.same("left", []string{}, b.leftovers())
		b.sum(scripts.Sum{Created: 12, Completed: 3, Dead: 3, Cancelled: 3, Expired: 3})
	})
}

func TestTheDeadAreCapped(t *testing.T) {
	onMini(t, func(b *bench) {
		for i := range 10 {
			b.add(scripts.NewJob{ID: fmt.Sprint("d", i)})
			b.fail(b.take(1)[0], job.ReasonAttempts, 0)
			b.pass(time.Second)
		}
		for _, want := range []int{3, 3, 0} {
			trimmed, err := b.Trim(b.ctx(), 3, time.Hour, 4)
			b.must(err)
			b.same("trimmed", scripts.Trimmed{Dead: want}, trimmed)
		}
		b.same("the newest stay", []string{"d6", "d7", "d8", "d9"}, b.raw().ZRange(b.ctx(), scripts.Key("dead"), 0, -1).Val())
		trimmed, err := b.Trim(b.ctx(), 10, time.Second, 4)
		b.must(err)
		b.same("past their retention", scripts.Trimmed{Dead: 4}, trimmed)
		b.same("left", []string{}, b.leftovers())
		b.sum(scripts.Sum{Created: 10, Dead: 10})
	})
}

func TestArgsComeBackExactly(t *testing.T) {
	deep := ""
	for range 1000 {
		deep += "["
	}
	for range 1000 {
		deep += "]"
	}
	each(t, func(b *bench) {
		for i, args := range []string{
			`12345678901234567`, `[]`, `{}`, `null`, `""`, `{"a":[],"b":{},"c":1e400,"n":-0.0,"big":123456789012345678901234567890}`,
			"{ \"spaced\" :\t[ 1 ,\n 2 ] }\r\n", `"\u0000\ud800 \u2028` + "\u2028 é 漢 😀" + `"`, deep, ` 1`, `{"a":1,"a":2}`,
		} {
			id := b.add(scripts.NewJob{ID: fmt.Sprint("a", i), Args: []byte(args), Headers: map[string]string{"k": "a\nb\tc\u0000"}})
			l := b.take(1)[0]
			b.must(l.Err)
			b.same("args", args, string(l.Job.Args))
			b.same("headers", map[string]string{"k": "a\nb\tc\u0000"}, l.Job.Headers)
			b.same("inspected", args, string(b.state(id, job.Active).Args))
		}
		b.add(scripts.NewJob{ID: "none"})
		b.same("no args", "null", string(b.take(1)[0].Job.Args))
	})
}
