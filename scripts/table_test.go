package scripts_test

import (
	"errors"
	"fmt"
	"os"
	"regexp"
	"sort"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bide-go/bide/job"
	"github.com/bide-go/bide/scripts"
)

// subject is one job brought into a state.
type subject struct {
	b     *bench
	id    string
	lease scripts.Lease
}

// bring makes a job and moves it into state. Ended ones are retained, to be seen.
func bring(b *bench, state job.State) subject {
	b.t.Helper()
	b.flush()
	s := subject{b: b, id: "x", lease: scripts.Lease{ID: "x", Token: "w1:none"}}
	n := scripts.NewJob{ID: "x", Retention: time.Hour}
	switch state {
	case job.Delayed:
		n.Delay = time.Hour
	case job.Expired:
		n.Expiry = time.UnixMilli(1)
	case job.Skipped:
		b.apply(scripts.Change{Act: "add", Name: "s"})
		at := b.now().Add(-time.Minute).Truncate(time.Second)
		tick := b.tick(b.schedule("s"), at)
		tick.Superseded, tick.Retention = at, time.Hour
		b.plan("s", tick)
		b.promote()
		s.id, s.lease.ID = tick.ID, tick.ID
		b.state(s.id, state)
		return s
	}
	b.add(n)
	switch state {
	case job.Active, job.Completed, job.Dead:
		got := b.take(1)
		s.lease = got[0].Lease
		switch state {
		case job.Completed:
			b.complete(got...)
		case job.Dead:
			b.fail(got[0], job.ReasonAttempts, 0)
		}
	case job.Cancelled:
		_, err := b.Cancel(b.ctx(), "x")
		b.must(err)
	case job.Expired:
		_, _, err := b.Expire(b.ctx(), 10)
		b.must(err)
	}
	b.state(s.id, state)
	return s
}

func (s subject) due() {
	s.b.do("ZADD", scripts.Key("delayed"), "XX", s.b.now().UnixMilli()-1, s.member())
}

func (s subject) late()  { s.b.do("ZADD", scripts.Key("expiry"), 1, s.id) }
func (s subject) ask()   { _, err := s.b.Cancel(s.b.ctx(), s.id); s.b.must(err) }
func (s subject) lapse() { s.b.do("ZADD", scripts.Key("active"), "XX", 1, s.id) }

// member is the entry of the job in the delayed set, if it has one.
func (s subject) member() string {
	if members := s.b.raw().ZRange(s.b.ctx(), scripts.Key("delayed"), 0, 0).Val(); len(members) > 0 {
		return members[0]
	}
	return "none"
}

func (s subject) settle(v scripts.Verdict) error {
	v.Lease, v.Kind = s.lease, job.KindFailed
	_, err := s.b.Fail(s.b.ctx(), []scripts.Verdict{v})
	return err
}

// act is one script in one situation: where a job goes that is in each state.
// What is not listed stays where it is; with names, refused naming that state.
type act struct {
	script string
	prep   func(s subject) // before the call, for the states of to only
	call   func(s subject) error
	to     map[job.State]job.State
	names  bool
}

func acts() []act {
	reap := func(most int) func(s subject) error {
		return func(s subject) error {
			_, _, _, err := s.b.Reap(s.b.ctx(), time.UnixMilli(1), 10, most)
			return err
		}
	}
	release := func(s subject) error {
		_, err := s.b.Release(s.b.ctx(), []scripts.Lease{s.lease})
		return err
	}
	return []act{
		{script: "promote", prep: subject.due, call: func(s subject) error { s.b.promote(); return nil },
			to: map[job.State]job.State{job.Delayed: job.Waiting}},
		{script: "reserve", call: func(s subject) error { s.b.take(1); return nil },
			to: map[job.State]job.State{job.Waiting: job.Active}},
		{script: "complete", call: func(s subject) error { _, err := s.b.Complete(s.b.ctx(), []scripts.Lease{s.lease}); return err },
			to: map[job.State]job.State{job.Active: job.Completed}},
		{script: "complete", prep: subject.ask, call: func(s subject) error { _, err := s.b.Complete(s.b.ctx(), []scripts.Lease{s.lease}); return err },
			to: map[job.State]job.State{job.Active: job.Completed}},
		{script: "fail", call: func(s subject) error { return s.settle(scripts.Verdict{Retry: true, Pause: time.Hour}) },
			to: map[job.State]job.State{job.Active: job.Delayed}},
		{script: "fail", call: func(s subject) error { return s.settle(scripts.Verdict{Reason: job.ReasonPermanent}) },
			to: map[job.State]job.State{job.Active: job.Dead}},
		{script: "fail", prep: subject.ask, call: func(s subject) error { return s.settle(scripts.Verdict{Retry: true}) },
			to: map[job.State]job.State{job.Active: job.Cancelled}},
		{script: "release", call: release, to: map[job.State]job.State{job.Active: job.Waiting}},
		{script: "release", prep: subject.ask, call: release, to: map[job.State]job.State{job.Active: job.Cancelled}},
		{script: "reap", prep: subject.lapse, call: reap(5), to: map[job.State]job.State{job.Active: job.Waiting}},
		{script: "reap", prep: subject.lapse, call: reap(1), to: map[job.State]job.State{job.Active: job.Dead}},
		{script: "reap", prep: func(s subject) { s.ask(); s.lapse() }, call: reap(5), to: map[job.State]job.State{job.Active: job.Cancelled}},
		{script: "cancel", call: func(s subject) error { _, err := s.b.Cancel(s.b.ctx(), s.id); return err }, names: true,
			to: map[job.State]job.State{job.Delayed: job.Cancelled, job.Waiting: job.Cancelled, job.Active: job.Active}},
		{script: "reschedule", call: func(s subject) error { _, err := s.b.Reschedule(s.b.ctx(), s.id, time.Minute, time.Time{}); return err }, names: true,
			to: map[job.State]job.State{job.Delayed: job.Delayed}},
		{script: "revive", call: func(s subject) error { _, err := s.b.Revive(s.b.ctx(), s.id); return err }, names: true,
			to: map[job.State]job.State{job.Delayed: job.Delayed, job.Dead: job.Waiting}},
		{script: "expire", prep: subject.late, call: func(s subject) error { _, _, err := s.b.Expire(s.b.ctx(), 10); return err },
			to: map[job.State]job.State{job.Delayed: job.Expired, job.Waiting: job.Expired}},
		{script: "renew", call: func(s subject) error {
			_, err := s.b.Renew(s.b.ctx(), time.Minute, []scripts.Lease{s.lease})
			return err
		}},
		{script: "trim", call: func(s subject) error { _, err := s.b.Trim(s.b.ctx(), 10, time.Hour, 10); return err }},
		{script: "enqueue", call: func(s subject) error {
			r := s.b.enqueue(scripts.NewJob{ID: s.id, Queue: "medium", Name: "test", Delay: time.Hour})
			if !r.Deduplicated {
				return fmt.Errorf("%+v is not deduplicated", r)
			}
			return nil
		}},
	}
}

func TestEveryScriptMovesFromEveryState(t *testing.T) {
	each(t, func(b *bench) {
		for i, a := range acts() {
			for _, from := range job.States {
				s := bring(b, from)
				to, moves := a.to[from]
				if moves && a.prep != nil {
					a.prep(s)
				}
				err := a.call(s)
				if !moves {
					to = from
				}
				var refused *job.StateError
				switch {
				case a.names && !moves:
					if !errors.As(err, &refused) || refused.From != from || refused.ID != s.id {
						b.t.Errorf("%s of a job that is %s: %v, want it refused naming the state", a.script, from, err)
					}
				case err != nil:
					b.t.Errorf("act %d, %s of a job that is %s: %v", i, a.script, from, err)
				}
				b.state(s.id, to)
				b.gap0()
			}
		}
	})
}

// others are the moves that need more than one job in one state.
var others = [][2]job.State{
	{job.Delayed, job.Skipped}, // TestSupersededTicksAreSkipped
	{job.Waiting, job.Delayed}, // TestAForeignWindowIsPutOff
}

func TestMovesAreThoseOfTheTable(t *testing.T) {
	made := map[string]bool{}
	for _, a := range acts() {
		for from, to := range a.to {
			if !(from == job.Active && to == job.Active) { // a mark, no move
				made[string(from)+" -> "+string(to)] = true
			}
		}
	}
	for _, m := range others {
		made[string(m[0])+" -> "+string(m[1])] = true
	}
	legal := map[string]bool{}
	for _, from := range job.States {
		for _, to := range job.States {
			if from.CanBecome(to) {
				legal[string(from)+" -> "+string(to)] = true
			}
		}
	}
	if diff := cmp.Diff(sorted(legal), sorted(made)); diff != "" {
		t.Errorf("job/state.go and the scripts differ (-table +scripts):\n%s", diff)
	}

	page, err := os.ReadFile("../docs/states.md")
	if err != nil {
		t.Fatal(err)
	}
	written := map[string]bool{}
	for _, m := range regexp.MustCompile(`(?m)^- (\w+) -> (\w+): \S`).FindAllStringSubmatch(string(page), -1) {
		written[m[1]+" -> "+m[2]] = true
	}
	if diff := cmp.Diff(sorted(legal), sorted(written)); diff != "" {
		t.Errorf("job/state.go and docs/states.md differ (-table +page):\n%s", diff)
	}
}

func sorted(set map[string]bool) []string {
	list := []string{}
	for s := range set {
		list = append(list, s)
	}
	sort.Strings(list)
	return list
}
