package scripts

import (
	"context"
	"fmt"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/bide-go/bide/job"
)

// Inspect reads one job whole, or job.ErrNotFound if it is neither live, retained
// nor dead.
func (s *Set) Inspect(ctx context.Context, id string) (*job.Job, error) {
	reply, err := s.run(ctx, "inspect", []any{id})
	if err != nil {
		return nil, err
	}
	list := toList(reply)
	if len(list) == 0 {
		return nil, fmt.Errorf("%w: %q", job.ErrNotFound, id)
	}
	if toText(list[0]) == "spoilt" && len(list) == 2 {
		return nil, fmt.Errorf("job %q: %s", id, toText(list[1]))
	}
	return decodeShown(list)
}

// decodeShown reads {id, state, score, body, run fields, lease, failures}.
func decodeShown(list []any) (*job.Job, error) {
	j := &job.Job{}
	id := toText(item(list, 0))
	if err := decodeBody(id, toText(item(list, 3)), j); err != nil {
		return nil, err
	}
	j.State = job.State(toText(item(list, 1)))
	fields := toList(item(list, 4))
	for i := 0; i+1 < len(fields); i += 2 {
		value := fields[i+1]
		switch toText(fields[i]) {
		case "attempts":
			j.Attempts = int(toInt(value))
		case "lost":
			j.Lost = int(toInt(value))
		case "due":
			j.Due = toTime(value)
		case "started":
			j.Started = toTime(value)
		case "worker":
			j.Worker = toText(value)
		case "finished":
			j.Finished = toTime(value)
		case "reason":
			j.Reason = job.Reason(toText(value))
		}
	}
	if j.State == job.Active {
		j.LeaseUntil = toTime(item(list, 2))
		// '<worker>:<number> <started> <queue> <kind>[c]'
		if lease := strings.Fields(toText(item(list, 5))); len(lease) == 4 {
			j.Worker, _, _ = strings.Cut(lease[0], ":")
			j.Started = toTime(lease[1])
			j.CancelRequested = strings.HasSuffix(lease[3], "c")
		}
	}
	for _, entry := range toList(item(list, 6)) {
		j.Errors = append(j.Errors, decodeFailure(toText(entry)))
	}
	return j, nil
}

// Page asks for part of a listing. A zero filter matches everything.
type Page struct {
	Place string // active, delayed, dead, finished or lane
	Lane  string // with place lane: a queue, or <queue>-delayed
	After string // where the page before ended
	Look  int    // entries to look at, at most 1,000 a call
	Want  int    // jobs to return
	Queue string
	Name  string
	Sched string
	State job.State
}

// List reads one page of one place, without args and headers and with the newest
// failure only. next is empty at the end of the place.
func (s *Set) List(ctx context.Context, p Page) (jobs []*job.Job, next string, looked int, err error) {
	reply, err := s.run(ctx, "list", []any{p.Place, p.Lane, p.After, p.Look, p.Want, p.Queue, p.Name, p.Sched, string(p.State)})
	if err != nil {
		return nil, "", 0, err
	}
	list := toList(reply)
	for i := 2; i < len(list); i++ {
		j, err := decodeShown(toList(list[i]))
		if err != nil {
			continue // a spoilt body has no row; the audit counts it
		}
		j.Args, j.Headers = nil, nil
		jobs = append(jobs, j)
	}
	return jobs, toText(item(list, 0)), int(toInt(item(list, 1))), nil
}

// Queues lists the queues in use.
func (s *Set) Queues(ctx context.Context) ([]string, error) {
	names, err := s.rdb.HKeys(ctx, s.keys.name("queues")).Result()
	if err != nil {
		return nil, fmt.Errorf("queues: %w", classify(err))
	}
	return names, nil
}

// End is what the event stream still knows of a job that has gone.
type End struct {
	State  job.State
	Reason job.Reason
	At     int64 // unix ms
}

// FindEnd looks for the end of a job in the capped event stream, newest first. It
// returns job.ErrNotFound if the stream knows nothing (any more).
func (s *Set) FindEnd(ctx context.Context, id string) (End, error) {
	last := "+"
	for {
		entries, err := s.rdb.XRevRangeN(ctx, s.keys.name("events"), last, "-", 500).Result()
		if err != nil {
			return End{}, fmt.Errorf("events: %w", classify(err))
		}
		for _, e := range entries {
			if end, ok := endOf(e, id); ok {
				return end, nil
			}
			last = "(" + e.ID
		}
		if len(entries) == 0 {
			return End{}, fmt.Errorf("%w: %q", job.ErrNotFound, id)
		}
	}
}

func endOf(e redis.XMessage, id string) (End, bool) {
	for _, state := range job.States {
		ids, ok := e.Values[string(state)].(string)
		if !ok || !state.Ended() || !strings.Contains(" "+ids+" ", " "+id+" ") {
			continue
		}
		reason, _ := e.Values["reason"].(string)
		ms, _, _ := strings.Cut(e.ID, "-")
		return End{State: state, Reason: job.Reason(reason), At: toInt(ms)}, true
	}
	return End{}, false
}
