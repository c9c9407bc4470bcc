package scheduler

import (
	"crypto/sha256"
	"encoding/binary"
	"time"
)

// Tick is one planned instant of a schedule.
type Tick struct {
	// Tick is the instant that the expression gives, in the schedule's zone. It is
	// the tick's name.
	Tick time.Time
	// Due is when its job becomes due: Tick and the tick's share of the jitter.
	Due time.Time
	// Jitter is that share, zero without jitter.
	Jitter time.Duration
}

// Upcoming lists the first n ticks in [from, until), oldest first; a zero until is
// no bound. It asks no clock and no Redis: the ticks are those that schedulers plan.
// A suspended definition has its ticks all the same. The error is that of Validate.
func (d Definition) Upcoming(from, until time.Time, n int) ([]Tick, error) {
	p, err := newPlan(d)
	if err != nil {
		return nil, err
	}
	return p.upcoming(from, until, n), nil
}

func (p *plan) upcoming(from, until time.Time, n int) []Tick {
	ticks := []Tick{}
	for t := p.next(from.Add(-1)); len(ticks) < n && !t.IsZero() && (until.IsZero() || t.Before(until)); t = p.next(t) {
		share := p.jitter(t)
		ticks = append(ticks, Tick{Tick: t, Due: t.Add(share), Jitter: share})
	}
	return ticks
}

// jitter is a tick's share of the jitter: whole milliseconds, the same whoever
// computes it.
func (p *plan) jitter(tick time.Time) time.Duration {
	span := uint64(p.def.Jitter / time.Millisecond)
	if span == 0 {
		return 0
	}
	sum := sha256.Sum256([]byte(tickID(p.def.Name, tick)))
	return time.Duration(binary.BigEndian.Uint64(sum[:])%span) * time.Millisecond
}

// tickID is the id of a tick's job.
func tickID(name string, tick time.Time) string {
	return name + "@" + tick.UTC().Format(time.RFC3339)
}
