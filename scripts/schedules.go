package scripts

import (
	"context"
	"strconv"
	"time"
)

// Applied is one schedule as Redis holds it.
type Applied struct {
	Name string
	// Definition is opaque here: the scheduler encodes it.
	Definition string
	// Incarnation changes when a schedule is removed and added again; Number with
	// every change of the definition.
	Incarnation, Number string
	// Cursor is the newest tick that has been planned or settled, unix ms.
	Cursor int64
}

// Polled is what a scheduler learns on every pass.
type Polled struct {
	Now time.Time
	// Revision names the set of schedules; empty when none was ever applied, or
	// when Redis has lost it.
	Revision  string
	AppliedBy string
	AppliedAt time.Time
	// Schedules is filled in only when the revision is not the one known.
	Schedules []Applied
}

// Poll notes that a scheduler is alive and reads the schedules unless it knows
// this revision of them.
func (s *Set) Poll(ctx context.Context, known string) (Polled, error) {
	reply, err := s.run(ctx, "poll", []any{known})
	if err != nil {
		return Polled{}, err
	}
	list := toList(reply)
	p := Polled{Now: toTime(item(list, 0)), Revision: toText(item(list, 1)), AppliedBy: toText(item(list, 2)), AppliedAt: toTime(item(list, 3))}
	for i := 4; i+4 < len(list); i += 5 {
		p.Schedules = append(p.Schedules, Applied{
			Name: toText(list[i]), Definition: toText(list[i+1]),
			Incarnation: toText(list[i+2]), Number: toText(list[i+3]), Cursor: toInt(list[i+4]),
		})
	}
	return p, nil
}

// Expansion is the coming ticks of one schedule.
type Expansion struct {
	Schedule string
	Number   string // of the definition the ticks come from
	Cursor   int64  // the cursor the ticks follow
	Next     int64  // the cursor after them
	Missed   int    // ticks between that will not run
	Ticks    []NewJob
}

// Expand plans ticks and moves the cursor, if neither the definition nor the
// cursor has changed. ok is false if one has; number and cursor are then the
// current ones, empty if the schedule is gone.
func (s *Set) Expand(ctx context.Context, e Expansion) (ok bool, planned int, number string, cursor int64, err error) {
	args := []any{e.Schedule, e.Number, e.Cursor, e.Next, e.Missed}
	for i := range e.Ticks {
		n := &e.Ticks[i]
		args = append(args, n.ID, n.Tick.UnixMilli(), n.Queue, n.when(), n.expiry(), n.kind(), n.tail())
	}
	reply, err := s.run(ctx, "expand", args)
	if err != nil {
		return false, 0, "", 0, err
	}
	list := toList(reply)
	if toText(item(list, 0)) == "ok" {
		return true, int(toInt(item(list, 1))), e.Number, toInt(item(list, 2)), nil
	}
	return false, 0, toText(item(list, 1)), toInt(item(list, 2)), nil
}

// Change is one step from the applied set of schedules to a new one.
type Change struct {
	Act        string // add, retime, rewrite or remove
	Name       string
	Definition string
	Suspended  bool
	// Ticks, with rewrite, are the planned ticks with the job of the new
	// definition; those that are not planned are left alone.
	Ticks []NewJob
}

// ApplyResult tells whose set was replaced.
type ApplyResult struct {
	OK         bool // false: the set was no longer at the revision given
	Revision   string
	ReplacedBy string
	ReplacedAt time.Time
}

// Apply changes the set of schedules in one step, if it is still at revision.
func (s *Set) Apply(ctx context.Context, revision, by string, changes []Change) (ApplyResult, error) {
	args := []any{revision, by}
	for _, c := range changes {
		args = append(args, c.Act, c.Name)
		switch c.Act {
		case "add", "retime":
			suspended := ""
			if c.Suspended {
				suspended = "1"
			}
			args = append(args, c.Definition, suspended)
		case "rewrite":
			args = append(args, c.Definition, strconv.Itoa(len(c.Ticks)))
			for i := range c.Ticks {
				args = append(args, c.Ticks[i].ID, c.Ticks[i].Queue, c.Ticks[i].tail())
			}
		}
	}
	reply, err := s.run(ctx, "apply", args)
	if err != nil {
		return ApplyResult{}, err
	}
	list := toList(reply)
	return ApplyResult{
		OK: toText(item(list, 0)) == "ok", Revision: toText(item(list, 1)),
		ReplacedBy: toText(item(list, 2)), ReplacedAt: toTime(item(list, 3)),
	}, nil
}
