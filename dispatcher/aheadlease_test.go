package dispatcher

import (
	"context"
	"testing"
	"time"

	"github.com/bide-go/bide/internal/clock"
	"github.com/bide-go/bide/job"
	"github.com/bide-go/bide/scripts"
)

// A process that stood still starts nothing on a lease that may be another's by now:
// what has ended is dropped, and what is half gone waits to be given back.
func TestAheadAfterStandingStill(t *testing.T) {
	for name, c := range map[string]struct {
		left    time.Duration // of the first one's lease
		lost    bool
		started string
		waiting int
	}{
		"fresh":     {left: 14 * time.Second, started: "first", waiting: 1},
		"half gone": {left: 7 * time.Second, started: "", waiting: 2},
		"ended":     {left: -time.Second, started: "second", waiting: 0},
		"lost":      {left: 14 * time.Second, lost: true, started: "second", waiting: 0},
	} {
		t.Run(name, func(t *testing.T) {
			d := New(nil, nil, Config{})
			d.base = context.Background()
			for _, id := range []string{"first", "second"} {
				a := d.newAttempt(scripts.Leased{Job: &job.Job{ID: id, Timeout: time.Minute}, Lease: scripts.Lease{ID: id}}, clock.Now(), clock.Now())
				d.ahead = append(d.ahead, a)
			}
			first := d.ahead[0]
			first.until = clock.Now().Add(c.left)
			if c.lost {
				first.lose()
			}
			started := ""
			a := d.nextAhead(clock.Now())
			gone := first.ctx.ended
			if a != nil {
				started = a.job.ID
				a.ctx.release()
			}
			if started != c.started || len(d.ahead) != c.waiting {
				t.Errorf("started %q with %d waiting, want %q with %d", started, len(d.ahead), c.started, c.waiting)
			}
			if gone != (c.lost || c.left < 0) {
				t.Errorf("the first one's context is ended: %v", gone)
			}
		})
	}
}

// While what a lost answer leased is asked for nothing is leased ahead: it would come
// before those in their lane.
func TestNothingIsLeasedPastALostAnswer(t *testing.T) {
	d := New(nil, nil, Config{Concurrency: 1})
	for range tempoSample {
		d.tempo.note(time.Microsecond)
	}
	d.free = 0 // its slot is promised to the reserve whose answer was lost
	d.unanswered = []unanswered{{token: d.id + ":1", slots: 1}}
	first, ok := d.compose()
	if !ok || len(first.recover) != 1 {
		t.Fatalf("first turn = %+v, %v; want the recovery", first, ok)
	}
	d.inFlight++
	d.hungry = true
	if next, ok := d.compose(); ok && next.slots > 0 {
		t.Errorf("%d jobs are leased beside the recovery, want none", next.slots)
	}
}

// A process that has had to give jobs back leases none ahead until handlers have been
// short for a while, however short they were before.
func TestNoneAheadAfterGivingBack(t *testing.T) {
	var p tempo
	for range 10 * tempoSample {
		p.note(time.Microsecond)
	}
	if n := p.within(aheadTime, 1); n == 0 {
		t.Fatal("none would be leased ahead of short handlers")
	}
	p.note(aheadPatience)
	if n := p.within(aheadTime, 1); n != 0 {
		t.Errorf("%d would be leased ahead at once, want none", n)
	}
}

// A job for which there is a slot is started, however long it took to open one: only
// those without go back.
func TestOnlyWhatHasNoSlotGoesBack(t *testing.T) {
	const free, waiting = 4, 10
	running := blocking{make(chan struct{}, waiting), make(chan struct{})}
	defer close(running.end)
	d := New(nil, running, Config{Concurrency: free})
	d.base = context.Background()
	for i := range waiting {
		a := d.newAttempt(scripts.Leased{Job: &job.Job{Timeout: time.Minute}, Lease: scripts.Lease{ID: string(rune('a' + i))}}, clock.Now(), clock.Now().Add(-aheadPatience))
		d.ahead = append(d.ahead, a)
	}
	d.reserving = 1 // what another answer brings is waited for before anything goes back
	d.giveAheadBack()
	for range free {
		select {
		case <-running.began:
		case <-time.After(5 * time.Second):
			t.Fatal("a job waits although there is a slot for it")
		}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.free != 0 || len(d.ahead) != waiting-free || !d.returning {
		t.Errorf("%d slots free, %d jobs wait, returning %v; want 0, %d, true", d.free, len(d.ahead), d.returning, waiting-free)
	}
	d.ahead, d.stopped = nil, true
}

// blocking tells of each handler that begins; none ends before end is closed.
type blocking struct{ began, end chan struct{} }

func (blocking) Names() []string { return []string{"any"} }
func (blocking) Err() error      { return nil }
func (b blocking) RunHere(_ context.Context, _ *job.Job, ended func(error)) {
	b.began <- struct{}{}
	<-b.end
	ended(nil)
}
