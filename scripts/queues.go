package scripts

import (
	"context"
	"encoding/json"
	"fmt"
	"time"
)

// PauseNote says who paused a queue, when (unix ms) and why.
type PauseNote struct {
	By     string `json:"by"`
	At     int64  `json:"at"`
	Reason string `json:"reason"`
}

// PauseQueue stops every worker from reserving from queue. Jobs still become due
// into it, and expire in it.
func (s *Set) PauseQueue(ctx context.Context, queue, by, reason string) error {
	note, err := json.Marshal(struct {
		By     string          `json:"by"`
		At     json.RawMessage `json:"at"`
		Reason string          `json:"reason"`
	}{by, json.RawMessage("0"), reason})
	if err != nil {
		return err
	}
	return s.notePause(ctx, queue, string(note))
}

// ResumeQueue undoes PauseQueue.
func (s *Set) ResumeQueue(ctx context.Context, queue string) error {
	return s.notePause(ctx, queue, "")
}

func (s *Set) notePause(ctx context.Context, queue, note string) error {
	reply, err := s.run(ctx, "pause", []any{queue, note})
	if err != nil {
		return err
	}
	if toText(reply) != "ok" {
		return fmt.Errorf("queue %q: 1,000 queues are in use, which is the most", queue)
	}
	return nil
}

// QueueStats describes one queue.
type QueueStats struct {
	Queue                           string
	WaitingDelayed, Waiting, Active int64
	Pause                           *PauseNote // nil unless paused
	Oldest                          time.Duration
}

// Stats describes a namespace at one instant.
type Stats struct {
	Now                                          time.Time
	Sum                                          Sum
	Queues                                       []QueueStats
	PromoterBeat, SchedulerBeat                  time.Time
	Schedules, SchedulesPaused, SchedulesFailing int64
	Workers, Inbox, Rejected                     int64
	StoredDead, StoredFinished                   int64
}

// Stats reads counts, queues and heartbeats.
func (s *Set) Stats(ctx context.Context) (Stats, error) {
	reply, err := s.run(ctx, "stats", nil)
	if err != nil {
		return Stats{}, err
	}
	list := toList(reply)
	schedules := toList(item(list, 5))
	st := Stats{
		Now: toTime(item(list, 0)), Sum: decodeSum(item(list, 1)),
		PromoterBeat: toTime(item(list, 3)), SchedulerBeat: toTime(item(list, 4)),
		Schedules: toInt(item(schedules, 0)), SchedulesPaused: toInt(item(schedules, 1)), SchedulesFailing: toInt(item(schedules, 2)),
		Workers: toInt(item(list, 6)), Inbox: toInt(item(list, 7)), Rejected: toInt(item(list, 8)),
		StoredDead: toInt(item(list, 9)), StoredFinished: toInt(item(list, 10)),
	}
	for _, entry := range toList(item(list, 2)) {
		q := toList(entry)
		queue := QueueStats{
			Queue: toText(item(q, 0)), WaitingDelayed: toInt(item(q, 1)), Waiting: toInt(item(q, 2)), Active: toInt(item(q, 3)),
			Oldest: time.Duration(max(toInt(item(q, 5)), 0)) * time.Millisecond,
		}
		if text := toText(item(q, 4)); text != "" {
			queue.Pause = &PauseNote{}
			_ = json.Unmarshal([]byte(text), queue.Pause) // foreign text still means paused
		}
		st.Queues = append(st.Queues, queue)
	}
	return st, nil
}

// ClearQueue cancels up to limit jobs that wait in queue, oldest first. more says
// that others are left.
func (s *Set) ClearQueue(ctx context.Context, queue string, limit int) (cancelled int, more bool, err error) {
	reply, err := s.run(ctx, "clear", []any{queue, limit})
	if err != nil {
		return 0, false, err
	}
	list := toList(reply)
	return int(toInt(item(list, 1))), int(toInt(item(list, 0))) == limit, nil
}
