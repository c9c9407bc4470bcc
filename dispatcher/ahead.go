package dispatcher

import (
	"context"
	"time"

	"github.com/bide-go/bide/internal/clock"
	"github.com/bide-go/bide/job"
	"github.com/bide-go/bide/scripts"
)

// Where handlers take microseconds the way to Redis and back is what costs, so a few
// more jobs are leased than there are slots: as many as get a slot within two
// milliseconds, judged by the handlers of late, and never so many that a lane
// is emptied into one process. Should they have to wait all the same, since a handler
// takes longer than those before it, they go back to the front of their lanes.
const (
	aheadJobs     = 512 // slots and waiting jobs together
	aheadTime     = 2 * time.Millisecond
	aheadPatience = 5 * time.Millisecond
	aheadPause    = 100 * time.Millisecond // between tries to give them back
)

// tempo is how long handlers take, on an average in which the latest count most. One
// that takes long enough to matter by itself counts at once.
type tempo struct {
	usual time.Duration
	seen  int
}

// tempoSample is how many handlers say something about the next one.
const tempoSample = 16

func (p *tempo) note(took time.Duration) {
	if took >= aheadPatience { // as when jobs had to be given back
		p.usual = max(p.usual, took)
	}
	p.seen = min(p.seen+1, tempoSample)
	p.usual = max(p.usual+(took-p.usual)/time.Duration(p.seen), time.Microsecond)
}

// within is how many handlers come to their end in d, in so many slots.
func (p *tempo) within(d time.Duration, slots int) int {
	if p.seen < tempoSample {
		return 0
	}
	return int(d/p.usual) * slots
}

// room is how many jobs may be leased now. While a reserve is away it is only the free
// slots that it leaves: two answers may arrive in either order, and the jobs of a lane
// are to start in theirs. mu is held.
func (d *Dispatcher) room() int {
	if d.returning {
		return 0 // what a lane has first is on its way back to it
	}
	// What has been promised to an answer that is being read is off free, and those that
	// wait have the next slots.
	room := d.free - len(d.ahead)
	if d.asking == 0 {
		room += d.most()
	}
	return max(room, 0)
}

// most is how many jobs may wait for a slot. mu is held.
func (d *Dispatcher) most() int {
	return max(0, min(aheadJobs-d.cfg.Concurrency, d.tempo.within(aheadTime, d.cfg.Concurrency)))
}

// place has leased jobs started in the slots that are free, or wait for one. slots
// is how many they were promised. The end of the turn wakes whom it matters to.
func (d *Dispatcher) place(jobs []scripts.Leased, sent time.Time, slots int) {
	d.quietly(func() {
		d.free += slots
		now := clock.Now()
		for _, l := range jobs {
			a := d.newAttempt(l, sent, now)
			if l.Err == nil {
				d.ahead = append(d.ahead, a)
				continue
			}
			a.returned, a.err = true, job.Permanent(l.Err)
			d.settle(a)
		}
		d.fill()
	})
}

// fill opens a slot for the next job that waits, if there are both. mu is held.
func (d *Dispatcher) fill() {
	d.open()
	if len(d.ahead) > 0 && d.patience == nil {
		d.patience = clock.AfterFunc(aheadPatience, d.giveAheadBack)
	}
}

// open opens one slot and reports whether it could. mu is held.
func (d *Dispatcher) open() bool {
	if d.free > 0 && len(d.ahead) > 0 {
		if a := d.nextAhead(clock.Now()); a != nil {
			d.free--
			go d.run(a)
			return true
		}
	}
	return false
}

// nextAhead starts the next job that waits for a slot, unless half of its lease has
// gone without a renewal: the process stood still, or Redis is away. mu is held.
func (d *Dispatcher) nextAhead(now time.Time) *attempt {
	for len(d.ahead) > 0 {
		a := d.ahead[0]
		left := a.until.Sub(now)
		if !a.leaseLost() && left > 0 && left < d.cfg.Lease/2 {
			return nil
		}
		d.ahead = d.ahead[1:]
		if !a.leaseLost() && left > 0 {
			d.start(a, now)
			return a
		}
		a.lose()
		delete(d.held, a)
	}
	return nil
}

// giveAheadBack gives back the jobs that have waited too long for a slot, or all
// when nothing is to be started any more, together with those that a reserve in
// flight brings, or one whose answer was lost: a later job of a lane must not start
// before them.
func (d *Dispatcher) giveAheadBack() {
	var list []*attempt
	d.lock(func() {
		d.patience = nil
		if len(d.ahead) == 0 || d.stopped {
			d.returning = false
			return
		}
		// Slots are opened one by one, which may take a busy machine that long.
		for d.intake && !d.returning && d.open() {
		}
		if len(d.ahead) == 0 {
			return
		}
		left := aheadPatience - clock.Since(d.ahead[0].since)
		if left > 0 && d.intake && !d.returning {
			d.patience = clock.AfterFunc(left, d.giveAheadBack)
			return
		}
		d.returning = true
		if d.reserving > 0 || len(d.unanswered) > 0 {
			wait := aheadTime
			if len(d.unanswered) > 0 { // Redis may be away for long
				wait = aheadPause
			}
			d.patience = clock.AfterFunc(wait, d.giveAheadBack)
			return
		}
		list, d.ahead = d.ahead, nil
		d.tempo.note(aheadPatience)
	})
	if len(list) == 0 {
		return
	}
	err := d.releaseAll(list)
	d.lock(func() {
		d.returning = false
		switch {
		case err == nil:
			for _, a := range list {
				delete(d.held, a)
			}
		case unsent(err): // they are as good here as anywhere
			d.ahead = append(list, d.ahead...)
			d.patience = clock.AfterFunc(aheadPause, d.giveAheadBack)
			d.fill()
		}
	})
}

// releaseAll tells Redis that jobs are given back, until the answer is known: they
// must not be started here when they may be another's.
func (d *Dispatcher) releaseAll(list []*attempt) error {
	for {
		ctx, cancel := context.WithTimeout(d.work, d.callTimeout())
		_, err := d.set.Release(ctx, leasesOf(list))
		cancel()
		if err == nil || unsent(err) || !clock.Sleep(d.work, aheadPause) {
			return err
		}
	}
}
