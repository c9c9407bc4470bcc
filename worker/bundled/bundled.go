// Package bundled holds the handlers that every bide worker has, so that an
// operator can schedule work without writing Go: http makes an HTTP request, exec
// runs a command where that is allowed, log writes a message, publish sends one
// through Redis PUBLISH.
//
// Their args are checked strictly, by the same code in Check, before a job is
// made, and in the worker, where args that do not fit fail the job for good.
package bundled

import (
	"encoding/json"
	"fmt"
	"net/netip"
	"net/url"
	"strings"

	"github.com/redis/go-redis/v9"
	"github.com/rs/zerolog"

	"github.com/bide-go/bide/job"
	"github.com/bide-go/bide/worker"
)

const (
	execName    = "exec"
	httpName    = "http"
	logName     = "log"
	publishName = "publish"
)

// Names lists the handlers of this version in alphabetical order. Which of them a
// worker has depends on its Options.
func Names() []string { return []string{execName, httpName, logName, publishName} }

// Later reports whether name is that of a handler which a later version of bide
// will bundle and this one does not have. There is none at present.
func Later(string) bool { return false }

// Problem is one thing that is wrong with the args of a bundled handler.
type Problem struct {
	// Path is the place within the args: names joined by dots, list positions in
	// brackets, or empty for the args as a whole. A missing field has its own
	// path, too.
	Path string
	// Message is one line that can stand alone: it names the field.
	Message string
	// Hint says what to write instead. Empty when there is no good guess.
	Hint string
	// Code is the code of the problem in a schedules file; empty means E006, the
	// one for args of a bundled handler.
	Code string
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
// is known. Empty args are null. The args of exec are checked whether or not this
// process may run commands.
func Check(name string, args json.RawMessage) []Problem {
	var problems []Problem
	switch name {
	case execName:
		_, problems = decodeExec(args)
	case httpName:
		_, problems = decodeHTTP(args)
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

	// AllowExec registers exec: whoever may enqueue jobs then runs commands as the
	// user of this process. Without it, jobs of that name wait for a worker that
	// has it.
	AllowExec bool

	// HTTPAllow, if not empty, are the only addresses that http connects to, and
	// HTTPDeny are addresses that it does not connect to. Link-local and other
	// addresses that serve a cloud's metadata, multicast and unspecified ones are
	// refused in any case.
	HTTPAllow, HTTPDeny []netip.Prefix
	// HTTPProxy, if set, is what http connects to instead of the host of the URL.
	// It must be allowed itself, and resolves the names of hosts.
	HTTPProxy *url.URL
	// Version is the version of bide that http names as its own.
	Version string
}

// Register registers the bundled handlers with reg. That one of their names is
// taken is a mistake which reg.Err reports.
func Register(reg *worker.Registry, opt Options) {
	reg.Handle(httpName, httpHandler(opt, nil))
	reg.Handle(logName, logHandler(opt.Log))
	if opt.Redis != nil {
		reg.Handle(publishName, publishHandler(opt.Redis))
	}
	switch {
	case opt.AllowExec && canExec:
		reg.Handle(execName, execHandler(opt.Log))
	case opt.AllowExec:
		opt.Log.Error().Msg("exec is allowed, and this system cannot run commands in process groups; its jobs wait for another worker")
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
