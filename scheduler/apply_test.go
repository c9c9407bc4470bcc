package scheduler

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bide-go/bide/internal/redistest"
	"github.com/bide-go/bide/job"
)

// sec is an instant s seconds after nine.
func sec(s int) time.Time { return nine.Add(time.Duration(s) * time.Second) }

func wantIDs(t testing.TB, what string, want, got []string) {
	t.Helper()
	if len(want) == 0 && len(got) == 0 {
		return
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

func TestAddedSchedulesStartFromNow(t *testing.T) {
	t.Parallel()
	r := mini(t)
	s := r.scheduler("a")
	s.step()
	if got := r.applied(); len(got) != 0 || r.revision() != "" {
		t.Fatalf("without definitions %v is applied at revision %q", got, r.revision())
	}
	r.at(nine.Add(300 * time.Millisecond))
	s.apply(every("tens", "@every 10s"), every("daily", "@daily"))
	want := append(ticks("tens", series(sec(10), sec(60), 10*time.Second)...), "daily@2026-12-01T00:00:00Z")
	wantIDs(t, "planned", want, r.planned())
	if got := s.log.find("schedules applied"); len(got) != 1 || got[0]["added"] != 2.0 {
		t.Errorf("log: %s", s.log)
	}
	if got := r.get("daily@2026-12-01T00:00:00Z"); got.Schedule != "daily" || !got.Tick.Equal(at(t, "2026-12-01T00:00:00Z")) || got.Trigger != job.TriggerSchedule || got.State != job.Delayed {
		t.Errorf("the job of a tick: %+v", got)
	}
}

func TestRemovedSchedulesLoseTheirPlannedTicks(t *testing.T) {
	t.Parallel()
	r := mini(t)
	s := r.scheduler("a")
	s.apply(every("gone", "@every 10s"), every("stays", "@every 20s"))
	r.at(sec(10).Add(50 * time.Millisecond)) // due, and not promoted yet: claimed
	s.apply(every("stays", "@every 20s"))

	wantIDs(t, "planned", append(ticks("gone", sec(10)), ticks("stays", sec(20), sec(40), sec(60))...), r.planned())
	wantIDs(t, "applied", []string{"stays"}, r.applied())
	end, err := r.set.FindEnd(context.Background(), "gone@2026-11-30T09:00:30Z")
	if err != nil || end.State != job.Cancelled || end.Reason != job.ReasonRemoved {
		t.Errorf("the end of a planned tick: %+v, %v", end, err)
	}
	if sum := r.sum(); sum.Cancelled != 5 {
		t.Errorf("cancelled: want 5, got %d", sum.Cancelled)
	}
	wantIDs(t, "run", ticks("gone", sec(10)), r.run())
}

func TestRetimedSchedulesArePlannedAnew(t *testing.T) {
	t.Parallel()
	r := mini(t)
	s := r.scheduler("a")
	s.apply(every("s", "@every 10s"))
	r.at(sec(25))
	wantIDs(t, "run before", ticks("s", sec(10), sec(20))[1:], r.run()) // 10 was missed meanwhile
	s.apply(every("s", "@every 15s"))
	wantIDs(t, "planned", ticks("s", sec(30), sec(45), sec(60), sec(75)), r.planned())
	if r.sum().Cancelled == 0 {
		t.Error("no old tick was cancelled")
	}
	if got := s.log.find("schedules applied"); len(got) != 2 || got[1]["changed"] != 1.0 {
		t.Errorf("log: %s", s.log)
	}
}

func TestRewrittenSchedulesKeepTheirTicks(t *testing.T) {
	t.Parallel()
	r := mini(t)
	s := r.scheduler("a")
	d := every("s", "@every 10s")
	d.Args = json.RawMessage(`{"v":1}`)
	s.apply(d)
	r.at(sec(10))
	wantIDs(t, "run before", ticks("s", sec(10)), r.run())
	before := r.planned()
	created := r.sum().Created

	d.Args, d.Queue, d.Job, d.Timeout, d.MaxAttempts = json.RawMessage(`{"v":12345678901234567,"l":[]}`), "high", "tock", time.Minute, 9
	s.apply(d)
	wantIDs(t, "planned", before, r.planned())
	if sum := r.sum(); sum.Created != created || sum.Cancelled != 0 {
		t.Errorf("ticks were made anew: %+v", sum)
	}
	for _, id := range before {
		j := r.get(id)
		if string(j.Args) != string(d.Args) || j.Queue != "high" || j.Name != "tock" || j.Timeout != time.Minute || j.MaxAttempts != 9 || j.State != job.Delayed {
			t.Errorf("%s carries the old job: %+v", id, j)
		}
	}
	var ran []string
	for i := 2; i <= 9; i++ {
		r.at(sec(10 * i))
		s.step()
		ran = append(ran, r.run()...)
	}
	wantIDs(t, "run after", ticks("s", series(sec(20), sec(90), 10*time.Second)...), ran)
}

// A rewrite into a queue that is new must keep the sum right at every instant.
func TestRewriteIntoANewQueueKeepsTheSum(t *testing.T) {
	t.Parallel()
	r := mini(t)
	s := r.scheduler("a")
	d := every("s", "@daily")
	s.apply(d)
	d.Queue = "brand-new"
	s.apply(d)
	r.at(at(t, "2026-12-01T00:00:00Z"))
	r.promote()
	r.sum()
	if got := r.get("s@2026-12-01T00:00:00Z"); got.State != job.Waiting || got.Queue != "brand-new" {
		t.Errorf("the tick is %s in %q", got.State, got.Queue)
	}
	s.step() // the next tick makes the queue known at the latest
	wantIDs(t, "run", ticks("s", at(t, "2026-12-01T00:00:00Z")), idsOf(r.work()))
}

func idsOf(jobs []*job.Job) []string {
	var ids []string
	for _, j := range jobs {
		ids = append(ids, j.ID)
	}
	return ids
}

// Each scheduler mirrors cursors; what another one planned meanwhile is rewritten, too.
func TestRewriteReachesTicksThatAnotherSchedulerPlanned(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		expression string
		planned    time.Time
	}{
		"every second": {"@every 1s", nine.Add(32 * time.Second)},
		"daily":        {"0 9 * * *", nine.Add(24*time.Hour + 200*time.Millisecond)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := mini(t)
			a, b := r.scheduler("a"), r.scheduler("b")
			d := every("s", tt.expression)
			a.apply(d)
			b.step()
			r.at(tt.planned)
			b.step() // plans further, which a does not know
			d.Args = json.RawMessage(`"new"`)
			if err := a.Replace([]Definition{d}, nil); err != nil {
				t.Fatal(err)
			}
			a.step()
			for _, id := range r.planned() {
				if j := r.get(id); j.Tick.After(r.clock) && string(j.Args) != `"new"` {
					t.Errorf("%s carries the old args %s", id, j.Args)
				}
			}
		})
	}
}

func TestUnchangedSchedulesAreUntouched(t *testing.T) {
	t.Parallel()
	r := mini(t)
	s := r.scheduler("a")
	d := every("s", "@every 10s")
	d.File, d.Line = "a.yaml", 3
	s.apply(d)
	before, number := r.revision(), r.field("s", "number")

	r.after(3 * time.Second)
	d.File, d.Line = "moved.yaml", 70
	s.apply(d)
	if r.revision() != before || r.field("s", "number") != number {
		t.Error("a definition that only moved was applied anew")
	}
	if got := s.log.find("schedules are as applied"); len(got) != 1 {
		t.Errorf("log: %s", s.log)
	}
	s.apply(d, every("other", "@daily"))
	if r.field("s", "number") != number {
		t.Error("another schedule's change touched it")
	}
	wantIDs(t, "planned", ticks("s", series(sec(10), sec(60), 10*time.Second)...), r.planned()[:6])
	if sum := r.sum(); sum.Cancelled != 0 || sum.Created != 7 {
		t.Errorf("%+v", sum)
	}
}

// What JSON encoders like to escape stays as it was written.
func TestArgsThatJSONEscapesAreUnchanged(t *testing.T) {
	t.Parallel()
	r := mini(t)
	d := every("s", "@daily")
	d.Args = json.RawMessage(`{"url":"https://example.com/?a=1&b=2","text":"<b>\u2028</b>","n":12345678901234567}`)
	d.Description = "a < b & c"
	r.scheduler("a").apply(d)
	before := r.revision()
	again := r.scheduler("b")
	again.apply(d)
	if r.revision() != before {
		t.Errorf("an unchanged definition was applied anew: %s", again.log)
	}
	if got := r.get("s@2026-12-01T00:00:00Z"); string(got.Args) != string(d.Args) {
		t.Errorf("args: want %s, got %s", d.Args, got.Args)
	}

	d.Args = json.RawMessage(`"` + strings.Repeat("<", job.MaxArgs-2) + `"`)
	s := r.scheduler("c")
	s.apply(d)
	if got := r.get("s@2026-12-01T00:00:00Z"); len(got.Args) != job.MaxArgs {
		t.Errorf("%d bytes of args arrived, log: %s", len(got.Args), s.log)
	}
}

func TestKeptSchedulesStayAsTheyAre(t *testing.T) {
	t.Parallel()
	r := mini(t)
	s := r.scheduler("a")
	s.apply(every("good", "@every 10s"), every("spoilt", "@every 20s"))
	s.applyKeeping([]string{"spoilt", "new-and-bad"}, every("good", "@every 30s"))
	wantIDs(t, "applied", []string{"good", "spoilt"}, r.applied())
	var ids []string
	for _, id := range r.planned() {
		if strings.HasPrefix(id, "spoilt") {
			ids = append(ids, id)
		}
	}
	wantIDs(t, "planned of the kept one", ticks("spoilt", sec(20), sec(40), sec(60)), ids)
	s.apply(every("good", "@every 30s"))
	wantIDs(t, "applied", []string{"good"}, r.applied())
}

func TestAnEmptySetRemovesAllAndNoSetNothing(t *testing.T) {
	t.Parallel()
	r := mini(t)
	r.scheduler("a").apply(every("one", "@every 10s"), every("two", "@daily"))
	restarted := r.scheduler("b")
	restarted.step()
	wantIDs(t, "applied", []string{"one", "two"}, r.applied())
	r.at(sec(35))
	restarted.step()
	if n := len(r.planned()); n < 7 {
		t.Errorf("a scheduler without definitions of its own plans nothing: %v", r.planned())
	}
	r.at(sec(36))
	r.run()
	restarted.apply()
	wantIDs(t, "applied", nil, r.applied())
	wantIDs(t, "planned", nil, r.planned())
	again := r.scheduler("c")
	again.apply()
	if got := again.log.find("schedules are as applied"); len(got) != 1 {
		t.Errorf("log: %s", again.log)
	}
}

func TestASetWithAMistakeChangesNothing(t *testing.T) {
	t.Parallel()
	r := mini(t)
	s := r.scheduler("a")
	s.apply(every("s", "@daily"))
	before := r.revision()
	err := s.Replace([]Definition{every("twice", "@daily"), every("twice", "@hourly"), every("bad", "nonsense")}, nil)
	if err == nil || !strings.Contains(err.Error(), `"twice"`) || !strings.Contains(err.Error(), `"bad"`) {
		t.Errorf("error: %v", err)
	}
	s.step()
	if r.revision() != before {
		t.Error("something was applied")
	}
}

func TestTheLastAppliedSetWins(t *testing.T) {
	t.Parallel()
	r := mini(t)
	a, b := r.scheduler("old"), r.scheduler("new")
	a.apply(every("s", "@every 10s"), every("only-old", "@daily"))
	b.apply(every("s", "@every 20s"), every("only-new", "@daily"))
	applied := b.log.find("schedules applied")
	if len(applied) != 1 || applied[0]["replaced_set_of"] != "old" || applied[0]["applied_then"] == nil {
		t.Errorf("the log does not name whose set was replaced: %s", b.log)
	}
	won := r.revision()
	for range 50 {
		r.after(time.Second)
		a.step()
		b.step()
		r.run()
	}
	if r.revision() != won {
		t.Error("the schedulers fight")
	}
	wantIDs(t, "applied", []string{"only-new", "s"}, r.applied())
	if len(a.log.find("schedules applied")) != 1 || len(b.log.find("schedules applied")) != 1 {
		t.Errorf("applied more than once:\n%s\n%s", a.log, b.log)
	}
	// The old one comes back on purpose.
	a.apply(every("s", "@every 10s"), every("only-old", "@daily"))
	wantIDs(t, "applied", []string{"only-old", "s"}, r.applied())
}

func TestManySchedulersApplyAtOnce(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, server *redistest.Server) {
		r := newRig(t, server)
		const copies = 8
		var all sync.WaitGroup
		schedulers := make([]*copyOf, copies)
		for i := range schedulers {
			s := r.scheduler(fmt.Sprintf("copy-%d", i))
			schedulers[i] = s
			own := every(fmt.Sprintf("only-%d", i), "@hourly")
			shared := every("shared", "@every 10s")
			shared.Args = json.RawMessage(fmt.Sprint(i))
			if err := s.Replace([]Definition{own, shared}, nil); err != nil {
				t.Fatal(err)
			}
			all.Go(func() {
				for range 20 {
					if err := s.pass(context.Background()); err != nil {
						t.Error(err)
					}
				}
			})
		}
		all.Wait()
		names := r.applied()
		if len(names) != 2 || names[1] != "shared" {
			t.Fatalf("applied: %v, want one copy's own and the shared one", names)
		}
		var winner int
		_, _ = fmt.Sscanf(names[0], "only-%d", &winner)
		for i, s := range schedulers {
			if n := len(s.log.find("schedules applied")); n != 1 {
				t.Errorf("copy %d applied %d times: %s", i, n, s.log)
			}
		}
		for _, id := range r.planned() {
			j := r.get(id)
			if server.Mini == nil && !j.Tick.After(r.rdb.Time(context.Background()).Val()) {
				continue // its instant came between two applies: it was claimed
			}
			if j.Schedule != "shared" && j.Schedule != names[0] || j.Schedule == "shared" && string(j.Args) != fmt.Sprint(winner) {
				t.Errorf("%s of a set that did not win is planned: args %s, winner %d", id, j.Args, winner)
			}
		}
	})
}
