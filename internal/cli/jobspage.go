package cli

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/bide-go/bide/job"
	"github.com/bide-go/bide/scripts"
)

// A page looks at no more than lookAtMost jobs, in calls of no more than lookAtOnce,
// so that a filter which matches nothing keeps neither Redis nor a person waiting.
const (
	lookAtMost = 10_000
	lookAtOnce = 1_000
	readAtOnce = 200 // whole, to look at their errors
)

// position is where a page ends. The cursor that people see is opaque.
type position struct {
	Place string `json:"p"`
	Lane  string `json:"l,omitempty"`
	After string `json:"a,omitempty"`
}

func (p position) cursor() string {
	data, _ := json.Marshal(p) // three texts always encode
	return base64.RawURLEncoding.EncodeToString(data)
}

func decodeCursor(text string) (position, error) {
	var p position
	data, err := base64.RawURLEncoding.DecodeString(text)
	if err == nil {
		err = json.Unmarshal(data, &p)
	}
	if err == nil && p.cursor() != text {
		err = errors.New("not a cursor of ours")
	}
	return p, err
}

// The places of jobs in the order they are listed.
const (
	placeActive   = "active"
	placeLane     = "lane"
	placeDelayed  = "delayed"
	placeDead     = "dead"
	placeFinished = "finished"
)

// placesOf are the places where jobs in a state stand; no state is every state.
func placesOf(s job.State) []string {
	switch s {
	case "":
		return []string{placeActive, placeLane, placeDelayed, placeDead, placeFinished}
	case job.Active:
		return []string{placeActive}
	case job.Waiting:
		return []string{placeLane}
	case job.Delayed:
		return []string{placeDelayed}
	case job.Dead:
		return []string{placeDead}
	}
	return []string{placeFinished}
}

// lister reads one page.
type lister struct {
	set    *scripts.Set
	filter filter
	died   string // where the dead jobs begin that may match
	budget int    // jobs that may still be looked at
}

func newLister(ctx context.Context, c *conn, f filter) (*lister, error) {
	l := &lister{set: c.set, filter: f, budget: lookAtMost}
	if f.since > 0 {
		// Dead jobs stand by their time of death: what died before is passed over.
		now, err := c.now(ctx)
		if err != nil {
			return nil, err
		}
		l.died = fmt.Sprintf("%d ", now.Add(-f.since).UnixMilli())
	}
	return l, nil
}

// page returns the jobs behind from and the cursor of the next page, empty if
// there is none.
func (l *lister) page(ctx context.Context, from position) ([]*job.Job, string, error) {
	stages, err := l.stages(ctx)
	if err != nil {
		return nil, "", err
	}
	var jobs []*job.Job
	var end *position // where the page is full
	seen := map[string]bool{}
	for _, at := range skipTo(stages, from) {
		for done := false; !done; {
			if l.budget <= 0 {
				if end == nil {
					end = &at
				}
				return jobs, end.cursor(), nil
			}
			// A full page has a next one only if one more job matches.
			want := max(l.filter.limit-len(jobs), 1)
			found, after, err := l.look(ctx, at, want)
			if err != nil {
				return nil, "", err
			}
			if end != nil && len(found) > 0 {
				return jobs, end.cursor(), nil
			}
			for _, j := range found {
				if !seen[j.ID] { // it may have moved between two calls
					seen[j.ID] = true
					jobs = append(jobs, j)
				}
			}
			done = after == "" || after == at.After
			at.After = after
			if end == nil && len(jobs) >= l.filter.limit && !done {
				full := at
				end = &full
			}
		}
		if end == nil && len(jobs) >= l.filter.limit {
			end = l.behind(stages, at)
			if end == nil {
				return jobs, "", nil
			}
		}
	}
	return jobs, "", nil
}

// look returns up to want jobs behind at that match, and where it stopped.
func (l *lister) look(ctx context.Context, at position, want int) ([]*job.Job, string, error) {
	ask := want
	if l.filter.errorText != "" {
		ask = max(want, readAtOnce)
	}
	for {
		jobs, after, looked, err := l.set.List(ctx, scripts.Page{
			Place: at.Place, Lane: at.Lane, After: at.After, Look: min(l.budget, lookAtOnce), Want: ask,
			Queue: l.filter.queue, Name: l.filter.name, Sched: l.filter.schedule, State: l.filter.state,
		})
		if err != nil {
			return nil, "", err
		}
		matching, full := l.matching(jobs, want)
		if len(matching) <= want {
			l.budget -= looked
			return matching, after, nil
		}
		// More than wanted: once more, up to the last that is.
		ask = full
	}
}

// matching are the jobs with the text in their newest failure, which Redis does
// not look for, and how many jobs it took to find want of them.
func (l *lister) matching(jobs []*job.Job, want int) (matching []*job.Job, full int) {
	for i, j := range jobs {
		if !strings.Contains(j.LastError(), l.filter.errorText) {
			continue
		}
		matching = append(matching, j)
		if len(matching) == want {
			full = i + 1
		}
	}
	return matching, full
}

// stages are the places to look at, each from its start.
func (l *lister) stages(ctx context.Context) ([]position, error) {
	var stages []position
	for _, place := range placesOf(l.filter.state) {
		if place == placeDead {
			stages = append(stages, position{Place: place, After: l.died})
			continue
		}
		if place != placeLane {
			stages = append(stages, position{Place: place})
			continue
		}
		queues := []string{l.filter.queue}
		if l.filter.queue == "" {
			var err error
			if queues, err = l.set.Queues(ctx); err != nil {
				return nil, err
			}
			sortQueues(queues, func(q string) string { return q })
		}
		for _, q := range queues {
			stages = append(stages, position{Place: place, Lane: q + "-delayed"}, position{Place: place, Lane: q})
		}
	}
	return stages, nil
}

// behind is the start of the stage behind the one of at, nil if it is the last.
func (l *lister) behind(stages []position, at position) *position {
	i := slices.IndexFunc(stages, func(s position) bool { return s.Place == at.Place && s.Lane == at.Lane })
	if i < 0 || i+1 == len(stages) {
		return nil
	}
	return &stages[i+1]
}

// skipTo cuts off the stages before from and begins where it ended.
func skipTo(stages []position, from position) []position {
	if from.Place == "" {
		return stages
	}
	for i, s := range stages {
		if s.Place != from.Place || s.Lane != from.Lane {
			continue
		}
		rest := slices.Clone(stages[i:])
		rest[0].After = from.After
		return rest
	}
	// Its lane is gone: go on behind the lanes.
	i := slices.IndexFunc(stages, func(s position) bool { return s.Place == placeDelayed })
	if i < 0 {
		return nil
	}
	return stages[i:]
}

// sortQueues sorts by the names of queues: the tiers first, highest first, then by
// name.
func sortQueues[T any](list []T, name func(T) string) {
	rank := func(queue string) int {
		if i := slices.Index(tiers, queue); i >= 0 {
			return i
		}
		return len(tiers)
	}
	slices.SortFunc(list, func(a, b T) int {
		return cmp.Or(cmp.Compare(rank(name(a)), rank(name(b))), cmp.Compare(name(a), name(b)))
	})
}

// tiers are the queues served by default, in strict order.
var tiers = []string{"high", "medium", "low"}
