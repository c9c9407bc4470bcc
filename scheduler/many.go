package scheduler

import (
	"context"
	"fmt"

	"github.com/bide-go/bide/job"
	"github.com/bide-go/bide/scripts"
)

// many sends the jobs of one ExecuteMany, call by call and in their order. While one
// call is on its way the next ones are made: Redis never waits for them.
type many struct {
	ctx     context.Context
	set     *scripts.Set
	results []Result
	most    int // jobs of a call
	next    *load

	ready, done chan *load // nil until the first call; done is closed after the last
	away        int        // loads that have not come back
	spare       *load
	err         error // that of the first call that failed
}

// load is what one call creates; index says which requests they were.
type load struct {
	batch scripts.Batch
	index []int
	err   error
}

// mostReady is how many calls are made before they can be sent.
const mostReady = 2

func (m *many) add(n *scripts.NewJob, i int) {
	if m.next != nil && (m.next.batch.Len() >= m.most || !m.next.batch.Takes(n)) {
		m.send()
	}
	if m.next == nil {
		m.next, m.spare = m.spare, nil
		if m.next == nil {
			m.next = new(load)
		}
	}
	m.next.batch.Add(n)
	m.next.index = append(m.next.index, i)
}

// send hands over the next call. It waits when there are enough ready.
func (m *many) send() {
	if m.ready == nil {
		m.ready, m.done = make(chan *load, mostReady), make(chan *load, mostReady+2)
		go m.sendAll()
	}
	m.ready <- m.next
	m.next = nil
	m.away++
	for m.away > mostReady {
		m.back(<-m.done)
		m.away--
	}
}

// sendAll sends what is ready until the last. After a failure nothing more is sent.
func (m *many) sendAll() {
	defer close(m.done)
	var failed error
	for l := range m.ready {
		if failed != nil {
			// The failure's text only: its outcome may be unknown, that of these is not.
			l.err = fmt.Errorf("%w: not sent after an earlier failure: %s", job.ErrUnavailable, failed.Error())
		} else if l.err = m.set.Enqueue(m.ctx, &l.batch); l.err != nil {
			failed = l.err
		}
		m.done <- l
	}
}

// end sends the rest, waits for all and returns the error of the first call that failed.
func (m *many) end() error {
	if m.next == nil {
		return nil
	}
	if m.ready == nil { // there is but one call
		m.next.err = m.set.Enqueue(m.ctx, &m.next.batch)
		m.back(m.next)
		return m.err
	}
	m.send()
	close(m.ready)
	for l := range m.done {
		m.back(l)
	}
	return m.err
}

// back fills in what became of the jobs of a call.
func (m *many) back(l *load) {
	if l.err != nil {
		ids := make([]string, l.batch.Len())
		for k := range ids {
			ids[k] = l.batch.ID(k)
		}
		err := aboutJobs(l.err, ids...)
		for k, i := range l.index {
			m.results[i] = Result{ID: ids[k], Err: err}
		}
		if m.err == nil {
			m.err = err
		}
		return
	}
	for k, created := range l.batch.Created() {
		m.results[l.index[k]] = resultOf(created)
	}
	l.batch.Reset()
	m.spare, l.index = l, l.index[:0]
}
