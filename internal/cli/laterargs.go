package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/bide-go/bide/internal/duration"
	"github.com/bide-go/bide/job"
	"github.com/bide-go/bide/scheduler"
	"github.com/bide-go/bide/scripts"
	"github.com/bide-go/bide/worker/bundled"
)

// tryOption reports what an option thinks of its value.
func tryOption(opt scheduler.Option) error {
	var scratch scripts.NewJob
	return opt(&scratch)
}

// expiry reads a time, or a duration from now.
func (v *values) expiry(found value) scheduler.Option {
	if d, err := duration.Parse(found.text); err == nil {
		return scheduler.WithExpiryIn(d)
	}
	t, err := time.Parse(time.RFC3339, found.text)
	if err != nil {
		v.refuse(found.from, fmt.Sprintf("%q is neither a duration such as 2h nor a time such as 2026-12-01T09:00:00Z", found.text))
		return func(*scripts.NewJob) error { return nil }
	}
	return scheduler.WithExpiry(t)
}

// headers reads every --header k=v.
func (v *values) headers() map[string]string {
	var headers map[string]string
	for _, text := range v.c.StringSlice("header") {
		name, content, ok := strings.Cut(text, "=")
		_, twice := headers[name]
		switch {
		case !ok || name == "":
			v.refuse("--header", fmt.Sprintf("%q is not NAME=VALUE", text))
		case twice:
			v.refuse("--header", fmt.Sprintf("%q is given twice", name))
		default:
			if headers == nil {
				headers = map[string]string{}
			}
			headers[name] = content
		}
	}
	return headers
}

// refuseReferences refuses args that name a secret of the worker, which it reads for
// schedules only.
func refuseReferences(name string, args []byte) error {
	paths := bundled.References(name, args)
	if len(paths) == 0 {
		return nil
	}
	var wrong several
	for _, path := range paths {
		wrong = append(wrong, fmt.Errorf("args of %s: %q refers to a secret of the worker, which only the args of a schedule may do", name, path))
	}
	return &failure{code: exitUsage, err: wrong, next: "nothing was enqueued; put the job into a schedules file"}
}

// readArgs returns the text of args and its size, of which no more than is allowed
// is kept: "@FILE" names a file, "-" is standard input, anything else is the text.
func (p *program) readArgs(ctx context.Context, arg string) (data []byte, size int64, err error) {
	switch {
	case arg == "-":
		data, size, err = readAtMost(ctx, p.env.Stdin)
		if errors.Is(err, errInterrupted) {
			return nil, 0, &failure{code: exitInterrupted, err: errInterrupted, next: "nothing was enqueued"}
		}
		if err != nil {
			return nil, 0, usage("args from standard input: "+err.Error(), "nothing was enqueued")
		}
	case strings.HasPrefix(arg, "@"):
		f, err := os.Open(arg[1:])
		if err != nil {
			return nil, 0, usage("args: "+err.Error(), "after @ comes the name of a file")
		}
		defer f.Close()
		if data, size, err = readAtMost(ctx, f); err != nil {
			return nil, 0, usage("args: "+err.Error(), "nothing was enqueued")
		}
	default:
		data, size = []byte(arg), int64(len(arg))
	}
	trimmed := bytes.TrimSpace(data)
	if int64(len(data)) == size { // all of it is here
		size = int64(len(trimmed))
	}
	return trimmed, size, nil
}

// readAtMost reads r to its end, or until ctx ends, but keeps only a little more
// than args may have: the rest is counted.
func readAtMost(ctx context.Context, r io.Reader) ([]byte, int64, error) {
	type result struct {
		data []byte
		size int64
		err  error
	}
	done := make(chan result, 1)
	go func() {
		data, err := io.ReadAll(io.LimitReader(r, 2*job.MaxArgs))
		size := int64(len(data))
		if err == nil && size == 2*job.MaxArgs {
			var more int64
			more, err = io.Copy(io.Discard, r)
			size += more
		}
		done <- result{data, size, err}
	}()
	select {
	case got := <-done:
		return got.data, got.size, got.err
	case <-ctx.Done():
		return nil, 0, errInterrupted
	}
}
