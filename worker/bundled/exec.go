package bundled

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/rs/zerolog"

	"github.com/bide-go/bide/job"
	"github.com/bide-go/bide/worker"
)

// execHandler runs one command for each attempt. That it ends with status 0 is
// success.
func execHandler(log zerolog.Logger) worker.Handler {
	return func(ctx context.Context, j *job.Job) error {
		args, problems := decodeExec(j.Args)
		if problems != nil {
			return badArgs(execName, problems)
		}
		s := &secrets{job: j}
		env, err := environment(j, args.env, s)
		if err != nil {
			return err
		}
		c := &command{words: args.command, env: env, dir: args.dir, stdin: args.stdin, log: log}
		if e := c.run(ctx); !e.ok {
			return execError(c, e, s)
		}
		return nil
	}
}

// ending is how a command ended.
type ending struct {
	ok    bool
	words string // after its name, unless it ended well
	cause error  // why it was ended before it had come to its end
}

// execError is the error of a command: how it ended, then the end of its output.
// It is made to fit into what is kept of an error, since the last line of the
// output tells most.
func execError(c *command, e ending, s *secrets) error {
	text := s.Clean(quote(c.words[0]) + " " + e.words)
	const before = "; the end of its output:\n"
	if output := c.output.end(s, job.MaxText-len(text)-len(before)); output != "" {
		text += before + output
	}
	if e.cause != nil {
		return &interruptedError{text, e.cause}
	}
	return errors.New(text)
}

// interruptedError says that a command was ended because its context had.
type interruptedError struct {
	text  string
	cause error
}

func (e *interruptedError) Error() string { return e.text }
func (e *interruptedError) Unwrap() error { return e.cause }

// environment is all that a command inherits: the worker's PATH, the identity of
// the job, and the variables of the args, which win.
func environment(j *job.Job, own []named, s *secrets) ([]string, error) {
	vars := identity(j)
	if path, ok := os.LookupEnv("PATH"); ok {
		vars["PATH"] = path
	}
	for _, v := range own {
		text, err := s.read(v.path, v.value)
		if err != nil {
			return nil, err
		}
		if what, _ := noNUL(text); what != "" {
			return nil, fmt.Errorf("field %s: the secret %s", quote(v.path), what)
		}
		vars[v.name] = text
	}
	env := make([]string, 0, len(vars))
	for name, text := range vars {
		env = append(env, name+"="+text)
	}
	slices.Sort(env)
	return env, nil
}
