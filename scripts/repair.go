package scripts

import (
	"context"
	"slices"
	"strconv"
)

// repairItems bounds one call of repair.
const repairItems = 50

// Repairs counts what was mended, by kind.
type Repairs map[OrphanKind]int

// Repair mends what FindOrphans has found, kind after kind. What is no orphan any more
// by then is left alone.
func (s *Set) Repair(ctx context.Context, found []Orphan) (Repairs, error) {
	mended := Repairs{}
	for _, kind := range OrphanKinds {
		var args []any
		for _, o := range found {
			if o.Kind == kind {
				args = append(args, o.ID, o.Where, o.Entry)
			}
		}
		for len(args) > 0 {
			part := args[:min(len(args), 3*repairItems)]
			reply, err := s.run(ctx, "repair", append([]any{string(kind)}, part...))
			if err != nil {
				return mended, err
			}
			list := toList(reply)
			if n := int(toInt(item(list, 1))); n > 0 {
				mended[kind] += n
			}
			args = args[min(len(args), 3*max(1, int(toInt(item(list, 0))))):]
		}
	}
	return mended, nil
}

// repairRounds bounds how often RepairAll looks: the mending of one kind may bring
// another to light.
const repairRounds = 4

// RepairAll looks at up to most entries and mends what it finds, until it finds
// nothing more. If it has seen everything and the sum still is not zero, it squares
// that: jobs of which nothing is left are counted as dead, and surplus ones as created.
// It returns what it has mended and what it could not.
func (s *Set) RepairAll(ctx context.Context, most int) (Repairs, Orphans, error) {
	all := Repairs{}
	for round := 0; ; round++ {
		o, err := s.FindOrphans(ctx, most)
		if err != nil {
			return all, o, err
		}
		if len(o.Found) == 0 && o.Whole {
			sum, err := s.Audit(ctx)
			if err != nil {
				return all, o, err
			}
			if gap := sum.Gap(); gap != 0 {
				o.Found = []Orphan{{Kind: Uncounted, ID: strconv.FormatInt(gap, 10), Where: "counts"}}
			}
		}
		if len(o.Found) == 0 || round == repairRounds {
			return all, o, nil
		}
		mended, err := s.Repair(ctx, o.Found)
		for kind, n := range mended {
			all[kind] += n
		}
		if err != nil {
			return all, o, err
		}
		if len(mended) == 0 && !slices.ContainsFunc(o.Found, func(o Orphan) bool { return o.Kind == Uncounted }) {
			return all, o, nil
		}
	}
}
