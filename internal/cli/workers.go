package cli

import (
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/urfave/cli/v2"

	"github.com/bide-go/bide/scripts"
)

func (p *program) workersCommand() *cli.Command {
	return &cli.Command{
		Name: "workers", Usage: "list the live processes, and what waits for none of them",
		Description: "A process that has been silent for 20 s is taken for dead. Below them stand the names that no live process\n" +
			"handles and the queues that none serves, with the jobs that wait for one.",
		Action: p.workers,
	}
}

// workersReply is the JSON of workers.
type workersReply struct {
	Items     []workerItem    `json:"items"`
	Unhandled []unhandledItem `json:"unhandled"`
	Unserved  []unservedItem  `json:"unserved"`
}

type workerItem struct {
	ID          string   `json:"id"`
	Host        text     `json:"host"`
	PID         int      `json:"pid"`
	Version     text     `json:"version"`
	Roles       []string `json:"roles"`
	Queues      []string `json:"queues"`
	Names       []string `json:"names"`
	Concurrency int      `json:"concurrency"`
	Active      int      `json:"active"`
	Started     stamp    `json:"started"`
	LastBeat    stamp    `json:"lastBeat"`
	Draining    bool     `json:"draining"`
}

type unhandledItem struct {
	Name string `json:"name"`
	Jobs int64  `json:"jobs"`
}

type unservedItem struct {
	Queue string `json:"queue"`
	Jobs  int64  `json:"jobs"`
}

func workerOf(w scripts.Worker) workerItem {
	number := func(field string) int {
		n, _ := strconv.Atoi(w.Fields[field]) // foreign text counts as none
		return n
	}
	list := func(field string) []string { return append([]string{}, w.List(field)...) }
	item := workerItem{
		ID: w.ID, Host: text(w.Fields["host"]), PID: number("pid"), Version: text(w.Fields["version"]),
		Roles: list("roles"), Queues: list("queues"), Names: list("names"),
		Concurrency: number("concurrency"), Active: number("active"), LastBeat: stamp(w.Beat),
		Draining: w.Fields["draining"] == "true",
	}
	if ms := number("started"); ms > 0 {
		item.Started = stamp(time.UnixMilli(int64(ms)))
	}
	return item
}

func (p *program) workers(c *cli.Context) error {
	if err := noArguments(c); err != nil {
		return err
	}
	return p.withRedis(c.Context, shortCommand, func(ctx context.Context, conn *conn) error {
		workers, err := conn.set.Workers(ctx)
		if err != nil {
			return err
		}
		s, err := conn.set.Stats(ctx)
		if err != nil {
			return err
		}
		u, err := conn.set.FindUnserved(ctx, workers, s.Queues)
		if err != nil {
			return err
		}
		reply := workersReply{Items: []workerItem{}, Unhandled: []unhandledItem{}, Unserved: []unservedItem{}}
		for _, w := range workers {
			reply.Items = append(reply.Items, workerOf(w))
		}
		for _, n := range u.Names {
			reply.Unhandled = append(reply.Unhandled, unhandledItem{n.Name, n.Jobs})
		}
		sortQueues(u.Queues, func(q scripts.Count) string { return q.Name })
		for _, q := range u.Queues {
			reply.Unserved = append(reply.Unserved, unservedItem{q.Name, q.Jobs})
		}
		if p.set.json {
			return p.writeJSON(reply)
		}
		return p.showWorkers(reply, times{form: p.set.times, now: s.Now})
	})
}

func (p *program) showWorkers(r workersReply, t times) error {
	tables := 0
	table := func(columns []column, rows [][]cell) error {
		if len(rows) == 0 {
			return nil
		}
		if tables > 0 {
			if _, err := p.stdout.Write([]byte("\n")); err != nil {
				return err
			}
		}
		tables++
		return p.table(columns, rows)
	}
	var rows, names, queues [][]cell
	for _, w := range r.Items {
		state := cell{"working", green}
		if w.Draining {
			state = cell{"draining", yellow}
		}
		rows = append(rows, []cell{
			plain(w.ID), plain(string(w.Host)), plain(strconv.Itoa(w.PID)), plain(string(w.Version)), state,
			plain(strconv.Itoa(w.Active) + "/" + strconv.Itoa(w.Concurrency)),
			plain(t.show(time.Time(w.Started))), plain(t.show(time.Time(w.LastBeat))),
			plain(strings.Join(w.Roles, " ")), plain(strings.Join(w.Queues, " ")), plain(strings.Join(w.Names, " ")),
		})
	}
	for _, n := range r.Unhandled {
		names = append(names, []cell{{n.Name, yellow}, plain(humanize.Comma(n.Jobs))})
	}
	for _, q := range r.Unserved {
		queues = append(queues, []cell{{q.Queue, yellow}, plain(humanize.Comma(q.Jobs))})
	}
	if len(rows) == 0 {
		p.say("no live process runs jobs: start one with bide serve, or an app with a dispatcher of its own")
	}
	if err := table([]column{
		{head: "id", yield: 1}, {head: "host", yield: 1}, {head: "pid", right: true}, {head: "version", optional: true}, {head: "state"},
		{head: "busy", right: true}, {head: "started"}, {head: "beat"},
		{head: "roles", yield: 2, optional: true}, {head: "queues", yield: 2}, {head: "names", yield: 2},
	}, rows); err != nil {
		return err
	}
	if err := table([]column{{head: "unhandled name"}, {head: "jobs", right: true}}, names); err != nil {
		return err
	}
	return table([]column{{head: "unserved queue"}, {head: "jobs", right: true}}, queues)
}
