package cli

import (
	"context"
	"fmt"
	"time"

	"github.com/bide-go/bide/internal/duration"
)

// times shows instants in tables. Relative ones are measured by Redis' clock, by
// which all instants in Redis are.
type times struct {
	form string
	now  time.Time
}

func (p *program) timesFor(ctx context.Context, c *conn) (times, error) {
	t := times{form: p.set.times}
	if t.form == "relative" {
		now, err := c.now(ctx)
		if err != nil {
			return t, err
		}
		t.now = now
	}
	return t, nil
}

// show is the text for an instant, empty for none.
func (t times) show(at time.Time) string {
	switch {
	case at.IsZero():
		return ""
	case t.form == "utc":
		return stamp(at).String()
	case t.form == "local":
		return at.Local().Format("2006-01-02 15:04:05 MST")
	}
	return relative(at.Sub(t.now))
}

// both is the relative and the absolute time of an instant, where there is room.
func (t times) both(at time.Time) string {
	if at.IsZero() || t.form != "relative" {
		return t.show(at)
	}
	return stamp(at).String() + " (" + t.show(at) + ")"
}

// relative says in words how far away an instant is, in at most two units.
func relative(d time.Duration) string {
	switch far := d.Abs(); {
	case far < 500*time.Millisecond:
		return "now"
	case d < 0:
		return roughly(far) + " ago"
	default:
		return "in " + roughly(far)
	}
}

// roughly says how long something is, in at most two units.
func roughly(far time.Duration) string {
	switch {
	case far < 10*time.Minute:
		far = far.Round(time.Second)
	case far < 24*time.Hour:
		far = far.Round(time.Minute)
	case far < 7*24*time.Hour-30*time.Minute:
		far = far.Round(time.Hour)
	default:
		return fmt.Sprintf("%dd", far.Round(24*time.Hour)/(24*time.Hour)) // 17 weeks are 119d, as 118d before it
	}
	return duration.Format(far)
}
