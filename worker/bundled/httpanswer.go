package bundled

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/bide-go/bide/internal/clock"
	"github.com/bide-go/bide/job"
)

const (
	// maxBody is how much of an answer's body is read at most.
	maxBody = 64 << 10
	// maxKept is how much of it goes into the error of a failed attempt.
	maxKept = 4 << 10
	// maxLocation is how much of a redirect's target does.
	maxLocation = 200
)

// answer is what a server said, up to its body.
type answer struct {
	*http.Response
	method string
	took   time.Duration
	job    *job.Job
	s      *secrets
}

// accept reads an answer of an expected status to its end, or as much of it as is
// read at all: one that breaks off may come from a server that has, too.
func (a *answer) accept(ctx context.Context) error {
	_, err := io.CopyN(io.Discard, a.Body, maxBody)
	switch {
	case err == nil || errors.Is(err, io.EOF):
		return nil
	case ctx.Err() != nil:
		return fmt.Errorf("%s, and the body did not end: %w", a.headline(), context.Cause(ctx))
	}
	return errors.New(a.s.Clean(fmt.Sprintf("%s, and the body broke off: %v", a.headline(), err)))
}

// refuse is the error of an answer of any other status. It decides what happens to
// the job even if the body does not come to its end.
func (a *answer) refuse() error {
	var text strings.Builder
	text.WriteString(a.headline())
	if 300 <= a.StatusCode && a.StatusCode <= 399 {
		text.WriteString(", and redirects are not followed")
		if to := a.Header.Get("Location"); to != "" {
			text.WriteString(" (to " + a.start(to, maxLocation) + ")")
		}
	}
	asked, wait := a.retryAfter()
	if wait {
		fmt.Fprintf(&text, ", to be asked again in %s", asked.Round(time.Second))
	}
	if body := strings.TrimSpace(a.kept()); body != "" {
		text.WriteString(": " + body)
	}
	err := errors.New(text.String())

	switch {
	case a.StatusCode == http.StatusGone:
		return job.PauseSchedule(err) // it will not come back
	case strings.EqualFold(strings.TrimSpace(a.Header.Get("Bide-No-Retry")), "true"):
		return job.Permanent(err)
	case wait:
		return job.RetryAfter(err, a.pause(asked))
	}
	return err
}

func (a *answer) headline() string {
	status := strings.TrimSpace(fmt.Sprintf("%d %s", a.StatusCode, http.StatusText(a.StatusCode)))
	return fmt.Sprintf("%s answered %s after %s", a.method, status, rounded(a.took))
}

// kept is the first part of the body, or what has come of it.
func (a *answer) kept() string {
	body, err := io.ReadAll(io.LimitReader(a.Body, maxKept+1))
	if err != nil { // it may have broken off within a secret
		return a.s.CleanStart(string(body[:min(len(body), maxKept)]))
	}
	return a.start(string(body), maxKept)
}

// start is the first part of a foreign text, without secrets.
func (a *answer) start(text string, limit int) string {
	if len(text) > limit {
		return a.s.CleanStart(text[:limit])
	}
	return a.s.Clean(text)
}

// retryAfter is how long the server asks to be left alone: seconds, or a date. A
// date counts from the server's own, since its clock need not agree with ours.
func (a *answer) retryAfter() (time.Duration, bool) {
	text := strings.TrimSpace(a.Header.Get("Retry-After"))
	if text == "" {
		return 0, false
	}
	if strings.Trim(text, "0123456789") == "" {
		// More than a number can be is a long time all the same.
		seconds, err := strconv.ParseInt(text, 10, 64)
		if err != nil || seconds > int64(longest/time.Second) {
			return longest, true
		}
		return time.Duration(seconds) * time.Second, true
	}
	until, err := http.ParseTime(text)
	if err != nil {
		return 0, false
	}
	now, err := http.ParseTime(a.Header.Get("Date"))
	if err != nil {
		now = clock.Now()
	}
	return max(until.Sub(now), 0), true
}

// longest is more than any pause between attempts.
const longest = 100 * 365 * 24 * time.Hour

// pause is how long to wait for the next attempt: what the server asks for, but no
// longer than the job lets any pause be and no shorter than its own would be.
func (a *answer) pause(asked time.Duration) time.Duration {
	most := a.job.MaxBackoff
	if most <= 0 {
		most = job.DefaultMaxBackoff
	}
	return max(min(asked, most), job.Backoff(a.job.Attempt()+1, a.job.MinBackoff, a.job.MaxBackoff))
}
