package cli

import (
	"context"
	"fmt"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/dustin/go-humanize"
	"github.com/urfave/cli/v2"

	"github.com/bide-go/bide/internal/duration"
	"github.com/bide-go/bide/job"
	"github.com/bide-go/bide/scripts"
)

func (p *program) queuesCommand() *cli.Command {
	return &cli.Command{
		Name: "queues", Usage: "look at queues, pause, resume and clear them",
		Subcommands: []*cli.Command{
			{
				Name: "list", Usage: "list the queues in use, the default ones first",
				Action: p.queuesList,
			},
			{
				Name: "pause", Usage: "stop workers from taking jobs of queues", ArgsUsage: "QUEUE…",
				Description: "Running jobs go on, and jobs still become due, wait and expire. All queues are tried.",
				Flags:       []cli.Flag{&cli.StringFlag{Name: "reason", Usage: "`TEXT` that tells others why (up to 500 characters)"}},
				Action:      p.queuesPause,
			},
			{
				Name: "resume", Usage: "let workers take jobs of paused queues again", ArgsUsage: "QUEUE…",
				Description: "All queues are tried. One that is not paused stays as it is.",
				Action:      p.queuesResume,
			},
			p.queuesClearCommand(),
		},
	}
}

// queueItem is a queue as a list shows it.
type queueItem struct {
	queueReply
	PausedBy    text  `json:"pausedBy"`
	PausedAt    stamp `json:"pausedAt"`
	PauseReason text  `json:"pauseReason"`
}

func queueItemOf(q scripts.QueueStats) queueItem {
	item := queueItem{queueReply: queueOf(q)}
	if q.Pause != nil {
		item.PausedBy, item.PauseReason = text(q.Pause.By), text(q.Pause.Reason)
		item.PausedAt = stamp(pausedAt(q.Pause))
	}
	return item
}

func pausedAt(n *scripts.PauseNote) time.Time {
	if n.At == 0 {
		return time.Time{}
	}
	return time.UnixMilli(n.At)
}

func (p *program) queuesList(c *cli.Context) error {
	return p.withStats(c, func(_ *conn, s scripts.Stats) error {
		if !p.set.json {
			return p.showQueues(s)
		}
		reply := struct {
			Items      []queueItem `json:"items"`
			NextCursor text        `json:"nextCursor"`
		}{Items: []queueItem{}} // there are 1,000 at most, so one page has them all
		for _, q := range s.Queues {
			reply.Items = append(reply.Items, queueItemOf(q))
		}
		return p.writeJSON(reply)
	})
}

func (p *program) showQueues(s scripts.Stats) error {
	if len(s.Queues) == 0 {
		p.say("no queues: there are some as soon as a worker serves them, or a job is enqueued")
		return nil
	}
	t := times{form: p.set.times, now: s.Now}
	count := func(n int64) cell { return plain(humanize.Comma(n)) }
	var rows [][]cell
	for _, q := range s.Queues {
		row := []cell{plain(q.Queue), count(q.WaitingDelayed), count(q.Waiting), count(q.Active), oldestCell(q), plain("open"), plain(""), plain(""), plain("")}
		if q.Pause != nil {
			row[5] = cell{"paused", yellow}
			row[6], row[7], row[8] = plain(t.show(pausedAt(q.Pause))), plain(q.Pause.By), plain(q.Pause.Reason)
		}
		rows = append(rows, row)
	}
	return p.table([]column{
		{head: "queue", yield: 1}, {head: "due", right: true}, {head: "waiting", right: true}, {head: "active", right: true},
		{head: "oldest", right: true}, {head: "state"},
		{head: "paused", optional: true}, {head: "by", yield: 1, optional: true}, {head: "reason", yield: 2, optional: true},
	}, rows)
}

func oldestCell(q scripts.QueueStats) cell {
	if q.Oldest <= 0 {
		return plain("")
	}
	return plain(duration.Format(q.Oldest.Round(time.Second)))
}

// queueNames are the arguments of a command that takes queues, each once.
func queueNames(c *cli.Context, most int) ([]string, error) {
	var names []string
	for _, name := range c.Args().Slice() {
		if err := job.CheckQueue(name); err != nil {
			return nil, usage(err.Error(), "bide queues list shows the queues in use")
		}
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	switch {
	case len(names) == 0:
		return nil, usage(c.Command.HelpName+" needs the name of a queue", "bide queues list shows them")
	case most > 0 && c.NArg() > most:
		return nil, usage(fmt.Sprintf("%s takes one queue, and there are %d", c.Command.HelpName, c.NArg()), "see "+c.Command.HelpName+" --help")
	}
	return names, nil
}

func (p *program) queuesPause(c *cli.Context) error {
	v := &values{c: c}
	reason := ""
	if found, ok := v.find("reason"); ok {
		reason = found.text
		if n := utf8.RuneCountInString(reason); n > 500 || !utf8.ValidString(reason) {
			v.refuse(found.from, fmt.Sprintf("give at most 500 characters of text; these are %d", n))
		}
	}
	if err := v.err(); err != nil {
		return err
	}
	by := p.caller()
	return p.onQueues(c, true, func(ctx context.Context, conn *conn, queue string, known bool) error {
		err := conn.set.PauseQueue(ctx, queue, by, reason)
		if err == nil && !known {
			p.say("queue %s has not been in use; it is paused from its first job on", queue)
		}
		return err
	})
}

func (p *program) queuesResume(c *cli.Context) error {
	return p.onQueues(c, false, func(ctx context.Context, conn *conn, queue string, known bool) error {
		if !known {
			return noQueue(queue)
		}
		return conn.set.ResumeQueue(ctx, queue)
	})
}

func noQueue(queue string) error {
	return &failure{code: exitState, err: fmt.Errorf("no such queue: %q", queue), next: "bide queues list shows the queues in use"}
}

// pausedItem is what became of one queue.
type pausedItem struct {
	Queue  string `json:"queue"`
	Paused bool   `json:"paused"`
}

// onQueues pauses or resumes every queue that is named. One that is refused does
// not stop the others.
func (p *program) onQueues(c *cli.Context, paused bool, do func(ctx context.Context, conn *conn, queue string, known bool) error) error {
	names, err := queueNames(c, 0)
	if err != nil {
		return err
	}
	return p.withRedis(c.Context, shortCommand, func(ctx context.Context, conn *conn) error {
		known, err := conn.set.Queues(ctx)
		if err != nil {
			return err
		}
		items := []pausedItem{}
		var errs several
		var fatal error
		for _, queue := range names {
			err := do(ctx, conn, queue, slices.Contains(known, queue))
			switch {
			case err == nil:
				items = append(items, pausedItem{queue, paused})
				continue
			case stops(err):
				fatal = err
			default:
				errs = append(errs, err)
			}
			if fatal != nil {
				break
			}
		}
		if err := p.writePaused(items); err != nil {
			return err
		}
		if fatal != nil {
			return fatal
		}
		return refused(errs)
	})
}

func (p *program) writePaused(items []pausedItem) error {
	if p.set.json {
		return p.writeJSON(struct {
			Items []pausedItem `json:"items"`
		}{items})
	}
	for _, item := range items {
		state := "open"
		if item.Paused {
			state = "paused"
		}
		if _, err := fmt.Fprintf(p.stdout, "%s  %s\n", clean(item.Queue), state); err != nil {
			return err
		}
	}
	return nil
}
