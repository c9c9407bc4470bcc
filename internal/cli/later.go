package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/bide-go/bide/job"
	"github.com/bide-go/bide/scheduler"
	"github.com/bide-go/bide/worker/bundled"
)

func (p *program) laterCommand() *cli.Command {
	return &cli.Command{
		Name: "later", Usage: "enqueue a job, for now or for later",
		ArgsUsage: "NAME [ARGS_JSON|@FILE|-]",
		Description: "Prints the job's id. The args are JSON, read from the line, from a file or from standard input.\n" +
			"Durations are such as 90s, 1h30m, 2d; times are RFC 3339 with offset, such as 2026-12-01T09:00:00+01:00.",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "in", Usage: "due after `DURATION`, by Redis' clock"},
			&cli.StringFlag{Name: "at", Usage: "due at `TIME`; in the past means now"},
			&cli.StringFlag{Name: "queue", Usage: "`QUEUE` to wait in (default medium)"},
			&cli.StringFlag{Name: "id", Usage: "`ID` of the job: creating it again does nothing (default: a new one)"},
			&cli.StringFlag{Name: "unique", Usage: "`KEY` of which only one job may be live"},
			&cli.StringFlag{Name: "max-attempts", Usage: "`N` attempts in all, the first included (default 4)"},
			&cli.StringFlag{Name: "min-backoff", Usage: "least `DURATION` between attempts (default 1s)"},
			&cli.StringFlag{Name: "max-backoff", Usage: "most `DURATION` between attempts (default 1h)"},
			&cli.StringFlag{Name: "timeout", Usage: "`DURATION` of one attempt (default 10m; of http 30s)"},
			&cli.StringFlag{Name: "expiry", Usage: "`TIME` or duration after which it is not started any more (default none)"},
			&cli.StringFlag{Name: "retention", Usage: "`DURATION` to keep the finished job for (default 0s: only the count is kept)"},
			&cli.StringSliceFlag{Name: "header", Usage: "`K=V` to travel with the job; may be given again"},
		},
		Action: p.later,
	}
}

// laterReply is the JSON of later and of jobs reschedule.
type laterReply struct {
	ID    string `json:"id"`
	State text   `json:"state"`
	Due   stamp  `json:"due"`
}

func (p *program) later(c *cli.Context) error {
	request, err := p.laterRequest(c)
	if err != nil {
		return err
	}
	return p.withRedis(c.Context, 2*time.Second, func(ctx context.Context, conn *conn) error {
		client := scheduler.NewClient(conn.rdb, scheduler.WithNamespace(p.set.namespace), scheduler.WithTrigger(job.TriggerCLI))
		res, err := client.Enqueue(ctx, request)
		if errors.Is(err, job.ErrOutcomeUnknown) && res.ID != "" {
			return &failure{code: exitAway, err: err, next: "it may have been created: run this again with --id " + res.ID + " to be sure that there is one"}
		}
		if err != nil {
			return err
		}
		if res.Deduplicated {
			p.say("already there: job %s is %s; nothing was written", res.ID, res.State)
		}
		if p.set.json {
			return p.writeJSON(laterReply{res.ID, text(res.State), stamp(res.Due)})
		}
		_, err = fmt.Fprintln(p.stdout, clean(res.ID))
		return err
	})
}

// laterRequest checks everything that can be checked without Redis.
func (p *program) laterRequest(c *cli.Context) (scheduler.Request, error) {
	request := scheduler.Request{Queue: job.DefaultQueue}
	v := &values{c: c}
	switch n := c.NArg(); {
	case n == 0:
		return request, usage("later needs the NAME of a handler", `such as: bide later --in 5s log '{"message":"hi"}'`)
	case n > 2:
		return request, usage(fmt.Sprintf("later takes NAME and ARGS, and there are %d arguments", n), "put the args in quotes: '{\"a\": 1}'")
	}
	request.Name = c.Args().First()
	if err := job.CheckName(request.Name); err != nil {
		v.bad = append(v.bad, err)
	} else if bundled.Later(request.Name) {
		return request, notYet(fmt.Sprintf("the handler %q", request.Name))
	}
	if found, ok := v.find("queue"); ok {
		request.Queue = found.text
		if err := job.CheckQueue(found.text); err != nil {
			v.refuse(found.from, err.Error())
		}
	}
	request.Delay, request.At, _ = v.when()
	request.Options = laterOptions(v)
	if err := v.err(); err != nil {
		return request, err
	}
	args, err := p.laterArgs(c.Context, c.Args().Tail())
	if err != nil {
		return request, err
	}
	request.Args = args
	return request, fitArgs(request.Name, args)
}

// fitArgs refuses args that the bundled handler name cannot use, or may not in a job
// that is not made from a definition.
func fitArgs(name string, args json.RawMessage) error {
	var wrong several
	for _, problem := range bundled.Check(name, args) {
		wrong = append(wrong, fmt.Errorf("args of %s: %s", name, problem))
	}
	if wrong != nil {
		return &failure{code: exitUsage, err: wrong, next: "nothing was enqueued"}
	}
	return refuseReferences(name, args)
}

// laterOptions reads the options of the job and has each check itself.
func laterOptions(v *values) []scheduler.Option {
	var options []scheduler.Option
	add := func(from string, opt scheduler.Option) {
		if err := tryOption(opt); err != nil {
			v.refuse(from, err.Error())
		}
		options = append(options, opt)
	}
	if found, ok := v.find("id"); ok {
		add(found.from, scheduler.WithID(found.text))
	}
	if found, ok := v.find("unique"); ok {
		add(found.from, scheduler.WithUnique(found.text))
	}
	if found, ok := v.find("max-attempts"); ok {
		n, err := strconv.Atoi(found.text)
		if err != nil {
			v.refuse(found.from, fmt.Sprintf("%q is not a whole number", found.text))
		} else {
			add(found.from, scheduler.WithMaxAttempts(n))
		}
	}
	if lo, hi := v.c.IsSet("min-backoff"), v.c.IsSet("max-backoff"); lo || hi {
		least := v.span("min-backoff", job.DefaultMinBackoff, time.Millisecond)
		most := v.span("max-backoff", job.DefaultMaxBackoff, time.Millisecond)
		from := "--min-backoff"
		if hi {
			from = "--max-backoff"
		}
		add(from, scheduler.WithBackoff(least, most))
	}
	if v.c.IsSet("timeout") {
		options = append(options, scheduler.WithTimeout(v.span("timeout", job.DefaultTimeout, time.Millisecond)))
	}
	if found, ok := v.find("expiry"); ok {
		add(found.from, v.expiry(found))
	}
	if v.c.IsSet("retention") {
		options = append(options, scheduler.WithRetention(v.span("retention", 0, 0)))
	}
	if headers := v.headers(); headers != nil {
		add("--header", scheduler.WithHeaders(headers))
	}
	return options
}

// laterArgs reads the args of the job: JSON of at most job.MaxArgs bytes.
func (p *program) laterArgs(ctx context.Context, rest []string) (json.RawMessage, error) {
	if len(rest) == 0 {
		return json.RawMessage("null"), nil
	}
	data, size, err := p.readArgs(ctx, rest[0])
	if err != nil {
		return nil, err
	}
	switch err := job.CheckArgs(data); {
	case size > job.MaxArgs:
		return nil, usage(fmt.Sprintf("args have %d bytes, and %d are allowed", size, job.MaxArgs), "store them elsewhere and enqueue where to find them")
	case len(data) == 0:
		return nil, usage("args are empty", "leave them out, or write null")
	case err != nil:
		return nil, usage(err.Error(), "quote JSON for the shell: '{\"a\": 1}', a text as '\"a\"'")
	}
	return data, nil
}
