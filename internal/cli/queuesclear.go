package cli

import (
	"context"
	"fmt"

	"github.com/dustin/go-humanize"
	"github.com/urfave/cli/v2"
)

// clearAtOnce is how many waiting jobs one script cancels.
const clearAtOnce = 1_000

func (p *program) queuesClearCommand() *cli.Command {
	return &cli.Command{
		Name: "clear", Usage: "cancel all jobs that wait in a queue", ArgsUsage: "QUEUE",
		Description: "Counts them and asks first. Active and delayed jobs stay, and so does the queue.",
		Action:      p.queuesClear,
	}
}

func (p *program) queuesClear(c *cli.Context) error {
	names, err := queueNames(c, 1)
	if err != nil {
		return err
	}
	queue := names[0]
	var waiting int64
	err = p.withRedis(c.Context, shortCommand, func(ctx context.Context, conn *conn) (err error) {
		waiting, err = waitingIn(ctx, conn, queue)
		return err
	})
	if err != nil {
		return err
	}
	if waiting == 0 {
		p.say("nothing waits in queue %s", queue)
		return p.writeCleared(queue, 0)
	}
	if err := p.confirm(c.Context, fmt.Sprintf("cancel %s in queue %s", many(waiting, "waiting job", "waiting jobs"), queue)); err != nil {
		return err
	}
	return p.withRedis(c.Context, shortCommand, func(ctx context.Context, conn *conn) error {
		var cancelled int64
		for {
			n, more, err := conn.set.ClearQueue(ctx, queue, clearAtOnce)
			cancelled += int64(n)
			if err == nil && more {
				continue
			}
			if writeErr := p.writeCleared(queue, cancelled); writeErr != nil {
				return writeErr
			}
			return err
		}
	})
}

func waitingIn(ctx context.Context, conn *conn, queue string) (int64, error) {
	s, err := conn.set.Stats(ctx)
	if err != nil {
		return 0, err
	}
	for _, q := range s.Queues {
		if q.Queue == queue {
			return q.Waiting + q.WaitingDelayed, nil
		}
	}
	return 0, noQueue(queue)
}

func (p *program) writeCleared(queue string, n int64) error {
	if p.set.json {
		return p.writeJSON(struct {
			Queue     string `json:"queue"`
			Cancelled int64  `json:"cancelled"`
		}{queue, n})
	}
	_, err := fmt.Fprintf(p.stdout, "%s  %s cancelled\n", clean(queue), humanize.Comma(n))
	return err
}
