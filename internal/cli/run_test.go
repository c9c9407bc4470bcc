package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/bide-go/bide/internal/app"
	"github.com/bide-go/bide/internal/duration"
	"github.com/bide-go/bide/internal/redistest"
	"github.com/bide-go/bide/job"
)

// run runs a line in this process.
func run(ctx context.Context, env Env, line string) (code int, stdout, stderr string) {
	var out, words bytes.Buffer
	if env.Stdout == nil {
		env.Stdout = &out
	}
	env.Stderr = &words
	code = Run(ctx, env, strings.Fields("bide "+line))
	return code, out.String(), words.String()
}

func getenv(values map[string]string) func(string) string {
	return func(name string) string { return values[name] }
}

func TestInterrupted(t *testing.T) {
	server := redistest.NewMini(t)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	pipe, _ := io.Pipe() // nothing ever comes
	env := Env{Stdin: pipe, Getenv: getenv(map[string]string{"REDIS_URL": server.URL()})}
	for _, line := range []string{"stats", "later mail -", "check -", "jobs cancel a"} {
		if code, _, stderr := run(ctx, env, line); code != 130 || !strings.Contains(stderr, "interrupted") {
			t.Errorf("%s: exit code %d %q, want 130", line, code, stderr)
		}
	}
}

type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) { return 0, errors.New("no space left on device") }

func TestOutputThatCannotBeWritten(t *testing.T) {
	for _, line := range []string{"version", "version -o json", "help"} {
		if code, _, stderr := run(context.Background(), Env{Stdout: fullDisk{}}, line); code != 1 || !strings.Contains(stderr, "no space") {
			t.Errorf("%s: exit code %d %q, want 1", line, code, stderr)
		}
	}
}

func TestExitCodes(t *testing.T) {
	_, badSpan := duration.Parse("5")
	for _, tt := range []struct {
		err  error
		want int
	}{
		{nil, 0},
		{errors.New("anything"), 1},
		{usage("x", "y"), 2},
		{&job.InvalidError{Field: "queue"}, 2},
		{badSpan, 2},
		{&job.StateError{ID: "a", From: job.Dead, To: job.Delayed}, 4},
		{fmt.Errorf("cancel: %w", job.ErrNotFound), 4},
		{fmt.Errorf("%w: dial", job.ErrUnavailable), 5},
		{&job.OutcomeUnknownError{Err: io.ErrUnexpectedEOF}, 5},
		{served(&app.FileError{Err: errors.New("bad")}), 3},
		{served(app.ErrCutShort), 130},
		{served(errors.New("listen tcp: address already in use")), 1},
		{served(nil), 0},
	} {
		p := &program{env: Env{}.complete()}
		if got := p.report(tt.err); got != tt.want {
			t.Errorf("%v: exit code %d, want %d", tt.err, got, tt.want)
		}
	}
}

func TestColor(t *testing.T) {
	server := redistest.NewMini(t)
	for _, tt := range []struct {
		line, noColor string
		terminal      bool
		want          bool
	}{
		{"audit", "", true, true},
		{"audit", "", false, false},
		{"audit", "1", true, false},
		{"audit --color always", "1", false, true},
		{"audit --color never", "", true, false},
	} {
		env := Env{Terminal: tt.terminal, Width: 80, Getenv: getenv(map[string]string{"REDIS_URL": server.URL(), "NO_COLOR": tt.noColor})}
		code, stdout, stderr := run(context.Background(), env, tt.line)
		if code != 0 || strings.Contains(stdout, "\x1b") != tt.want {
			t.Errorf("%+v: exit code %d, %q %q", tt, code, stdout, stderr)
		}
	}
}

// Pages of every size put together are the whole list, once each.
func TestPagesMeet(t *testing.T) {
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		env := Env{Getenv: getenv(map[string]string{"REDIS_URL": s.URL()})}
		ctx := context.Background()
		for i := range 23 {
			line := fmt.Sprintf("later mail --id j%02d --queue %s", i, []string{"low", "high", "other"}[i%3])
			if i%2 == 0 {
				line += " --in 1h"
			}
			if code, _, stderr := run(ctx, env, line); code != 0 {
				t.Fatal(stderr)
			}
		}
		var whole []string
		for _, limit := range []int{23, 24, 1, 2, 5, 7} {
			got, cursor, pages := []string{}, "", 0
			for {
				args := []string{"bide", "jobs", "list", "--time", "utc", "--limit", fmt.Sprint(limit)}
				if cursor != "" {
					args = append(args, "--cursor", cursor)
				}
				var out, words bytes.Buffer
				env.Stdout, env.Stderr = &out, &words
				if code := Run(ctx, env, args); code != 0 {
					t.Fatal(words.String())
				}
				for _, line := range strings.Split(strings.TrimSpace(out.String()), "\n")[1:] {
					got = append(got, strings.Fields(line)[1])
				}
				pages++
				_, next, more := strings.Cut(words.String(), "add --cursor ")
				if !more {
					break
				}
				cursor = strings.TrimSpace(next)
			}
			if whole == nil {
				whole = got
			}
			if len(got) != 23 || strings.Join(got, " ") != strings.Join(whole, " ") {
				t.Errorf("limit %d: %v, want %v", limit, got, whole)
			}
			if want := (23 + limit - 1) / limit; pages != want {
				t.Errorf("limit %d: %d pages, want %d", limit, pages, want)
			}
		}
	})
}

// A filter that matches nothing stops at 10,000 jobs and can go on.
func TestPageLooksAtABoundedNumber(t *testing.T) {
	s := redistest.NewReal(t)
	set := s.Scripts()
	ctx := context.Background()
	fill(t, set, 10_500)
	env := Env{Getenv: getenv(map[string]string{"REDIS_URL": s.URL()})}
	_, stdout, stderr := run(ctx, env, "jobs list --name nobody")
	_, cursor, more := strings.Cut(stderr, "add --cursor ")
	if stdout != "" || !more {
		t.Fatalf("first page: %q %q, want none and a cursor", stdout, stderr)
	}
	if _, stdout, stderr = run(ctx, env, "jobs list --name nobody --cursor "+cursor); stdout != "" || strings.Contains(stderr, "cursor") {
		t.Errorf("second page: %q %q, want none and no cursor", stdout, stderr)
	}
}

func TestCommandTimeoutBeginsWithRedis(t *testing.T) {
	s := redistest.NewMini(t)
	slow := io.MultiReader(reader(func(b []byte) (int, error) { time.Sleep(60 * time.Millisecond); return 0, io.EOF }), strings.NewReader(`{}`))
	env := Env{Stdin: slow, Getenv: getenv(map[string]string{"REDIS_URL": s.URL()})}
	if code, _, stderr := run(context.Background(), env, "later mail - --command-timeout 50ms"); code != 0 {
		t.Errorf("exit code %d: %s", code, stderr)
	}
}

type reader func([]byte) (int, error)

func (r reader) Read(b []byte) (int, error) { return r(b) }
