// Package bundled holds the handlers that every bide worker has, so that an
// operator can schedule work without writing Go: log writes a message, publish
// sends one through Redis PUBLISH.
//
// Their args are checked strictly, by the same code in Check, before a job is
// made, and in the worker, where args that do not fit fail the job for good.
package bundled

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/redis/go-redis/v9"
	"github.com/rs/zerolog"

	"github.com/bide-go/bide/job"
	"github.com/bide-go/bide/worker"
)

const (
	logName     = "log"
	publishName = "publish"
)

// Names lists the handlers of this version in alphabetical order.
func Names() []string { return []string{logName, publishName} }

// Later reports whether name is that of a handler which a later version of bide
// will bundle and this one does not have.
func Later(name string) bool { return slices.Contains([]string{"exec", "http"}, name) }

// Problem is one thing that is wrong with the args of a bundled handler.
type Problem struct {
	// Path is the place within the args: the name of a field, or empty for the
	// args as a whole. A missing field has its own name, too.
	Path string
	// Message is one line that can stand alone: it names the field.
	Message string
	// Hint says what to write instead. Empty when there is no good guess.
	Hint string
}

// String is the message with the hint, if there is one, in parentheses.
func (p Problem) String() string {
	if p.Hint == "" {
		return p.Message
	}
	return p.Message + " (" + p.Hint + ")"
}

// Check finds all that is wrong with args as those of the bundled handler name:
// what the args hold in the order they hold it, then what is missing. It is nil
// if they are fine, and for any name not among Names, about whose args nothing
// is known. Empty args are null.
func Check(name string, args json.RawMessage) []Problem {
	var problems []Problem
	switch name {
	case logName:
		_, problems = decodeLog(args)
	case publishName:
		_, problems = decodePublish(args)
	}
	return problems
}

// Options is what the bundled handlers work with.
type Options struct {
	// Redis is where publish sends to. If it is nil, publish is not registered,
	// and its jobs wait for a worker that has it.
	Redis redis.UniversalClient
	// Log is where log writes to. The zero Logger writes nothing.
	Log zerolog.Logger
}

// Register registers the bundled handlers with reg. That one of their names is
// taken is a mistake which reg.Err reports.
func Register(reg *worker.Registry, opt Options) {
	reg.Handle(logName, logHandler(opt.Log))
	if opt.Redis != nil {
		reg.Handle(publishName, publishHandler(opt.Redis))
	}
}

// maxTold bounds the text of badArgs, which is stored with the job.
const maxTold = 10

// badArgs is the permanent error of a job whose args have problems.
func badArgs(name string, problems []Problem) error {
	var told []string
	for _, p := range problems[:min(len(problems), maxTold)] {
		told = append(told, p.String())
	}
	if more := len(problems) - len(told); more > 0 {
		told = append(told, fmt.Sprintf("and %d more", more))
	}
	return job.Permanent(fmt.Errorf("args of %q: %s", name, strings.Join(told, "; ")))
}
