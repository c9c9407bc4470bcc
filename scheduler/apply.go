package scheduler

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/bide-go/bide/scripts"
)

// applyTries bounds how often an apply starts over because somebody else applied
// in between; the next pass goes on.
const applyTries = 10

// apply carries out what is wanted, if it has not been yet or Redis has lost it.
func (s *Scheduler) apply(ctx context.Context, now time.Time) error {
	s.mu.Lock()
	w := s.wanted
	s.mu.Unlock()
	if w == nil || w.applied && (s.revision != "" || w.replaced && s.empty <= replacedWaits) {
		return nil
	}
	for range applyTries {
		if err := s.settleOld(ctx, w, now); err != nil {
			return err
		}
		changes, counts := s.diff(w, now)
		if len(changes) == 0 && s.revision != "" {
			s.cfg.Log.Info().Int("schedules", len(w.definitions)).Msg("schedules are as applied")
			w.applied = true
			return nil
		}
		r, err := s.set.Apply(ctx, s.revision, s.cfg.Name, changes)
		if err != nil {
			return err
		}
		s.revision = "?"
		if now, err = s.learn(ctx); err != nil {
			return err
		}
		if !r.OK {
			continue
		}
		w.applied = true
		log := s.cfg.Log.Info().Int("added", counts.added).Int("changed", counts.changed).Int("removed", counts.removed).
			Int("unchanged", counts.unchanged)
		if r.ReplacedBy != "" {
			log = log.Str("replaced_set_of", r.ReplacedBy).Time("applied_then", r.ReplacedAt)
		}
		log.Msg("schedules applied")
		return nil
	}
	return errors.New("others keep applying schedules at the same time")
}

// settleOld plans ahead under the definitions that are about to go: a tick that
// comes before the change is made is then planned and stays. An edit must not
// swallow a tick.
func (s *Scheduler) settleOld(ctx context.Context, w *wanted, now time.Time) error {
	for _, p := range s.plans {
		if next, stays := w.find(p.def.Name); !stays || next != nil && !sameTimes(p.def, *next) {
			if err := s.expand(ctx, p, now); err != nil {
				return err
			}
		}
	}
	return nil
}

// find returns the wanted definition called name; nil and true if the applied one
// is to be kept.
func (w *wanted) find(name string) (*Definition, bool) {
	for i := range w.definitions {
		if w.definitions[i].Name == name {
			return &w.definitions[i], true
		}
	}
	return nil, slices.Contains(w.keep, name)
}

type counts struct{ added, changed, removed, unchanged int }

// diff lists the steps from what is applied to what is wanted.
func (s *Scheduler) diff(w *wanted, now time.Time) ([]scripts.Change, counts) {
	var changes []scripts.Change
	var c counts
	for _, name := range s.foreign {
		if _, stays := w.find(name); !stays {
			c.removed++
			changes = append(changes, scripts.Change{Act: "remove", Name: name})
		}
	}
	applied := make(map[string]*plan, len(s.plans))
	for _, p := range s.plans {
		applied[p.def.Name] = p
		if _, stays := w.find(p.def.Name); !stays {
			c.removed++
			changes = append(changes, scripts.Change{Act: "remove", Name: p.def.Name})
		}
	}
	for _, d := range w.definitions {
		change := scripts.Change{Name: d.Name, Definition: d.encode(), Suspended: d.Suspend}
		old, known := applied[d.Name]
		switch {
		case slices.Contains(s.foreign, d.Name):
			c.changed++
			change.Act = "retime"
		case !known:
			c.added++
			change.Act = "add"
		case same(old.def, d):
			c.unchanged++
			continue
		case sameTimes(old.def, d):
			c.changed++
			change.Act, change.Ticks = "rewrite", s.rewritten(old, d, now)
		default:
			c.changed++
			change.Act = "retime"
		}
		changes = append(changes, change)
	}
	return changes, c
}

// rewritten is the ticks an applied schedule may have planned, with the job of its
// new definition.
func (s *Scheduler) rewritten(old *plan, d Definition, now time.Time) []scripts.NewJob {
	p := *old
	p.def = d
	return p.maybePlanned(now)
}
