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
		changes, difference := s.diff(w, now)
		w.made = difference
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
		log := s.cfg.Log.Info().Int("added", len(difference.Added)).Int("changed", len(difference.Changed)).
			Int("removed", len(difference.Removed)).Int("unchanged", difference.Unchanged)
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

// diff lists the steps from what is applied to what is wanted, for Redis and for
// people.
func (s *Scheduler) diff(w *wanted, now time.Time) ([]scripts.Change, Difference) {
	var list []scripts.Change
	d := Difference{Replaced: s.last}
	remove := func(name string) {
		if _, stays := w.find(name); !stays {
			d.Removed = append(d.Removed, name)
			list = append(list, scripts.Change{Act: "remove", Name: name})
		}
	}
	for _, name := range s.foreign {
		remove(name)
	}
	applied := make(map[string]*plan, len(s.plans))
	for _, p := range s.plans {
		applied[p.def.Name] = p
		remove(p.def.Name)
	}
	for _, def := range w.definitions {
		change := scripts.Change{Name: def.Name, Definition: def.encode(), Rules: def.rules(), Suspended: def.Suspend}
		old, known := applied[def.Name]
		switch {
		case slices.Contains(s.foreign, def.Name):
			d.Changed = append(d.Changed, Modification{Name: def.Name, NextAfter: nextOf(def, now)})
			change.Act = "retime"
		case !known:
			d.Added = append(d.Added, Addition{def.Name, nextOf(def, now)})
			change.Act = "add"
		case same(old.def, def):
			d.Unchanged++
			continue
		default:
			d.Changed = append(d.Changed, modification(old.def, def, now))
			change.Act = "retime"
			if sameTimes(old.def, def) {
				change.Act = "rewrite"
				if !sameJobs(old.def, def) {
					change.Ticks = s.rewritten(old, def, now)
				}
			}
		}
		list = append(list, change)
	}
	d.sort()
	return list, d
}

// rewritten is the ticks an applied schedule may have planned, with the job of its
// new definition.
func (s *Scheduler) rewritten(old *plan, d Definition, now time.Time) []scripts.NewJob {
	p := *old
	p.def = d
	return p.maybePlanned(now)
}
