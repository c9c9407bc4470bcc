package scripts

import (
	"context"
	"fmt"
	"time"

	"github.com/bide-go/bide/job"
)

// A call of enqueue is bounded in jobs and in bytes, so that it never holds Redis
// for long.
const (
	EnqueueJobs  = 500
	EnqueueBytes = 4 << 20
)

// Created is what became of one job to create.
type Created struct {
	// ID is the job's id; with Deduplicated, that of the job that was there.
	ID           string
	State        job.State
	Due          time.Time
	Deduplicated bool
	// Err says why this job was refused while others of the call were not.
	Err error
}

// Enqueue creates at most EnqueueJobs jobs in one step: all that are not there
// already, or on an error none.
func (s *Set) Enqueue(ctx context.Context, jobs []NewJob) ([]Created, error) {
	args := make([]any, 0, 3*len(jobs))
	last := ""
	for i := range jobs {
		shape := jobs[i].shape()
		if shape == last {
			shape = ""
		} else {
			last = shape
		}
		args = append(args, jobs[i].ID, shape, jobs[i].tail())
	}
	reply, err := s.run(ctx, "enqueue", args)
	if err != nil {
		return nil, err
	}
	list := toList(reply)
	now, soon := toTime(item(list, 0)), toTime(item(list, 1))
	results := make([]Created, len(jobs))
	for i := range results {
		results[i] = jobs[i].created(now, soon)
	}
	for k := 2; k+4 < len(list); k += 5 {
		i := toInt(list[k]) - 1
		if i < 0 || i >= int64(len(jobs)) {
			continue
		}
		r := Created{ID: toText(list[k+2])}
		switch toText(list[k+1]) {
		case "exists", "unique":
			r.State, r.Due, r.Deduplicated = job.State(toText(list[k+3])), toTime(list[k+4]), true
		case "queues":
			r.Err = fmt.Errorf("queue %q: 1,000 queues are in use, which is the most", jobs[i].Queue)
		default:
			r.Err = fmt.Errorf("job %q: the Redis key %s holds something that is not bide's", jobs[i].ID, toText(list[k+4]))
		}
		results[i] = r
	}
	return results, nil
}

// created is the answer about a job that was created at now; soon is the first
// millisecond after it, from which a delay counts.
func (n *NewJob) created(now, soon time.Time) Created {
	due := n.At
	if n.Delay > 0 {
		due = soon.Add(time.Duration(ceilMilli(n.Delay)) * time.Millisecond)
	}
	if due = time.UnixMilli(ceilUnixMilli(due)).UTC(); due.After(now) {
		return Created{ID: n.ID, State: job.Delayed, Due: due}
	}
	return Created{ID: n.ID, State: job.Waiting, Due: now}
}
