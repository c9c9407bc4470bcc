package promoter

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/bide-go/bide/job"
	"github.com/bide-go/bide/scripts"
)

// adopt makes jobs of a batch of inbox entries. Entries are read here and removed by
// the script that creates their jobs: a crash in between repeats the batch, and an id
// that is taken makes no second job.
func (p *Promoter) adopt(ctx context.Context) error {
	entries, err := p.set.Inbox(ctx)
	if err != nil || len(entries) == 0 {
		return err
	}
	adoptions := make([]scripts.Adoption, len(entries))
	for i, e := range entries {
		adoptions[i].Entry = e
		n, err := parseEntry(e)
		if err != nil {
			adoptions[i].Reason = err.Error()
			continue
		}
		adoptions[i].Job = n
	}
	_, rejected, err := p.set.Adopt(ctx, adoptions)
	if err != nil {
		return err
	}
	if rejected > 0 {
		p.cfg.Log.Warn().Int("entries", rejected).Msg("inbox entries rejected; the stream of rejected ones has the reasons")
	}
	return nil
}

// parseEntry reads an inbox entry: the member is a JSON array of id, queue, name and
// args, the score its due time in unix seconds.
func parseEntry(e scripts.InboxEntry) (scripts.NewJob, error) {
	n := scripts.NewJob{Trigger: job.TriggerInbox}
	at, err := parseScore(e.Score)
	if err != nil {
		return n, err
	}
	n.At = at
	if !utf8.ValidString(e.Member) {
		return n, errors.New("the member is not valid UTF-8")
	}
	var parts []json.RawMessage
	if err := json.Unmarshal([]byte(e.Member), &parts); err != nil {
		var syntax *json.SyntaxError
		if errors.As(err, &syntax) {
			return n, fmt.Errorf("the member is not valid JSON: %w", err)
		}
		return n, errors.New("the member is not a JSON array")
	}
	if len(parts) != 4 {
		return n, fmt.Errorf("the array has %d elements, not the four of id, queue, name and args", len(parts))
	}
	for i, field := range []struct {
		name string
		to   *string
	}{{"id", &n.ID}, {"queue", &n.Queue}, {"name", &n.Name}} {
		if len(parts[i]) == 0 || parts[i][0] != '"' || json.Unmarshal(parts[i], field.to) != nil {
			return n, fmt.Errorf("the %s is not a string", field.name)
		}
	}
	n.Args = parts[3]
	return n, errors.Join(job.CheckID(n.ID), job.CheckQueue(n.Queue), job.CheckName(n.Name), job.CheckArgs(n.Args))
}

// parseScore reads unix seconds, rounded up to the millisecond. Zero and the past
// mean now; what is no time at all is refused.
func parseScore(score string) (time.Time, error) {
	seconds, err := strconv.ParseFloat(score, 64)
	if err != nil || math.IsInf(seconds, 0) || math.IsNaN(seconds) {
		return time.Time{}, fmt.Errorf("the score %q is no time in unix seconds", score)
	}
	// The limit is the year 9999; milliseconds given for seconds lie far beyond.
	if seconds > 253402300799 {
		return time.Time{}, fmt.Errorf("the score %s lies beyond the year 9999: it counts seconds, not milliseconds", score)
	}
	if seconds <= 0 {
		return time.Time{}, nil
	}
	// A float near 2e9 resolves a quarter of a microsecond: without the small step
	// down, .001 s would be rounded up to the next millisecond. The step is below
	// a microsecond, the finest that clients write.
	return time.UnixMilli(int64(math.Ceil(seconds*1000 - 0.0005))), nil
}
