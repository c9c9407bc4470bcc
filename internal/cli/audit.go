package cli

import (
	"context"
	"fmt"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/urfave/cli/v2"

	"github.com/bide-go/bide/scripts"
)

// shortCommand is how long a short command may take in all.
const shortCommand = 30 * time.Second

func (p *program) auditCommand() *cli.Command {
	return &cli.Command{
		Name: "audit", Usage: "check that every job ever created is accounted for",
		Description: "Reads all counts at one instant. The gap is what is missing from the sum; the exit code is 0 only if it is 0.",
		Action:      p.audit,
	}
}

// sum is the JSON of the counts.
type sum struct {
	Created   int64 `json:"created"`
	Delayed   int64 `json:"delayed"`
	Waiting   int64 `json:"waiting"`
	Active    int64 `json:"active"`
	Completed int64 `json:"completed"`
	Dead      int64 `json:"dead"`
	Cancelled int64 `json:"cancelled"`
	Expired   int64 `json:"expired"`
	Skipped   int64 `json:"skipped"`
}

func sumOf(s scripts.Sum) sum { return sum(s) }

func (s sum) pairs() []pair {
	var list []pair
	for _, e := range []struct {
		key string
		n   int64
	}{
		{"created", s.Created}, {"delayed", s.Delayed}, {"waiting", s.Waiting}, {"active", s.Active},
		{"completed", s.Completed}, {"dead", s.Dead}, {"cancelled", s.Cancelled}, {"expired", s.Expired}, {"skipped", s.Skipped},
	} {
		list = append(list, pair{e.key, plain(humanize.Comma(e.n))})
	}
	return list
}

func (p *program) audit(c *cli.Context) error {
	if err := noArguments(c); err != nil {
		return err
	}
	return p.withRedis(c.Context, shortCommand, func(ctx context.Context, conn *conn) error {
		s, err := conn.set.Audit(ctx)
		if err != nil {
			return err
		}
		if err := p.writeAudit(sumOf(s), s.Gap()); err != nil || s.Gap() == 0 {
			return err
		}
		return &failure{code: exitFailed, err: fmt.Errorf("the gap is %d and must be 0", s.Gap()),
			next: gapHint}
	})
}

const gapHint = "jobs were lost or doubled: was something else than bide writing to its keys, or a part of Redis' data lost?"

func (p *program) writeAudit(s sum, gap int64) error {
	if p.set.json {
		return p.writeJSON(struct {
			sum
			Gap int64 `json:"gap"`
		}{s, gap})
	}
	paint := green
	if gap != 0 {
		paint = red
	}
	return p.pairs(append(s.pairs(), pair{"gap", cell{humanize.Comma(gap), paint}}))
}
