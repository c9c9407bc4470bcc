package scripts

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/bide-go/bide/job"
)

// A job's body is one string, written once:
//
//	kind \t arrival \t created \t due \t expiry \t                        by the script
//	queue \t name \t retention \t unique \t schedule \t incarnation \t
//	superseded \t tick \t [next \t own \t] trigger \t maxAttempts \t
//	timeout \t minBackoff \t maxBackoff \n headers \n args              the tail
//
// Fields are text without tabs, times unix ms, durations ms, and empty when the
// default applies. The part before the first newline is bounded, so a script can
// read it without the args. Kind is P for a plain job and X for one whose end
// takes more than removing its body: a unique key, an expiry, a retention or a
// schedule. Lua never re-encodes args: it would turn large integers into floats
// and empty lists into maps.
const (
	tailFields = 13
	// Runs of schedules have next and own, but for those that layout 1 wrote.
	runFields = 15
)

// NewJob describes a job to create. Zero values mean the defaults of package job.
type NewJob struct {
	ID, Queue, Name string
	Args            json.RawMessage
	Headers         map[string]string
	Trigger         job.Trigger

	// Delay counts from Redis' now; At is an instant. Neither, or one in the
	// past, means now.
	Delay time.Duration
	At    time.Time

	Unique      string
	MaxAttempts int
	Timeout     time.Duration
	MinBackoff  time.Duration
	MaxBackoff  time.Duration
	Retention   time.Duration
	// Expiry is an instant, ExpiryIn counts from Redis' now; neither means none.
	Expiry   time.Time
	ExpiryIn time.Duration

	Schedule    string
	Incarnation string
	Tick        time.Time
	// Superseded is when a tick is no longer to run at all, Next the tick after it.
	Superseded time.Time
	Next       time.Time
	// Own says that the args are those of the schedule's definition.
	Own bool
}

// Size is roughly how many bytes the job takes in a call.
func (n *NewJob) Size() int {
	size := len(n.Args)
	for name, value := range n.Headers {
		size += len(name) + len(value)
	}
	return size
}

func (n *NewJob) kind() string {
	if n.Unique != "" || n.Retention > 0 || n.Schedule != "" || !n.Expiry.IsZero() || n.ExpiryIn > 0 {
		return "X"
	}
	return "P"
}

func (n *NewJob) when() string {
	switch {
	case n.Delay > 0:
		return "+" + strconv.FormatInt(ceilMilli(n.Delay), 10)
	case !n.At.IsZero():
		return strconv.FormatInt(max(ceilUnixMilli(n.At), 0), 10)
	}
	return ""
}

func (n *NewJob) expiry() string {
	switch {
	case n.ExpiryIn > 0:
		return "+" + strconv.FormatInt(ceilMilli(n.ExpiryIn), 10)
	case !n.Expiry.IsZero():
		return strconv.FormatInt(max(ceilUnixMilli(n.Expiry), 1), 10)
	}
	return ""
}

// The forms of a call of enqueue, see there.
const formNow, formLater, formGroups = "now", "later", "groups"

// form is the one that suits the job.
func (n *NewJob) form() string {
	switch {
	case n.kind() != "P":
		return formGroups
	case n.when() == "":
		return formNow
	}
	return formLater
}

// shape is what many jobs of a call have in common.
func (n *NewJob) shape() string {
	return n.Queue + "\t" + n.when() + "\t" + n.expiry() + "\t" + n.Unique + "\t" + n.kind()
}

func (n *NewJob) tail() string {
	var b strings.Builder
	b.Grow(64 + len(n.Queue) + len(n.Name) + len(n.Args))
	text := func(s string) { b.WriteString(s); b.WriteByte('\t') }
	number := func(ms int64, unset int64) {
		if ms != 0 && ms != unset {
			b.WriteString(strconv.FormatInt(ms, 10))
		}
		b.WriteByte('\t')
	}
	instant := func(t time.Time) {
		if !t.IsZero() {
			b.WriteString(strconv.FormatInt(ceilUnixMilli(t), 10))
		}
		b.WriteByte('\t')
	}
	text(n.Queue)
	text(n.Name)
	number(ceilMilli(n.Retention), 0)
	text(n.Unique)
	text(n.Schedule)
	text(n.Incarnation)
	instant(n.Superseded)
	instant(n.Tick)
	if n.Schedule != "" {
		instant(n.Next)
		own := ""
		if n.Own {
			own = "1"
		}
		text(own)
	}
	text(string(n.Trigger))
	number(int64(n.MaxAttempts), job.DefaultMaxAttempts)
	number(ceilMilli(n.Timeout), job.DefaultTimeoutOf(n.Name).Milliseconds())
	number(ceilMilli(n.MinBackoff), job.DefaultMinBackoff.Milliseconds())
	if ms := ceilMilli(n.MaxBackoff); ms != 0 && ms != job.DefaultMaxBackoff.Milliseconds() {
		b.WriteString(strconv.FormatInt(ms, 10))
	}
	b.WriteByte('\n')
	if len(n.Headers) > 0 {
		headers, _ := json.Marshal(n.Headers) // a map of strings always encodes
		b.Write(headers)
	}
	b.WriteByte('\n')
	if len(n.Args) == 0 {
		b.WriteString("null")
	} else {
		b.Write(n.Args)
	}
	return b.String()
}

// decodeBody fills in what never changes. A body may be cut after its head.
func decodeBody(id, body string, j *job.Job) error {
	head, rest, _ := strings.Cut(body, "\n")
	var fields [5 + runFields]string
	plain := strings.Count(head, "\t") == 5+tailFields-1
	if !readFields(fields[:], head, plain) {
		return fmt.Errorf("the body of job %q is not readable", id)
	}
	var bad error
	number := func(i int, unset int64) int64 {
		if fields[i] == "" {
			return unset
		}
		n, err := strconv.ParseInt(fields[i], 10, 64)
		if err != nil && bad == nil {
			bad = fmt.Errorf("the body of job %q is not readable: %w", id, err)
		}
		return n
	}
	instant := func(i int) time.Time {
		if fields[i] == "" {
			return time.Time{}
		}
		return time.UnixMilli(number(i, 0)).UTC()
	}
	span := func(i int, unset time.Duration) time.Duration {
		ms := min(number(i, unset.Milliseconds()), math.MaxInt64/int64(time.Millisecond))
		return time.Duration(ms) * time.Millisecond
	}
	j.ID = id
	j.Created = instant(2)
	j.Due = instant(3)
	if j.Due.IsZero() {
		j.Due = j.Created
	}
	j.Expiry = instant(4)
	j.Queue, j.Name = fields[5], fields[6]
	j.Retention = span(7, 0)
	j.Unique, j.Schedule = fields[8], fields[9]
	j.Tick = instant(12)
	j.Trigger = job.Trigger(fields[15])
	j.FromDefinition = j.Schedule != "" && (fields[14] == "1" || plain && j.Trigger == job.TriggerSchedule)
	j.MaxAttempts = int(number(16, job.DefaultMaxAttempts))
	j.Timeout = span(17, job.DefaultTimeoutOf(j.Name))
	j.MinBackoff = span(18, job.DefaultMinBackoff)
	j.MaxBackoff = span(19, job.DefaultMaxBackoff)
	if bad != nil {
		return bad
	}
	headers, args, _ := strings.Cut(rest, "\n")
	if headers != "" && args != "" {
		if err := json.Unmarshal([]byte(headers), &j.Headers); err != nil {
			return fmt.Errorf("the headers of job %q are not readable: %w", id, err)
		}
	}
	j.Args = json.RawMessage(args)
	return nil
}

// readFields splits a head. A plain job has none of the fields 13 and 14. It is not ok
// if their number is another one.
func readFields(fields []string, head string, plain bool) bool {
	last := len(fields) - 1
	for i := range last {
		if plain && (i == 13 || i == 14) {
			continue
		}
		tab := strings.IndexByte(head, '\t')
		if tab < 0 {
			return false
		}
		fields[i], head = head[:tab], head[tab+1:]
	}
	fields[last] = head
	return strings.IndexByte(head, '\t') < 0
}

// decodeFailure reads one entry of a job's failures:
// '<kind> <attempt> <at> <started> <worker>\n<error>\0<stack>'.
func decodeFailure(entry string) job.Failure {
	head, text, _ := strings.Cut(entry, "\n")
	fields := strings.Fields(head)
	at := func(i int) string {
		if i < len(fields) {
			return fields[i]
		}
		return ""
	}
	f := job.Failure{Kind: job.Kind(at(0)), At: toTime(at(2)), Started: toTime(at(3)), Worker: at(4)}
	f.Attempt = int(toInt(at(1)))
	f.Error, f.Stack, _ = strings.Cut(text, "\x00")
	return f
}

// failureText encodes an error and its stack, each cut to job.MaxText bytes on the
// border of a character. NUL separates the two, so it cannot stay in either.
func failureText(text, stack string) string {
	clean := func(s string) string {
		s = strings.ToValidUTF8(strings.ReplaceAll(s, "\x00", "\uFFFD"), "\uFFFD")
		if len(s) <= job.MaxText {
			return s
		}
		return strings.ToValidUTF8(s[:job.MaxText], "")
	}
	return clean(text) + "\x00" + clean(stack)
}
