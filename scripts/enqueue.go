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
	args := make([]any, 0, 7*len(jobs))
	for i := range jobs {
		n := &jobs[i]
		args = append(args, n.ID, n.Queue, n.when(), n.expiry(), n.Unique, n.kind(), n.tail())
	}
	reply, err := s.run(ctx, "enqueue", args)
	if err != nil {
		return nil, err
	}
	list := toList(reply)
	results := make([]Created, len(jobs))
	for i := range results {
		status, id := toText(item(list, 4*i)), toText(item(list, 4*i+1))
		where := item(list, 4*i+3)
		results[i] = Created{ID: id}
		switch status {
		case "created", "exists", "unique":
			results[i].State = job.State(toText(item(list, 4*i+2)))
			results[i].Due = toTime(where)
			results[i].Deduplicated = status != "created"
		case "queues":
			results[i].Err = fmt.Errorf("queue %q: 1,000 queues are in use, which is the most", jobs[i].Queue)
		default:
			results[i].Err = fmt.Errorf("job %q: the Redis key %s holds something that is not bide's", jobs[i].ID, toText(where))
		}
	}
	return results, nil
}
