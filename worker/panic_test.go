package worker_test

import (
	"context"
	"errors"
	"io"
	"reflect"
	"runtime"
	"strings"
	"testing"

	"github.com/bide-go/bide/job"
	"github.com/bide-go/bide/worker"
)

// runPanicking runs h and returns the PanicError it must end in.
func runPanicking(t *testing.T, h worker.Handler) *worker.PanicError {
	t.Helper()
	reg := worker.NewRegistry()
	reg.Handle("mail", h)
	err := reg.Run(t.Context(), &job.Job{Name: "mail"})
	var p *worker.PanicError
	if !errors.As(err, &p) {
		t.Fatalf("Run = %v, want a PanicError", err)
	}
	return p
}

//go:noinline
func explode(value any) { panic(value) }

//go:noinline
func leave() { runtime.Goexit() }

//go:noinline
func count(m map[string]int, key string) { m[key]++ }

//go:noinline
func recurse(n int) int {
	if n == 0 {
		panic("bottom")
	}
	return recurse(n-1) + 1
}

func TestPanic(t *testing.T) {
	t.Run("with a text", func(t *testing.T) {
		p := runPanicking(t, func(context.Context, *job.Job) error { explode("boom"); return nil })
		if p.Value != "boom" || p.Error() != "panic: boom" || p.Unwrap() != nil {
			t.Errorf("got value %v, text %q, wrapped %v", p.Value, p.Error(), p.Unwrap())
		}
	})

	t.Run("with an error, which stays visible", func(t *testing.T) {
		p := runPanicking(t, func(context.Context, *job.Job) error { explode(job.Permanent(io.ErrUnexpectedEOF)); return nil })
		if !errors.Is(p, io.ErrUnexpectedEOF) || !job.IsPermanent(p) {
			t.Errorf("PanicError hides its error: %v", p)
		}
		if want := "panic: unexpected EOF"; p.Error() != want {
			t.Errorf("Error = %q, want %q", p.Error(), want)
		}
	})

	t.Run("with nil", func(t *testing.T) {
		p := runPanicking(t, func(context.Context, *job.Job) error { explode(nil); return nil })
		if _, ok := p.Value.(*runtime.PanicNilError); !ok {
			t.Errorf("Value = %#v, want a *runtime.PanicNilError", p.Value)
		}
	})

	t.Run("with a value that cannot be compared", func(t *testing.T) {
		p := runPanicking(t, func(context.Context, *job.Job) error { explode([]int{1, 2}); return nil })
		if want := "panic: [1 2]"; p.Error() != want {
			t.Errorf("Error = %q, want %q", p.Error(), want)
		}
	})

	t.Run("of the runtime", func(t *testing.T) {
		p := runPanicking(t, func(context.Context, *job.Job) error {
			count(nil, "x")
			return nil
		})
		var re runtime.Error
		if !errors.As(p, &re) {
			t.Errorf("Value = %#v, want a runtime.Error", p.Value)
		}
		if first := firstFrame(p); !strings.HasSuffix(first, ".count(...)") {
			t.Errorf("the stack begins with %q, want count:\n%s", first, p.Stack)
		}
	})

	t.Run("while another one is running", func(t *testing.T) {
		p := runPanicking(t, func(context.Context, *job.Job) error {
			defer explode("second")
			panic("first")
		})
		if p.Value != "second" {
			t.Errorf("Value = %v, want the second panic's", p.Value)
		}
	})

	t.Run("that the handler recovered is none", func(t *testing.T) {
		reg := worker.NewRegistry()
		reg.Handle("mail", func(context.Context, *job.Job) (err error) {
			defer func() {
				if recover() != nil {
					err = io.EOF
				}
			}()
			panic("boom")
		})
		if err := reg.Run(t.Context(), &job.Job{Name: "mail"}); err != io.EOF {
			t.Errorf("Run = %v, want %v", err, io.EOF)
		}
	})
}

func TestGoexit(t *testing.T) {
	deferred := false
	p := runPanicking(t, func(context.Context, *job.Job) error {
		defer func() { deferred = true }()
		leave()
		return nil
	})
	if !errors.Is(p, worker.ErrGoexit) || p.Error() != worker.ErrGoexit.Error() {
		t.Errorf("got %v, want ErrGoexit", p)
	}
	if !deferred {
		t.Error("Run returned before the handler's deferred functions ran")
	}
	if first := firstFrame(p); !strings.HasSuffix(first, ".leave(...)") {
		t.Errorf("the stack begins with %q, want leave:\n%s", first, p.Stack)
	}
}

func TestPanicStack(t *testing.T) {
	t.Run("shows the handler and its middleware only", func(t *testing.T) {
		reg := worker.NewRegistry()
		reg.Use(passOn)
		worker.HandleFunc(reg, "mail", func(context.Context, int) error { explode("boom"); return nil })
		err := reg.Run(t.Context(), &job.Job{Name: "mail"})
		var p *worker.PanicError
		if !errors.As(err, &p) {
			t.Fatalf("Run = %v, want a PanicError", err)
		}
		pkg := reflect.TypeFor[worker.Registry]().PkgPath() + "_test."
		var functions []string
		for line := range strings.Lines(string(p.Stack)) {
			if !strings.HasPrefix(line, "\t") {
				functions = append(functions, strings.TrimSpace(line))
			} else if !strings.Contains(line, "panic_test.go:") {
				t.Errorf("the stack names the place %q", line)
			}
		}
		want := []string{pkg + "explode", pkg + "TestPanicStack", pkg + "passOn"}
		if len(functions) != len(want) {
			t.Fatalf("the stack has %d frames, want %d:\n%s", len(functions), len(want), p.Stack)
		}
		for i := range want {
			if !strings.HasPrefix(functions[i], want[i]) {
				t.Errorf("frame %d is %q, want %q", i, functions[i], want[i])
			}
		}
	})

	t.Run("is bounded", func(t *testing.T) {
		p := runPanicking(t, func(context.Context, *job.Job) error { recurse(10_000); return nil })
		if got := strings.Count(string(p.Stack), "recurse"); got != 64 {
			t.Errorf("the stack has %d frames, want 64", got)
		}
		if !strings.HasSuffix(string(p.Stack), "\n...\n") {
			t.Error("the stack does not say that it was cut")
		}
	})
}

func passOn(next worker.Handler) worker.Handler {
	return func(ctx context.Context, j *job.Job) error { return next(ctx, j) }
}

func firstFrame(p *worker.PanicError) string {
	first, _, _ := strings.Cut(string(p.Stack), "\n")
	return first
}
