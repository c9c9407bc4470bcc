package cli

import (
	"errors"
	"fmt"

	"github.com/redis/go-redis/v9"

	"github.com/bide-go/bide/internal/duration"
	"github.com/bide-go/bide/job"
	"github.com/bide-go/bide/scripts"
)

// The exit codes. Scripts and supervisors act on them.
const (
	exitOK          = 0
	exitFailed      = 1   // the operation failed, or Redis refused it
	exitUsage       = 2   // unknown command, flag or value
	exitFile        = 3   // a schedules file is not valid
	exitState       = 4   // no such job, or in the wrong state
	exitAway        = 5   // Redis gave no answer, or did not let us in
	exitTimeout     = 124 // --command-timeout ran out while Redis answered
	exitInterrupted = 130
)

// failure is an error with the exit code it leads to and what to do about it.
type failure struct {
	code int
	err  error
	next string
	told bool // its words have been written already
	// excerpt is lines that show the place of the mistake.
	excerpt []string
}

func (f *failure) Error() string { return f.err.Error() }
func (f *failure) Unwrap() error { return f.err }

// usage is a mistake on the command line or in the environment.
func usage(message, next string) error {
	return &failure{code: exitUsage, err: errors.New(message), next: next}
}

// several is a list of errors of which each gets a line of its own.
type several []error

func (s several) Error() string {
	if len(s) == 1 {
		return s[0].Error()
	}
	return fmt.Sprintf("%v (and %d more)", s[0], len(s)-1)
}

// report writes what went wrong and returns the exit code for it.
func (p *program) report(err error) int {
	if err == nil {
		return exitOK
	}
	code, next := judge(err)
	var f *failure
	if errors.As(err, &f) && f.told {
		return code
	}
	lines := []error{err}
	if s, ok := errors.AsType[several](err); ok {
		lines = s
	}
	for i, line := range lines {
		text := clean(line.Error())
		if next != "" && i == len(lines)-1 {
			text += "; " + clean(next)
		}
		fmt.Fprintf(p.env.Stderr, "bide: %s\n", text)
	}
	if f != nil {
		for _, line := range f.excerpt {
			fmt.Fprintf(p.env.Stderr, "  %s\n", clean(line))
		}
	}
	return code
}

// judge finds the exit code for an error and says what to do about it.
func judge(err error) (code int, next string) {
	var f *failure
	var state *job.StateError
	var invalid *job.InvalidError
	var span *duration.Error
	switch {
	case errors.As(err, &f):
		return f.code, f.next
	case scripts.TakesNoWrites(err):
		return exitFailed, "Redis answers but takes no writes: look at its memory, its disk and whether it is a replica"
	case notLetIn(err):
		return exitAway, "check the user and password of the Redis URL and what they may do"
	case errors.As(err, &state):
		return exitState, "bide jobs show tells more about it"
	case errors.Is(err, job.ErrNotFound):
		return exitState, "bide jobs list shows the jobs there are"
	case errors.As(err, &invalid), errors.As(err, &span):
		return exitUsage, ""
	case redisAnswered(err):
		return exitFailed, "Redis answered with this; try again, or look at its log"
	case scripts.Away(err):
		return exitAway, whereIsRedis
	}
	return exitFailed, ""
}

const whereIsRedis = "check that Redis is up and its URL is right (--redis-url, BIDE_REDIS_URL, REDIS_URL)"

// notLetIn reports whether Redis answered that we may not talk to it, or not about
// this.
func notLetIn(err error) bool {
	return answeredWith(err, "NOAUTH", "WRONGPASS", "NOPERM", "DENIED", "AUTH ", "invalid password", "max number of clients")
}

func redisAnswered(err error) bool {
	var reply redis.Error
	return errors.As(err, &reply)
}

func answeredWith(err error, prefixes ...string) bool {
	for _, prefix := range prefixes {
		if redis.HasErrorPrefix(err, prefix) {
			return true
		}
	}
	return false
}
