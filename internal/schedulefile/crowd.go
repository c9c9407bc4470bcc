package schedulefile

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v4"

	"github.com/bide-go/bide/internal/cronexpr"
)

const (
	// crowded is how many schedules may be due in one minute before W107 warns.
	crowded = 5
	// crowdTicks and crowdDays bound how far ahead each schedule is followed, and
	// crowdTotal how many ticks of all expressions are looked at: a set of thousands
	// must not take seconds.
	crowdTicks = 100
	crowdDays  = 40
	crowdTotal = 200_000
	// crowdWarnings is how many minutes are named, the fullest first.
	crowdWarnings = 3
)

// crowd finds the minutes in which many schedules are due at once, over all files.
// Schedules with a jitter, suspended ones and those with ticks closer than frequent
// are left out: the first are spread, the others do not run or all the time.
type crowd struct {
	members []crowdMember
	minutes map[int64][]int // unix minute → positions in members, ascending
	ticks   int
}

type crowdMember struct {
	scope scope
	name  string
	node  *yaml.Node // its expressions
	cost  int        // how many these are
}

// gather adds a good entry to the crowd.
func (l *loader) gather(e *entry, s scope) {
	if e.ticks == nil || e.own.jitter > 0 || e.def.Suspend {
		return
	}
	l.crowd.add(crowdMember{s.child("schedule"), e.def.Name, e.place("schedule"), len(e.exprs)}, e.ticks, e.from(), e.def.EndAt)
}

// from is where the ticks that matter begin.
func (e *entry) from() time.Time {
	now := e.opt.Now
	if now.IsZero() {
		now = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	}
	if e.def.StartAt.After(now) {
		return e.def.StartAt.Add(-1)
	}
	return now
}

func (c *crowd) add(m crowdMember, ticks *cronexpr.Set, from, until time.Time) {
	if c.ticks >= crowdTotal || ticks.Shortest() < frequent {
		return
	}
	if c.minutes == nil {
		c.minutes = map[int64][]int{}
	}
	index := len(c.members)
	c.members = append(c.members, m)
	end, at := from.AddDate(0, 0, crowdDays), from
	for range crowdTicks {
		if c.ticks += m.cost; c.ticks > crowdTotal {
			return
		}
		at = ticks.Next(at)
		if at.IsZero() || at.After(end) || !until.IsZero() && at.After(until) {
			return
		}
		minute := at.Unix() / 60
		c.minutes[minute] = append(c.minutes[minute], index)
	}
}

// warn names the fullest minutes. A schedule is named once, with its fullest minute.
func (c *crowd) warn() {
	type full struct {
		minute  int64
		members []int
	}
	var minutes []full
	for minute, members := range c.minutes {
		if len(members) > crowded {
			minutes = append(minutes, full{minute, members})
		}
	}
	slices.SortFunc(minutes, func(a, b full) int {
		return cmp.Or(-cmp.Compare(len(a.members), len(b.members)), cmp.Compare(a.minute, b.minute))
	})
	told, warnings := map[int]bool{}, 0
	for _, f := range minutes {
		if slices.ContainsFunc(f.members, func(m int) bool { return told[m] }) {
			continue
		}
		c.warnOf(time.Unix(f.minute*60, 0).UTC(), f.members)
		if warnings++; warnings == crowdWarnings {
			return
		}
		for _, m := range f.members {
			told[m] = true
		}
	}
}

// warnOf shows the warning at the schedule that was one too many.
func (c *crowd) warnOf(at time.Time, members []int) {
	const named = 4
	var names []string
	for _, m := range members {
		names = append(names, shorten(c.members[m].name))
	}
	list := strings.Join(names[:named], ", ") + fmt.Sprintf(" and %d more", len(names)-named)
	m := c.members[members[crowded]]
	m.scope.warn("W107", m.node, fmt.Sprintf("%d schedules are due at %s without a jitter: %s", len(names), at.Format("2006-01-02 15:04 MST"), list),
		`spread them: give each a jitter such as "5m", or other minutes`)
}
