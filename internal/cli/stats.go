package cli

import (
	"context"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/urfave/cli/v2"

	"github.com/bide-go/bide/scripts"
)

func (p *program) statsCommand() *cli.Command {
	return &cli.Command{
		Name: "stats", Usage: "show counts, queues and heartbeats",
		Action: p.stats,
	}
}

// statsReply is the JSON of stats.
type statsReply struct {
	Namespace string       `json:"namespace"`
	Now       stamp        `json:"now"`
	Counts    sum          `json:"counts"`
	Queues    []queueReply `json:"queues"`
	Promoter  beat         `json:"promoter"`
	Scheduler beat         `json:"scheduler"`
	Schedules struct {
		Total   int64 `json:"total"`
		Paused  int64 `json:"paused"`
		Failing int64 `json:"failing"`
	} `json:"schedules"`
	Workers  int64 `json:"workers"`
	Inbox    int64 `json:"inbox"`
	Rejected int64 `json:"rejected"`
	Stored   struct {
		Dead     int64 `json:"dead"`
		Finished int64 `json:"finished"`
	} `json:"stored"`
}

type queueReply struct {
	Queue            string  `json:"queue"`
	WaitingDelayed   int64   `json:"waitingDelayed"`
	Waiting          int64   `json:"waiting"`
	Active           int64   `json:"active"`
	Paused           bool    `json:"paused"`
	OldestAgeSeconds seconds `json:"oldestAgeSeconds"`
}

type beat struct {
	LastBeat stamp `json:"lastBeat"`
}

// withStats runs a command without arguments that shows the counts, by queues in their
// order.
func (p *program) withStats(c *cli.Context, show func(conn *conn, s scripts.Stats) error) error {
	if err := noArguments(c); err != nil {
		return err
	}
	return p.withRedis(c.Context, shortCommand, func(ctx context.Context, conn *conn) error {
		s, err := conn.set.Stats(ctx)
		if err != nil {
			return err
		}
		sortQueues(s.Queues, func(q scripts.QueueStats) string { return q.Queue })
		return show(conn, s)
	})
}

func (p *program) stats(c *cli.Context) error {
	return p.withStats(c, func(conn *conn, s scripts.Stats) error {
		if p.set.json {
			return p.writeJSON(statsOf(conn.set.Namespace(), s))
		}
		return p.showStats(conn.set.Namespace(), s)
	})
}

func statsOf(namespace string, s scripts.Stats) statsReply {
	r := statsReply{
		Namespace: namespace, Now: stamp(s.Now), Counts: sumOf(s.Sum), Queues: []queueReply{},
		Promoter: beat{stamp(s.PromoterBeat)}, Scheduler: beat{stamp(s.SchedulerBeat)},
		Workers: s.Workers, Inbox: s.Inbox, Rejected: s.Rejected,
	}
	r.Schedules.Total, r.Schedules.Paused, r.Schedules.Failing = s.Schedules, s.SchedulesPaused, s.SchedulesFailing
	r.Stored.Dead, r.Stored.Finished = s.StoredDead, s.StoredFinished
	for _, q := range s.Queues {
		r.Queues = append(r.Queues, queueOf(q))
	}
	return r
}

func queueOf(q scripts.QueueStats) queueReply {
	return queueReply{q.Queue, q.WaitingDelayed, q.Waiting, q.Active, q.Pause != nil, seconds(q.Oldest)}
}

func (p *program) showStats(namespace string, s scripts.Stats) error {
	t := times{form: p.set.times, now: s.Now}
	count := func(n int64) cell { return plain(humanize.Comma(n)) }
	beat := func(at time.Time) cell {
		if at.IsZero() {
			return cell{"never", yellow}
		}
		return plain(t.show(at))
	}
	list := append([]pair{{"namespace", plain(namespace)}}, sumOf(s.Sum).pairs()...)
	list = append(list,
		pair{"stored dead", count(s.StoredDead)}, pair{"stored finished", count(s.StoredFinished)},
		pair{"inbox", count(s.Inbox)}, pair{"rejected", count(s.Rejected)},
		pair{"schedules", plain(scheduleCounts(s))}, pair{"workers", count(s.Workers)},
		pair{"promoter beat", beat(s.PromoterBeat)}, pair{"scheduler beat", beat(s.SchedulerBeat)},
	)
	if err := p.pairs(list); err != nil || len(s.Queues) == 0 {
		return err
	}
	if _, err := p.stdout.Write([]byte("\n")); err != nil {
		return err
	}
	var rows [][]cell
	for _, q := range s.Queues {
		state := plain("open")
		if q.Pause != nil {
			state = cell{"paused", yellow}
		}
		rows = append(rows, []cell{plain(q.Queue), count(q.WaitingDelayed), count(q.Waiting), count(q.Active), oldestCell(q), state})
	}
	return p.table([]column{
		{head: "queue", yield: 1}, {head: "due", right: true}, {head: "waiting", right: true},
		{head: "active", right: true}, {head: "oldest", right: true}, {head: "state"},
	}, rows)
}

func scheduleCounts(s scripts.Stats) string {
	text := humanize.Comma(s.Schedules)
	if s.SchedulesPaused > 0 {
		text += ", " + humanize.Comma(s.SchedulesPaused) + " paused"
	}
	if s.SchedulesFailing > 0 {
		text += ", " + humanize.Comma(s.SchedulesFailing) + " failing"
	}
	return text
}
