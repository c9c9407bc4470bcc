package scripts

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/bide-go/bide/job"
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
	Span   Span
}

// Span is the pause of a schedule that is in force, or the last one that was: unix
// ms, empty for none and for no end.
type Span struct{ From, Until string }

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

// Poll reads the schedules unless the caller knows this revision of them. With beat
// it also notes that a scheduler is alive.
func (s *Set) Poll(ctx context.Context, known string, beat bool) (Polled, error) {
	flag := ""
	if beat {
		flag = "1"
	}
	reply, err := s.run(ctx, "poll", []any{known, flag})
	if err != nil {
		return Polled{}, err
	}
	list := toList(reply)
	p := Polled{Now: toTime(item(list, 0)), Revision: toText(item(list, 1)), AppliedBy: toText(item(list, 2)), AppliedAt: toTime(item(list, 3))}
	for i := 4; i+6 < len(list); i += 7 {
		p.Schedules = append(p.Schedules, Applied{
			Name: toText(list[i]), Definition: toText(list[i+1]),
			Incarnation: toText(list[i+2]), Number: toText(list[i+3]), Cursor: toInt(list[i+4]),
			Span: Span{toText(list[i+5]), toText(list[i+6])},
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
	Span     Span   // the pause the ticks were judged by
	Missed   int    // ticks between that will not run
	Noted    []Missed
	Ticks    []NewJob
}

// Missed is a tick that never becomes a job.
type Missed struct {
	Tick   int64 // unix ms
	Reason job.Reason
}

// Expanded is the answer to an Expansion: OK, or why not.
type Expanded struct {
	OK      bool
	Planned int // jobs made
	// Number, Cursor and Span are the current ones; empty if the schedule is gone.
	Number string
	Cursor int64
	Span   Span
}

// Expand plans ticks and moves the cursor, if the definition, the cursor and the
// pause are still those the expansion was computed from.
func (s *Set) Expand(ctx context.Context, e Expansion) (Expanded, error) {
	var noted strings.Builder
	for i, m := range e.Noted {
		if i > 0 {
			noted.WriteByte(',')
		}
		noted.WriteString(strconv.FormatInt(m.Tick, 10))
		noted.WriteByte(' ')
		noted.WriteString(string(m.Reason))
	}
	args := make([]any, 0, 8+7*len(e.Ticks))
	args = append(args, e.Schedule, e.Number, e.Cursor, e.Next, e.Span.From, e.Span.Until, e.Missed, noted.String())
	for i := range e.Ticks {
		n := &e.Ticks[i]
		args = append(args, n.ID, n.Tick.UnixMilli(), n.Queue, n.when(), n.expiry(), n.kind(), n.tail())
	}
	reply, err := s.run(ctx, "expand", args)
	if err != nil {
		return Expanded{}, err
	}
	list := toList(reply)
	if toText(item(list, 0)) == "ok" {
		return Expanded{OK: true, Planned: int(toInt(item(list, 1))), Number: e.Number, Cursor: toInt(item(list, 2)), Span: e.Span}, nil
	}
	return Expanded{
		Number: toText(item(list, 1)), Cursor: toInt(item(list, 2)), Span: Span{toText(item(list, 3)), toText(item(list, 4))},
	}, nil
}

// Change is one step from the applied set of schedules to a new one.
type Change struct {
	Act        string // add, retime, rewrite or remove
	Name       string
	Definition string
	Rules      Rules // but for remove
	Suspended  bool
	// Ticks, with rewrite, are the planned ticks with the job of the new
	// definition; those that are not planned are left alone.
	Ticks []NewJob
}

// Rules are what scripts decide the runs of a schedule by. The zero value is the
// defaults.
type Rules struct {
	Policy  string // Allow, Forbid, Replace or Queue
	CatchUp string // Skip, Latest or All
	// KeepSuccessful and KeepFailed cap the history; negative for none.
	KeepSuccessful, KeepFailed int
	PauseAfter                 int // failures in a row, 0 for never
}

// keeps is how many records an empty cap means.
const keeps = 100

func (r Rules) encode() string {
	number := func(n int) int {
		if n == 0 {
			return keeps
		}
		return max(n, 0)
	}
	return fmt.Sprintf("%s %s %d %d %d", cmp.Or(r.Policy, "Forbid"), cmp.Or(r.CatchUp, "Latest"), number(r.KeepSuccessful), number(r.KeepFailed), r.PauseAfter)
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
			args = append(args, c.Definition, c.Rules.encode(), suspended)
		case "rewrite":
			args = append(args, c.Definition, c.Rules.encode(), strconv.Itoa(len(c.Ticks)))
			for i := range c.Ticks {
				n := &c.Ticks[i]
				args = append(args, n.ID, n.Queue, n.expiry(), n.tail())
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
