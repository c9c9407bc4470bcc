package scripts

import (
	"context"
	"sort"
	"strings"
)

// OrphanKind says which counterpart an orphan has lost.
type OrphanKind string

// The kinds of orphans.
const (
	Unleased  OrphanKind = "unleased"  // an active entry without a lease
	Idle      OrphanKind = "idle"      // a lease without an active entry
	Bodiless  OrphanKind = "bodiless"  // an entry of a place without a readable body
	Placeless OrphanKind = "placeless" // a body that stands nowhere
)

// Orphan is one entry that has lost its counterpart.
type Orphan struct {
	Kind OrphanKind
	ID   string
}

// Orphans is what a look for them found.
type Orphans struct {
	Found []Orphan // by kind, then by id
	// Looked counts the entries that were looked at.
	Looked int
	// Whole says that they were all there are.
	Whole bool
}

// A page looks at orphanPage entries. Bodies that no lane showed are looked for
// once more in lanes of up to orphanLane entries, orphanIDs a call.
const (
	orphanPage = 500
	orphanLane = 20_000
	orphanIDs  = 10
)

// FindOrphans looks for what has lost its counterpart, at about most entries in
// all, a page a call. It changes nothing. Each page is judged at one instant, so
// that a job on the move is no orphan.
func (s *Set) FindOrphans(ctx context.Context, most int) (Orphans, error) {
	f := &orphanFinder{set: s, left: most, whole: true, found: map[Orphan]bool{}, inLane: map[string]bool{}}
	for i, part := range []func(context.Context, int) error{f.active, f.leases, f.places, f.bodies} {
		before := f.left
		if err := part(ctx, before/(4-i)); err != nil {
			return Orphans{}, err
		}
	}
	o := Orphans{Looked: most - f.left, Whole: f.whole}
	for orphan := range f.found {
		o.Found = append(o.Found, orphan)
	}
	sort.Slice(o.Found, func(i, j int) bool {
		a, b := o.Found[i], o.Found[j]
		return a.Kind < b.Kind || a.Kind == b.Kind && a.ID < b.ID
	})
	return o, nil
}

// orphanFinder goes through the places one after the other. Each has a share of
// the entries that may be looked at, and what one leaves over goes to the next.
type orphanFinder struct {
	set    *Set
	left   int
	whole  bool
	found  map[Orphan]bool
	inLane map[string]bool // entries seen in lanes
}

func (f *orphanFinder) active(ctx context.Context, share int) error {
	return f.walk(ctx, "active", "", &share, nil)
}

func (f *orphanFinder) leases(ctx context.Context, share int) error {
	return f.walk(ctx, "lease", "", &share, nil)
}

func (f *orphanFinder) places(ctx context.Context, share int) error {
	for _, place := range []string{"delayed", "dead", "finished"} {
		if err := f.walk(ctx, place, "", &share, nil); err != nil {
			return err
		}
	}
	queues, err := f.set.Queues(ctx)
	if err != nil {
		return err
	}
	for _, queue := range queues {
		for _, lane := range []string{queue + "-delayed", queue} {
			if err := f.walk(ctx, "lane", lane, &share, func(member string) { f.inLane[member] = true }); err != nil {
				return err
			}
		}
	}
	return nil
}

func (f *orphanFinder) bodies(ctx context.Context, share int) error {
	var missing []any // ids of waiting jobs that were seen in no lane
	err := f.walk(ctx, "body", "", &share, func(member string) {
		parts := strings.SplitN(member, ":", 3)
		switch {
		case f.inLane[member] || len(parts) != 3:
		case len(missing) < orphanPage:
			missing = append(missing, parts[2])
		default:
			f.whole = false
		}
	})
	for len(missing) > 0 && err == nil {
		n := min(len(missing), orphanIDs)
		_, _, _, err = f.page(ctx, "none", "", "0", orphanLane, missing[:n]...)
		missing = missing[n:]
	}
	return err
}

// walk goes through one place, and hands on the lane entries that come with it.
func (f *orphanFinder) walk(ctx context.Context, place, lane string, share *int, each func(member string)) error {
	cursor := "0"
	for *share > 0 {
		next, looked, members, err := f.page(ctx, place, lane, cursor, min(*share, orphanPage))
		if err != nil {
			return err
		}
		*share -= looked
		f.left -= looked
		for _, member := range members {
			each(toText(member))
		}
		if next == "0" {
			return nil
		}
		cursor = next
	}
	f.whole = false
	return nil
}

func (f *orphanFinder) page(ctx context.Context, place, lane, cursor string, look int, ids ...any) (next string, looked int, members []any, err error) {
	reply, err := f.set.run(ctx, "orphans", append([]any{place, lane, cursor, look}, ids...))
	if err != nil {
		return "", 0, nil, err
	}
	list := toList(reply)
	found := toList(item(list, 2))
	for i := 0; i+1 < len(found); i += 2 {
		f.found[Orphan{OrphanKind(toText(found[i])), toText(found[i+1])}] = true
	}
	return toText(item(list, 0)), int(toInt(item(list, 1))), toList(item(list, 3)), nil
}
