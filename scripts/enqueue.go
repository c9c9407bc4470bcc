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

// Batch is the jobs that one call of Enqueue creates. What the call says of them is
// written as they are added, so that it can leave at once. The zero value is empty.
type Batch struct {
	jobs  []*NewJob
	args  []any
	form  string // the first of args
	shape string // that of the latest of the groups, if they are the form
	group int    // where in args it begins
	size  int
	reply any
}

// NewBatch returns a batch of jobs.
func NewBatch(jobs ...NewJob) *Batch {
	var b Batch
	for i := range jobs {
		b.Add(&jobs[i])
	}
	return &b
}

// Len is the number of jobs.
func (b *Batch) Len() int { return len(b.jobs) }

// ID is the id of job i.
func (b *Batch) ID(i int) string { return b.jobs[i].ID }

// Takes reports whether one call may carry n, too.
func (b *Batch) Takes(n *NewJob) bool {
	return len(b.jobs) == 0 || len(b.jobs) < EnqueueJobs && b.size+n.Size() <= EnqueueBytes
}

// Add adds a job, which must not change any more. Plain jobs of one queue cost the
// least, if all are due now or all are not; of others those that follow each other and
// are alike but for their id, name and args.
func (b *Batch) Add(n *NewJob) {
	form := n.form()
	switch {
	case len(b.jobs) == 0:
		b.form = form
		if b.args == nil {
			b.args = make([]any, 0, 5) // for one job, which is what most calls bring
		}
		if b.args = append(b.args, form); form != formGroups {
			b.args = append(b.args, n.Queue)
		}
	case b.form != formGroups && (form != b.form || n.Queue != b.jobs[0].Queue):
		b.form = formGroups
		b.args = append(b.args[:0], formGroups)
		for _, earlier := range b.jobs {
			b.addToGroup(earlier)
		}
	}
	b.jobs, b.size = append(b.jobs, n), b.size+n.Size()
	switch b.form {
	case formNow:
		b.args = append(b.args, n.ID, n.tail())
	case formLater:
		b.args = append(b.args, n.ID, n.when(), n.tail())
	default:
		b.addToGroup(n)
	}
}

func (b *Batch) addToGroup(n *NewJob) {
	if shape := n.shape(); len(b.args) == 1 || shape != b.shape {
		b.shape, b.group = shape, len(b.args)
		b.args = append(b.args, shape, 0)
	}
	b.args[b.group+1] = (len(b.args) - b.group) / 2
	b.args = append(b.args, n.ID, n.tail())
}

// Reset empties the batch and keeps its memory.
func (b *Batch) Reset() { *b = Batch{jobs: b.jobs[:0], args: b.args[:0]} }

// Enqueue creates the jobs of a batch in one step: all that are not there already, or
// on an error none. The batch's Created tells of each.
func (s *Set) Enqueue(ctx context.Context, b *Batch) (err error) {
	b.reply, err = s.run(ctx, "enqueue", b.args)
	return err
}

// Created tells what became of the jobs after Enqueue, in their order.
func (b *Batch) Created() []Created {
	list := toList(b.reply) // none when all were created
	us := toInt(b.reply)
	if len(list) > 0 {
		us = toInt(list[0])
	}
	now, soon := time.UnixMilli(us/1000).UTC(), time.UnixMilli((us+999)/1000).UTC()
	results := make([]Created, len(b.jobs))
	for i := range results {
		results[i] = b.jobs[i].created(now, soon)
	}
	for k := 1; k+4 < len(list); k += 5 {
		i := toInt(list[k]) - 1
		if i < 0 || i >= int64(len(b.jobs)) {
			continue
		}
		r := Created{ID: toText(list[k+2])}
		switch toText(list[k+1]) {
		case "exists", "unique":
			r.State, r.Due, r.Deduplicated = job.State(toText(list[k+3])), toTime(list[k+4]), true
		case "queues":
			r.Err = fmt.Errorf("queue %q: 1,000 queues are in use, which is the most", b.jobs[i].Queue)
		default:
			r.Err = fmt.Errorf("job %q: the Redis key %s holds something that is not bide's", b.jobs[i].ID, toText(list[k+4]))
		}
		results[i] = r
	}
	return results
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
