package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/bide-go/bide/scripts"
)

const (
	// lookForOrphans is about how many entries are looked at for orphans.
	lookForOrphans = 20_000
	// lookToRepair is how many are looked at to repair them.
	lookToRepair = 2_000_000
)

// orphanWords tells people of one kind of orphan.
type orphanWords struct {
	kind      scripts.OrphanKind
	one, more string
	hint      string
	fails     bool // jobs do not run, or are counted wrong
}

var orphanTable = []orphanWords{
	{scripts.Placeless, "job that stands nowhere", "jobs that stand nowhere", "those that stand nowhere never run, and keep their IDs taken", true},
	{scripts.Doubled, "job that stands in two places", "jobs that stand in two places", "those in two places are counted twice", true},
	{scripts.Unlisted, "queue that is not on the list", "queues that are not on the list", "jobs of queues that are not on the list are not counted", true},
	{scripts.Ghost, "cancelled entry that is none", "cancelled entries that are none", "entries marked as cancelled are passed over and not counted", true},
	{scripts.Miscounted, "lane with a wrong count", "lanes with a wrong count", "a wrong count of a lane spoils the sum", true},
	{scripts.Uncounted, "difference of the sum", "differences of the sum", "jobs of which nothing is left are counted as dead", true},
	{scripts.Bodiless, "entry without the body of a job", "entries without the body of a job", "entries without a body are counted as dead and dropped when their turn comes", false},
	{scripts.Leftover, "entry of an earlier job", "entries of earlier jobs", "entries of earlier jobs are dropped when their turn comes", false},
	{scripts.Unleased, "active entry without a lease", "active entries without a lease", "active ones without a lease go back to their queue when it would have run out, while a worker runs", false},
	{scripts.Idle, "lease without an active entry", "leases without an active entry", "leases without an active entry make a queue look busy, and may hold a job", false},
	{scripts.Outlived, "expiry of a job that has none", "expiries of jobs that have none", "an expiry alone does nothing", false},
	{scripts.Locked, "unique key of no live job", "unique keys of no live jobs", "a unique key of no live job is taken over by the next one", false},
	{scripts.Remains, "record of a job that has gone", "records of jobs that have gone", "records of jobs that have gone only take room", false},
	{scripts.Unplanned, "note of a past tick", "notes of past ticks", "notes of past ticks only take room", false},
	{scripts.Vanished, "run of a schedule that has gone", "runs of schedules that have gone", "runs that have gone let those that wait for them wait some seconds longer", false},
}

func (w orphanWords) count(n int) string { return many(int64(n), w.one, w.more) }

func (e *examination) jobsOrphans(ctx context.Context) (finding, error) {
	if e.fix {
		return e.repairOrphans(ctx)
	}
	o, err := e.orphans(ctx, lookForOrphans)
	if err != nil {
		return finding{}, err
	}
	return judgeOrphans(o), nil
}

func amongWhat(o scripts.Orphans) string {
	if o.Whole {
		return "among all entries"
	}
	return fmt.Sprintf("among the first %s; there are more, and it stopped there", many(int64(o.Looked), "entry", "entries"))
}

func judgeOrphans(o scripts.Orphans) finding {
	if len(o.Found) == 0 {
		return finding{Status: fine, Detail: "none " + amongWhat(o)}
	}
	ids := map[scripts.OrphanKind][]string{}
	for _, orphan := range o.Found {
		ids[orphan.Kind] = append(ids[orphan.Kind], orphan.ID)
	}
	f := finding{Status: warns}
	var details, hints []string
	for _, w := range orphanTable {
		list := ids[w.kind]
		if len(list) == 0 {
			continue
		}
		details = append(details, fmt.Sprintf("%s (%s)", w.count(len(list)), firstFew(list)))
		hints = append(hints, w.hint)
		if w.fails {
			f.Status = failed
		}
	}
	f.Detail = strings.Join(details, ", ") + " " + amongWhat(o)
	f.Hint = text("bide doctor --fix repairs them; find out what else writes to bide's keys, or what Redis has lost: " + strings.Join(hints, "; "))
	return f
}

// repairOrphans repairs what it finds, and tells what that was and what is left.
func (e *examination) repairOrphans(ctx context.Context) (finding, error) {
	mended, left, err := e.repair(ctx, lookToRepair)
	var details []string
	for _, w := range orphanTable {
		if n := mended[w.kind]; n > 0 {
			details = append(details, w.count(n))
		}
	}
	done := ""
	if len(details) > 0 {
		done = "repaired " + strings.Join(details, ", ") + "; "
	}
	switch {
	case scripts.TakesNoWrites(err):
		return finding{Status: failed, Detail: done + "Redis takes no more writes: " + err.Error(), Hint: refusalHint(err)}, nil
	case err != nil:
		return finding{}, err
	case len(left.Found) == 0 && done != "":
		return finding{Status: fine, Detail: done + "none left " + amongWhat(left)}, nil
	}
	f := judgeOrphans(left)
	f.Detail = done + f.Detail
	if f.Status != fine {
		f.Hint = "run it again while little else goes on; what stays is under a key where something foreign stands"
	}
	return f, nil
}
