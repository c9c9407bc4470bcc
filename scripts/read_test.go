package scripts_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/bide-go/bide/job"
	"github.com/bide-go/bide/scripts"
)

// pages reads a place to its end; between runs after every page.
func (b *bench) pages(p scripts.Page, between func(page int)) []string {
	b.t.Helper()
	list := []string{}
	for page := 0; ; page++ {
		jobs, next, looked, err := b.List(b.ctx(), p)
		b.must(err)
		for _, j := range jobs {
			list = append(list, j.ID)
			if j.Args != nil || j.Headers != nil {
				b.t.Errorf("a listed job has args: %+v", j)
			}
		}
		if looked > p.Look || len(jobs) > p.Want {
			b.t.Errorf("looked at %d for %d jobs, asked for %d and %d", looked, len(jobs), p.Look, p.Want)
		}
		if next == "" {
			return list
		}
		if page > 100 {
			b.t.Fatal("the listing does not end")
		}
		if between != nil {
			between(page)
		}
		p.After = next
	}
}

func TestListEveryPlace(t *testing.T) {
	each(t, func(b *bench) {
		at := time.UnixMilli(4102444800000)
		var want []string
		for i := range 10 {
			id := fmt.Sprintf("j%d", i)
			want = append(want, id)
			b.add(scripts.NewJob{ID: id, At: at, Retention: time.Hour, Args: []byte("[1]")}) // all of one score
		}
		check := func(place, lane string) {
			b.t.Helper()
			for _, size := range [][2]int{{1, 1}, {3, 2}, {10, 10}, {11, 4}, {1000, 1000}} {
				b.same(fmt.Sprint(place, lane, size), want, b.pages(scripts.Page{Place: place, Lane: lane, Look: size[0], Want: size[1]}, nil))
			}
			b.same("none match", []string{}, b.pages(scripts.Page{Place: place, Lane: lane, Look: 3, Want: 3, Name: "other"}, nil))
			b.same("all match", want, b.pages(scripts.Page{Place: place, Lane: lane, Look: 3, Want: 3, Name: "test", Queue: "medium"}, nil))
		}
		check("delayed", "")
		for _, id := range want {
			_, err := b.Revive(b.ctx(), id)
			b.must(err)
		}
		b.pass(time.Millisecond)
		b.promote()
		want = b.lane("medium-delayed")
		check("lane", "medium-delayed")
		got := b.take(10)
		check("active", "")
		for _, l := range got {
			b.fail(l, job.ReasonAttempts, 0)
		}
		check("dead", "")
		for _, l := range got {
			_, err := b.Revive(b.ctx(), l.Job.ID)
			b.must(err)
		}
		b.complete(b.take(10)...)
		check("finished", "")
		b.same("by state", want, b.pages(scripts.Page{Place: "finished", Look: 4, Want: 4, State: job.Completed}, nil))
		b.same("by another state", []string{}, b.pages(scripts.Page{Place: "finished", Look: 4, Want: 4, State: job.Cancelled}, nil))
		b.same("an empty place", []string{}, b.pages(scripts.Page{Place: "lane", Lane: "low", Look: 4, Want: 4}, nil))
	})
}

// While pages are read, what stays is listed once, whatever comes and goes.
func TestListWhileThingsChange(t *testing.T) {
	each(t, func(b *bench) {
		for i := range 30 {
			b.add(scripts.NewJob{ID: fmt.Sprintf("j%02d", i), At: time.UnixMilli(4102444800000 + int64(i/3))})
		}
		gone := map[string]bool{}
		got := b.pages(scripts.Page{Place: "delayed", Look: 4, Want: 4}, func(page int) {
			for _, i := range []int{4*page + 3, page, 29 - page} { // the entry of the cursor, behind it, ahead of it
				id := fmt.Sprintf("j%02d", i)
				if !gone[id] {
					subject{b: b, id: id}.ask()
					gone[id] = true
				}
			}
			b.add(scripts.NewJob{ID: fmt.Sprintf("new-%d", page), At: time.UnixMilli(4102444800000 - int64(page))})
		})
		seen := map[string]int{}
		for _, id := range got {
			seen[id]++
		}
		for i := range 30 {
			id := fmt.Sprintf("j%02d", i)
			if seen[id] > 1 || !gone[id] && seen[id] != 1 {
				b.t.Errorf("%s was listed %d times: %v", id, seen[id], got)
			}
		}
	})
}

// Ghosts and foreign entries have no row.
func TestListLeavesOutWhatIsNoJob(t *testing.T) {
	each(t, func(b *bench) {
		b.fill(1100)
		_, err := b.Cancel(b.ctx(), "fill-0-0001")
		b.must(err)
		b.add(scripts.NewJob{ID: "fill-0-0001", Delay: time.Hour})
		b.do("LPUSH", scripts.Key("queue")+"low", "foreign")
		jobs, next, looked, err := b.List(b.ctx(), scripts.Page{Place: "lane", Lane: "low", Look: 4, Want: 4})
		b.must(err)
		b.same("jobs", "fill-0-0000 fill-0-0002", jobs[0].ID+" "+jobs[1].ID)
		b.same("next", "4", next)
		b.same("looked", 4, looked)
		b.take(1)
	})
}

func TestFindEnd(t *testing.T) {
	each(t, func(b *bench) {
		var none *job.StateError
		if _, err := b.FindEnd(b.ctx(), "a"); !errors.Is(err, job.ErrNotFound) || errors.As(err, &none) {
			b.t.Errorf("%v", err)
		}
		b.addAll(batch(200, scripts.NewJob{ID: "x"}))
		b.add(scripts.NewJob{ID: "x1"})
		b.complete(b.take(200)...)
		if _, err := b.FindEnd(b.ctx(), "x1"); !errors.Is(err, job.ErrNotFound) {
			b.t.Errorf("a part of another id was found: %v", err)
		}
		for _, id := range []string{"x0000", "x0063", "x0064", "x0199"} {
			end, err := b.FindEnd(b.ctx(), id)
			b.must(err)
			if end.State != job.Completed || b.now().Sub(time.UnixMilli(end.At)).Abs() > time.Minute {
				b.t.Errorf("%s: %+v", id, end)
			}
		}
		// The newest end counts, over more entries than one page has.
		b.fail(b.take(1)[0], job.ReasonAttempts, 0)
		for i := range 600 {
			b.do("XADD", scripts.Key("events"), "*", "other", fmt.Sprint(i))
		}
		end, err := b.FindEnd(b.ctx(), "x1")
		b.must(err)
		b.same("end", job.Dead, end.State)
		_, err = b.Revive(b.ctx(), "x1")
		b.must(err)
		b.complete(b.take(1)...)
		end, err = b.FindEnd(b.ctx(), "x1")
		b.must(err)
		b.same("end", job.Completed, end.State)
	})
}

func TestStats(t *testing.T) {
	onMini(t, func(b *bench) {
		empty, err := b.Stats(b.ctx())
		b.must(err)
		if empty.Sum != (scripts.Sum{}) || len(empty.Queues) != 0 || !empty.PromoterBeat.IsZero() || !empty.SchedulerBeat.IsZero() {
			b.t.Errorf("empty: %+v", empty)
		}
		b.must(b.Beat(b.ctx(), scripts.Presence{ID: "w1", Queues: []string{"high", "low"}, Names: []string{"test"}}))
		b.apply(scripts.Change{Act: "add", Name: "s", Definition: "d", Suspended: true}, scripts.Change{Act: "add", Name: "t", Definition: "d"})
		b.do("HSET", scripts.Key("schedule")+"t", "consecutiveFailures", 2)
		b.add(scripts.NewJob{ID: "a"})
		b.add(scripts.NewJob{ID: "d", Delay: time.Second})
		b.pass(3 * time.Second)
		b.add(scripts.NewJob{ID: "b"})
		b.add(scripts.NewJob{ID: "later", Delay: time.Hour})
		_, err = b.Promote(b.ctx(), 10, true)
		b.must(err)
		b.must(b.PauseQueue(b.ctx(), "low", `me "at":0`, "why"))
		b.fail(b.take(1)[0], job.ReasonAttempts, 0)
		b.take(1)
		b.add(scripts.NewJob{ID: "kept", Queue: "high", Retention: time.Hour})
		b.complete(b.take(1)...)
		b.do("ZADD", scripts.Key("inbox"), 1, "x")
		b.do("XADD", scripts.Key("rejected"), "*", "a", "b")
		st, err := b.Stats(b.ctx())
		b.must(err)
		now := b.now().Truncate(time.Millisecond)
		b.same("beats", []bool{true, true}, []bool{st.PromoterBeat.Equal(now), st.SchedulerBeat.Before(now) && !st.SchedulerBeat.IsZero()})
		b.same("schedules", []int64{2, 1, 1}, []int64{st.Schedules, st.SchedulesPaused, st.SchedulesFailing})
		b.same("stored", []int64{1, 1, 1, 1, 1}, []int64{st.StoredDead, st.StoredFinished, st.Inbox, st.Rejected, st.Workers})
		b.same("sum", scripts.Sum{Created: 5, Delayed: 1, Waiting: 1, Active: 1, Completed: 1, Dead: 1}, st.Sum)
		byName := map[string]scripts.QueueStats{}
		for _, q := range st.Queues {
			byName[q.Queue] = q
		}
		medium := scripts.QueueStats{Queue: "medium", Waiting: 1, Active: 1}
		b.same("medium", medium, byName["medium"])
		if q := byName["low"]; q.Pause == nil || q.Pause.By != `me "at":0` || q.Pause.Reason != "why" || q.Pause.At != now.UnixMilli() {
			b.t.Errorf("low: %+v", q.Pause)
		}
		b.pass(7 * time.Second)
		b.must(b.Leave(b.ctx(), "w1"))
		st, err = b.Stats(b.ctx())
		b.must(err)
		for _, q := range st.Queues {
			if q.Queue == "medium" && q.Oldest != 7*time.Second {
				b.t.Errorf("oldest %v", q.Oldest)
			}
		}
		b.same("workers", int64(0), st.Workers)
		b.same("queues", 3, len(st.Queues))
	})
}

func TestANewerLayoutIsRefused(t *testing.T) {
	each(t, func(b *bench) {
		b.must(b.Hello(b.ctx()))
		b.must(b.Hello(b.ctx()))
		b.do("HSET", scripts.Key("meta"), "layout", scripts.Layout+1)
		if err := b.Hello(b.ctx()); err == nil || errors.Is(err, job.ErrUnavailable) {
			b.t.Errorf("hello: %v", err)
		}
	})
}
