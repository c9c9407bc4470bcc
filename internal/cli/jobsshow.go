package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/urfave/cli/v2"

	"github.com/bide-go/bide/internal/duration"
	"github.com/bide-go/bide/job"
)

func (p *program) jobsShowCommand() *cli.Command {
	return &cli.Command{
		Name: "show", Usage: "show all there is to know of a job", ArgsUsage: "ID",
		Description: "Of a finished job nothing is kept beyond its retention; how it ended is then looked up among the last events.",
		Action:      func(c *cli.Context) error { return p.showOne(c, func(*job.Job) error { return nil }) },
	}
}

// showOne shows a job that passes check.
func (p *program) showOne(c *cli.Context, check func(*job.Job) error) error {
	list, err := ids(c, 1)
	if err != nil {
		return err
	}
	return p.withRedis(c.Context, shortCommand, func(ctx context.Context, conn *conn) error {
		j, err := conn.set.Inspect(ctx, list[0])
		if errors.Is(err, job.ErrNotFound) {
			return goneError(ctx, conn, list[0], err)
		}
		if err == nil {
			err = check(j)
		}
		if err != nil {
			return err
		}
		if p.set.json {
			return p.writeJSON(wholeOf(j))
		}
		t, err := p.timesFor(ctx, conn)
		if err != nil {
			return err
		}
		return p.showJob(j, t)
	})
}

// goneError says how a job ended of which nothing is kept, as far as the events
// tell.
func goneError(ctx context.Context, conn *conn, id string, missing error) error {
	end, err := conn.set.FindEnd(ctx, id)
	if errors.Is(err, job.ErrNotFound) {
		return missing
	}
	if err != nil {
		return err
	}
	text := fmt.Sprintf("job %q is %s", id, end.State)
	if end.Reason != "" {
		text += " (" + string(end.Reason) + ")"
	}
	return &failure{
		code: exitState,
		err:  fmt.Errorf("%s since %s, and nothing more is kept of it", text, stamp(time.UnixMilli(end.At))),
		next: "enqueue with --retention to keep finished jobs",
	}
}

func (p *program) showJob(j *job.Job, t times) error {
	span := func(d time.Duration) cell { return plain(duration.Format(d)) }
	attempts := fmt.Sprintf("%d failed of %d allowed", j.Attempts, j.MaxAttempts)
	if j.Lost > 0 {
		attempts += fmt.Sprintf(", %d lost leases", j.Lost)
	}
	state := stateCell(j.State)
	if j.Reason != "" {
		state.text += " (" + string(j.Reason) + ")"
	}
	if j.CancelRequested {
		state.text += ", to be cancelled"
	}
	list := []pair{
		{"id", plain(j.ID)}, {"name", plain(j.Name)}, {"queue", plain(j.Queue)}, {"state", state},
		{"trigger", plain(string(j.Trigger))}, {"schedule", plain(j.Schedule)}, {"tick", plain(t.both(j.Tick))},
		{"created", plain(t.both(j.Created))}, {"due", plain(t.both(j.Due))}, {"started", plain(t.both(j.Started))},
		{"finished", plain(t.both(j.Finished))}, {"attempts", plain(attempts)},
		{"worker", plain(j.Worker)}, {"lease until", plain(t.both(j.LeaseUntil))},
		{"unique", plain(j.Unique)}, {"timeout", span(j.Timeout)},
		{"back-off", plain(duration.Format(j.MinBackoff) + " to " + duration.Format(j.MaxBackoff))},
		{"expiry", plain(t.both(j.Expiry))}, {"retention", span(j.Retention)},
	}
	for _, name := range slices.Sorted(maps.Keys(j.Headers)) {
		list = append(list, pair{"header", plain(name + "=" + j.Headers[name])})
	}
	list = append(list, pair{"args", plain(shortArgs(j.Args))})
	if err := p.pairs(list); err != nil {
		return err
	}
	return p.showErrors(j.Errors, t)
}

// shortArgs is what is shown of args, on one line.
func shortArgs(args json.RawMessage) string {
	const most = 1000
	var b bytes.Buffer
	if json.Compact(&b, args) != nil {
		b.Reset()
		b.Write(args)
	}
	if b.Len() <= most {
		return b.String()
	}
	cut := strings.ToValidUTF8(b.String()[:most], "")
	return fmt.Sprintf("%s… (%s, all of it with -o json)", cut, humanize.IBytes(uint64(len(args))))
}

func (p *program) showErrors(failures []job.Failure, t times) error {
	var b strings.Builder
	for _, f := range failures {
		fmt.Fprintf(&b, "\nattempt %d %s %s", f.Attempt, f.Kind, t.both(f.At))
		if f.Worker != "" {
			fmt.Fprintf(&b, " on %s", clean(f.Worker))
		}
		b.WriteString("\n")
		for _, text := range []string{f.Error, f.Stack} {
			for line := range strings.Lines(text) {
				fmt.Fprintf(&b, "  %s\n", clean(strings.ReplaceAll(strings.TrimRight(line, "\r\n"), "\t", "    ")))
			}
		}
	}
	_, err := p.stdout.Write([]byte(b.String()))
	return err
}
