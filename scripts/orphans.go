package scripts

import (
	"cmp"
	"context"
	"slices"
	"strings"
)

// OrphanKind says which counterpart an orphan has lost.
type OrphanKind string

// The kinds of orphans, in the order in which they are mended: what comes first may
// leave the next.
const (
	Unlisted   OrphanKind = "unlisted"   // a lane whose queue is not among those in use
	Unleased   OrphanKind = "unleased"   // an active entry without a lease
	Idle       OrphanKind = "idle"       // a lease without an active entry
	Leftover   OrphanKind = "leftover"   // an entry of an earlier job with the same id
	Doubled    OrphanKind = "doubled"    // a job that stands in two places
	Ghost      OrphanKind = "ghost"      // a ghost without a lane entry, or of a job that lives
	Miscounted OrphanKind = "miscounted" // a lane whose number of ghosts is wrong
	Placeless  OrphanKind = "placeless"  // a body that stands nowhere
	Bodiless   OrphanKind = "bodiless"   // an entry of a place without a readable body
	Outlived   OrphanKind = "outlived"   // an expiry of a job that it no longer concerns
	Locked     OrphanKind = "locked"     // a unique key that no live job holds
	Remains    OrphanKind = "remains"    // run fields or errors without a body
	Unplanned  OrphanKind = "unplanned"  // a note of a tick that has long gone
	Vanished   OrphanKind = "vanished"   // an open or waiting run of a schedule that is none any more
	Uncounted  OrphanKind = "uncounted"  // jobs that the sum misses, or has too many; the id is their number
)

// OrphanKinds are all kinds, in the order in which they are mended.
var OrphanKinds = []OrphanKind{
	Unlisted, Unleased, Idle, Leftover, Doubled, Ghost, Miscounted, Placeless, Bodiless, Outlived, Locked, Remains, Unplanned, Vanished, Uncounted,
}

// Orphan is one entry that has lost its counterpart.
type Orphan struct {
	Kind OrphanKind
	ID   string
	// Where is the place, the lane or the schedule in which it was found, and Entry
	// what stands there.
	Where, Entry string
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
	f := &orphanFinder{set: s, left: most, whole: true, found: map[Orphan]bool{}, inLane: map[string]string{}}
	parts := []func(context.Context, int) error{f.active, f.leases, f.places, f.notes, f.bodies}
	for i, part := range parts {
		if err := part(ctx, f.left/(len(parts)-i)); err != nil {
			return Orphans{}, err
		}
	}
	o := Orphans{Looked: most - f.left, Whole: f.whole}
	for orphan := range f.found {
		o.Found = append(o.Found, orphan)
	}
	slices.SortFunc(o.Found, func(a, b Orphan) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.ID, b.ID), cmp.Compare(a.Where, b.Where), cmp.Compare(a.Entry, b.Entry))
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
	inLane map[string]string // entries seen in lanes -> the lane
	again  map[string][]any  // lane -> entries seen in it more than once
}

func (f *orphanFinder) active(ctx context.Context, share int) error {
	return f.walk(ctx, "active", "", &share, nil)
}

func (f *orphanFinder) leases(ctx context.Context, share int) error {
	return f.walk(ctx, "lease", "", &share, nil)
}

func (f *orphanFinder) places(ctx context.Context, share int) error {
	for _, place := range []string{"queue", "delayed", "dead", "finished"} {
		if err := f.walk(ctx, place, "", &share, nil); err != nil {
			return err
		}
	}
	queues, err := f.set.Queues(ctx)
	if err != nil {
		return err
	}
	for orphan := range f.found {
		if orphan.Kind == Unlisted {
			queues = append(queues, orphan.ID)
		}
	}
	f.again = map[string][]any{}
	for _, queue := range queues {
		for _, lane := range []string{queue + "-delayed", queue} {
			err := f.walk(ctx, "lane", lane, &share, func(member string) {
				// A lane that moves shows entries twice, too: ask again for these.
				if _, seen := f.inLane[member]; seen && len(f.again[lane]) < orphanPage {
					f.again[lane] = append(f.again[lane], member)
				}
				f.inLane[member] = lane
			})
			if err != nil {
				return err
			}
		}
	}
	for lane, members := range f.again {
		for part := range slices.Chunk(members, orphanIDs) {
			if _, _, _, err := f.page(ctx, "twice", lane, "0", orphanLane, part...); err != nil {
				return err
			}
		}
	}
	return nil
}

// notes goes through what is kept beside the places.
func (f *orphanFinder) notes(ctx context.Context, share int) error {
	for _, place := range []string{"counts", "ghosts", "expiry", "unique", "run", "errors"} {
		if err := f.walk(ctx, place, "", &share, nil); err != nil {
			return err
		}
	}
	applied, err := f.set.Definitions(ctx)
	if err != nil {
		return err
	}
	for _, a := range applied {
		for _, set := range []string{"planned", "open", "held", "makeup"} {
			if err := f.walk(ctx, set, a.Name, &share, nil); err != nil {
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
		_, seen := f.inLane[member]
		switch {
		case seen || len(parts) != 3:
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
			each(toText(member)) // only lanes and bodies show any
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
	for i := 0; i+3 < len(found); i += 4 {
		f.found[Orphan{OrphanKind(toText(found[i])), toText(found[i+1]), toText(found[i+2]), toText(found[i+3])}] = true
	}
	return toText(item(list, 0)), int(toInt(item(list, 1))), toList(item(list, 3)), nil
}
