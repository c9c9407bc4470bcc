package dispatcher

import (
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/bide-go/bide/internal/clock"
	"github.com/bide-go/bide/internal/trouble"
	"github.com/bide-go/bide/job"
	"github.com/bide-go/bide/scripts"
)

// A turn is one round trip: everything that has finished since the last one is
// settled, and the free slots are filled. Batches form by themselves, of what
// happens while the turn before is on its way; nothing is ever delayed to make a
// larger one.
type turn struct {
	done    []*attempt
	slots   int
	woken   *wakeUp
	recover []unanswered
	// answered says that Redis has, and place in which order, counted from 1: what a
	// later reserve has brought is not to start before it.
	answered bool
	place    int64
}

// reserves reports whether a turn may bring jobs.
func (t *turn) reserves() bool { return t.slots > 0 || len(t.recover) > 0 }

// callTimeout bounds one turn, so that a Redis that has gone silent is noticed well
// within a lease.
func (d *Dispatcher) callTimeout() time.Duration { return min(5*time.Second, d.cfg.Lease/3) }

// takeTurns is one of the loops that take turns.
func (d *Dispatcher) takeTurns(work context.Context, watch *trouble.Log) {
	for {
		t, ok := d.nextTurn()
		if !ok {
			return
		}
		err := d.take(work, &t)
		d.lock(func() {
			d.back(&t)
			d.inFlight--
			if t.reserves() {
				d.reserving--
			}
			if t.place > 0 {
				d.placed++
			}
		})
		if err == nil {
			watch.OK()
			d.passed()
			continue
		}
		if work.Err() != nil {
			return
		}
		clock.Sleep(work, watch.Failed(err))
	}
}

// back notes that a turn is on its way no longer, whatever became of it. The next
// one may go while its answer is read. mu is held.
func (d *Dispatcher) back(t *turn) {
	if t.answered {
		return
	}
	t.answered = true
	d.away--
	if t.reserves() {
		d.asking--
	}
}

// nextTurn waits until there is something to do. It is not ok at the end.
func (d *Dispatcher) nextTurn() (turn, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for {
		if d.stopped {
			return turn{}, false
		}
		if t, ok := d.compose(); ok {
			d.inFlight++
			return t, true
		}
		d.cond.Wait()
	}
}

// compose makes a turn of what there is to do. mu is held.
func (d *Dispatcher) compose() (turn, bool) {
	if len(d.unanswered) > 0 {
		if d.inFlight > 0 {
			return turn{}, false
		}
		t := turn{recover: d.unanswered}
		d.unanswered = nil
		d.reserving++
		d.asking++ // it brings jobs, and no others may overtake them
		d.away++
		return t, true
	}
	room := d.room()
	share := d.share()
	if d.away > 0 && len(d.done) < share && (!d.hungry || room < share) {
		return turn{}, false
	}
	wants := d.intake && room > 0 && d.hungry
	// A wake-up call that came too late for a free slot is passed on.
	passes := d.intake && room == 0 && d.woken != nil
	if len(d.done) == 0 && !wants && !passes {
		return turn{}, false
	}
	t := turn{}
	n := min(len(d.done), scripts.SettleJobs)
	t.done = append(t.done, d.done[:n]...)
	d.done = append(d.done[:0], d.done[n:]...)
	d.away++
	d.called = false
	if d.intake {
		t.slots = min(room, scripts.ReserveJobs, max(aheadJobs/2, d.cfg.Concurrency))
		d.free -= t.slots
		if t.slots > 0 || passes {
			t.woken, d.woken = d.woken, nil
		}
		if t.slots > 0 {
			d.hungry = false
			d.reserving++
			d.asking++
		}
	}
	return t, true
}

// share is the least that a second turn has to carry to overlap the first: else the two
// would chop the work into ever smaller ones. mu is held.
func (d *Dispatcher) share() int { return max(1, (d.cfg.Concurrency+d.most())/2) }

// take sends a turn and acts on the answers.
func (d *Dispatcher) take(work context.Context, t *turn) error {
	ctx, cancel := context.WithTimeout(work, d.callTimeout())
	defer cancel()
	if len(t.recover) > 0 {
		return d.recover(ctx, t.recover)
	}
	call := scripts.Turn{}
	var completed, failed []*attempt
	for _, a := range t.done {
		if a.err == nil {
			completed = append(completed, a)
			call.Complete = append(call.Complete, a.lease)
		} else {
			failed = append(failed, a)
			call.Fail = append(call.Fail, judge(a))
		}
	}
	if t.slots > 0 || t.woken != nil {
		call.Reserve = d.reserveArgs(t)
	}
	if t.slots > 0 {
		call.Answered = func(r scripts.Reserved, jobs int) {
			d.lock(func() {
				d.back(t)
				d.arrived++
				t.place = d.arrived
				d.hungry = d.hungry || jobs > 0 && jobs >= t.slots || r.Again
			})
		}
	}
	sent := clock.Now()
	r := d.set.Turn(ctx, call)
	d.completed(completed, r)
	d.failed(failed, r)
	d.reserved(ctx, t, call.Reserve, r, sent)
	for _, err := range []error{r.CompleteErr, r.FailErr, r.ReserveErr} {
		if err != nil {
			return err
		}
	}
	return nil
}

func (d *Dispatcher) reserveArgs(t *turn) *scripts.ReserveArgs {
	args := &scripts.ReserveArgs{
		Token: d.id + ":" + strconv.FormatInt(d.nonce.Add(1), 10),
		Lease: d.cfg.Lease, Limit: t.slots, Names: d.names,
		Chances: d.cfg.MaxLost - 1,
	}
	d.mu.Lock()
	args.Offers = d.shares.offer(t.slots)
	for a := range d.held {
		args.Suspect = args.Suspect || args.Chances > 0 && a.job.Lost >= args.Chances && !a.returned
	}
	d.mu.Unlock()
	if t.woken != nil {
		args.WokenFor, args.Call = t.woken.queue, t.woken.call
	}
	return args
}

// again puts attempts back whose settlement was not answered.
func (d *Dispatcher) again(list []*attempt, err error) {
	d.lock(func() {
		for _, a := range list {
			a.resent = a.resent || !unsent(err)
			d.done = append(d.done, a)
		}
	})
}

func (d *Dispatcher) completed(list []*attempt, r scripts.TurnResult) {
	if len(list) == 0 {
		return
	}
	if r.CompleteErr != nil {
		d.again(list, r.CompleteErr)
		return
	}
	stale := make(map[string]bool, len(r.Stale))
	for _, id := range r.Stale {
		stale[id] = true
	}
	states := make([]job.State, len(list))
	for i, a := range list {
		states[i] = job.Completed
		if stale[a.job.ID] {
			states[i] = scripts.Stale
		}
	}
	d.settled(list, states)
}

func (d *Dispatcher) failed(list []*attempt, r scripts.TurnResult) {
	if len(list) == 0 {
		return
	}
	if r.FailErr != nil {
		d.again(list, r.FailErr)
		return
	}
	d.settled(list, r.Failed)
	d.tellPaused(r.Paused...)
}

// tellPaused says which schedules the runs that ended here have paused. Nobody else
// does: it is no operator's act.
func (d *Dispatcher) tellPaused(list ...scripts.Paused) {
	for _, p := range list {
		d.cfg.Log.Warn().Str("schedule", p.Schedule).Str("reason", p.Reason).Msg("schedule has paused itself; it stays so until it is resumed")
	}
}

// settled lets go of attempts that Redis has settled.
func (d *Dispatcher) settled(list []*attempt, states []job.State) {
	d.lock(func() {
		for _, a := range list {
			delete(d.held, a)
		}
	})
	for i, a := range list {
		o := Outcome{Job: a.job, State: states[i], Err: a.err, Took: a.took}
		if o.State == job.Delayed {
			o.Pause = a.pause
		}
		switch {
		case o.State == scripts.Stale && a.resent:
			continue // the first time had been carried out, or the lease went then
		case o.State == scripts.Stale:
			o.State = ""
			d.cfg.Log.Warn().Str("job_id", a.job.ID).Str("name", a.job.Name).Msg("lease was lost before the attempt ended; nothing changed")
		case o.State == job.Dead:
			d.cfg.Log.Warn().Str("job_id", a.job.ID).Str("name", a.job.Name).Int("attempt", a.job.Attempt()).Err(a.err).Msg("job is dead")
		case o.State == job.Cancelled:
			d.cfg.Log.Info().Str("job_id", a.job.ID).Str("name", a.job.Name).Msg("job was cancelled while it ran")
		case a.err != nil:
			d.cfg.Log.Info().Str("job_id", a.job.ID).Str("name", a.job.Name).Int("attempt", a.job.Attempt()).Err(a.err).
				Str("state", string(o.State)).Dur("again_in", o.Pause).Msg("attempt failed")
		}
		if d.cfg.Observe != nil {
			d.cfg.Observe(o)
		}
	}
}

// reserved starts what was leased.
func (d *Dispatcher) reserved(ctx context.Context, t *turn, args *scripts.ReserveArgs, r scripts.TurnResult, sent time.Time) {
	if args == nil {
		return
	}
	if t.woken != nil {
		t.woken.passed <- r.ReserveErr == nil && len(r.Reserved.Jobs) == 0 && r.Reserved.Left
	}
	if r.ReserveErr != nil {
		d.lock(func() {
			d.hungry = true
			if unsent(r.ReserveErr) {
				d.free += t.slots
			} else {
				// It may have leased jobs to nobody: ask for them first.
				d.unanswered = append(d.unanswered, unanswered{args.Token, sent, t.slots})
			}
		})
		return
	}
	take := true
	d.quietly(func() {
		for t.place > d.placed+1 {
			d.cond.Wait()
		}
		take = d.intake
	})
	d.begin(ctx, r.Reserved.Jobs, sent, t.slots, take)
}

// begin starts leased jobs, or gives them back at once if no more are to be taken.
// slots is how many they were promised.
func (d *Dispatcher) begin(ctx context.Context, jobs []scripts.Leased, sent time.Time, slots int, take bool) {
	if take && len(jobs) > 0 && clock.Since(sent) > d.cfg.Lease/3 {
		// The answer was long on its way: part of the lease is gone already.
		jobs, sent = d.renewFirst(ctx, jobs)
	}
	if take || len(jobs) == 0 {
		d.place(jobs, sent, slots)
		return
	}
	leases := make([]scripts.Lease, len(jobs))
	for i, l := range jobs {
		leases[i] = l.Lease
	}
	if _, err := d.set.Release(ctx, leases); err != nil {
		d.cfg.Log.Warn().Err(err).Int("jobs", len(jobs)).Msg("jobs that came too late not given back; their leases will run out")
	}
	d.lock(func() { d.free += slots })
}

// recover asks for what reserves of unknown outcome have leased, and starts it.
func (d *Dispatcher) recover(ctx context.Context, list []unanswered) error {
	for i, u := range list {
		jobs, err := d.set.Recover(ctx, u.token, d.cfg.Lease)
		if err != nil {
			d.lock(func() { d.unanswered = append(d.unanswered, list[i:]...) })
			return err
		}
		take := true
		d.lock(func() { take = d.intake })
		d.begin(ctx, jobs, u.sent, u.slots, take)
	}
	return nil
}

// unsent reports whether err is proof that a call changed nothing.
func unsent(err error) bool { return !errors.Is(err, job.ErrOutcomeUnknown) }
