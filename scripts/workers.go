package scripts

import (
	"context"
	"sort"
	"strings"
	"time"
)

// silentAfter is after how long without a heartbeat a process is taken for dead.
// Processes beat every 5 s.
const silentAfter = 20 * time.Second

// surveyEntries is how many entries of each lane are looked at for names without
// a handler.
const surveyEntries = 1000

// Worker is one live process.
type Worker struct {
	ID     string
	Beat   time.Time
	Fields map[string]string // what it said of itself; see Presence
}

// List returns a field that holds several words.
func (w Worker) List(field string) []string { return strings.Fields(w.Fields[field]) }

// Workers lists the live processes.
func (s *Set) Workers(ctx context.Context) ([]Worker, error) {
	reply, err := s.run(ctx, "workers", []any{silentAfter.Milliseconds()})
	if err != nil {
		return nil, err
	}
	list := toList(reply)
	var workers []Worker
	for i := 0; i+2 < len(list); i += 3 {
		w := Worker{ID: toText(list[i]), Beat: toTime(list[i+1]), Fields: map[string]string{}}
		fields := toList(list[i+2])
		for j := 0; j+1 < len(fields); j += 2 {
			w.Fields[toText(fields[j])] = toText(fields[j+1])
		}
		workers = append(workers, w)
	}
	return workers, nil
}

// Count is a number of jobs under a name, or in a queue.
type Count struct {
	Name string
	Jobs int64
}

// Survey counts by name the jobs at the head of a queue's lanes, or, with an empty
// queue, the jobs put off because no process that met them handled their names.
func (s *Set) Survey(ctx context.Context, queue string) ([]Count, error) {
	reply, err := s.run(ctx, "survey", []any{queue, surveyEntries})
	if err != nil {
		return nil, err
	}
	list := toList(reply)
	var counts []Count
	for i := 0; i+1 < len(list); i += 2 {
		counts = append(counts, Count{toText(list[i]), toInt(list[i+1])})
	}
	return counts, nil
}

// Unserved is what waits although nobody live will take it.
type Unserved struct {
	Names  []Count // jobs whose name no live process handles
	Queues []Count // queues with jobs that no live process serves
}

// FindUnserved compares what waits with what the live processes handle and serve.
func (s *Set) FindUnserved(ctx context.Context, workers []Worker, queues []QueueStats) (Unserved, error) {
	handled, served := map[string]bool{}, map[string]bool{}
	for _, w := range workers {
		for _, name := range w.List("names") {
			handled[name] = true
		}
		for _, queue := range w.List("queues") {
			served[queue] = true
		}
	}
	jobs := map[string]int64{}
	count := func(queue string) error {
		found, err := s.Survey(ctx, queue)
		for _, c := range found {
			if !handled[c.Name] {
				jobs[c.Name] += c.Jobs
			}
		}
		return err
	}
	if err := count(""); err != nil {
		return Unserved{}, err
	}
	var u Unserved
	for _, q := range queues {
		waiting := q.Waiting + q.WaitingDelayed
		if waiting == 0 {
			continue
		}
		if !served[q.Queue] {
			u.Queues = append(u.Queues, Count{q.Queue, waiting})
		}
		if err := count(q.Queue); err != nil {
			return Unserved{}, err
		}
	}
	for name, n := range jobs {
		u.Names = append(u.Names, Count{name, n})
	}
	sort.Slice(u.Names, func(i, j int) bool { return u.Names[i].Name < u.Names[j].Name })
	return u, nil
}
