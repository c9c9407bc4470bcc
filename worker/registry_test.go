package worker_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bide-go/bide/job"
	"github.com/bide-go/bide/worker"
)

func nothing(context.Context, *job.Job) error { return nil }

func TestRun(t *testing.T) {
	t.Run("calls the handler of the name with the job, also in the context", func(t *testing.T) {
		reg := worker.NewRegistry()
		var gotArg, gotCtx *job.Job
		reg.Handle("mail", func(ctx context.Context, j *job.Job) error {
			gotArg = j
			gotCtx, _ = job.FromContext(ctx)
			return nil
		})
		reg.Handle("other", func(context.Context, *job.Job) error { return errors.New("the wrong handler") })
		j := &job.Job{ID: "1", Name: "mail"}
		if err := reg.Run(t.Context(), j); err != nil {
			t.Fatalf("Run = %v, want nil", err)
		}
		if gotArg != j || gotCtx != j {
			t.Errorf("the handler got %p, in its context %p, want %p", gotArg, gotCtx, j)
		}
	})

	t.Run("returns the handler's error as it is", func(t *testing.T) {
		reg := worker.NewRegistry()
		want := job.Permanent(errors.New("no such customer"))
		reg.Handle("mail", func(context.Context, *job.Job) error { return want })
		if got := reg.Run(t.Context(), &job.Job{Name: "mail"}); got != want {
			t.Errorf("Run = %v, want %v", got, want)
		}
	})

	t.Run("hands the cause of a cancelled context down", func(t *testing.T) {
		reg := worker.NewRegistry()
		reg.Handle("wait", func(ctx context.Context, _ *job.Job) error {
			<-ctx.Done()
			return context.Cause(ctx)
		})
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(job.ErrCancelled)
		if err := reg.Run(ctx, &job.Job{Name: "wait"}); !errors.Is(err, job.ErrCancelled) {
			t.Errorf("Run = %v, want %v", err, job.ErrCancelled)
		}
	})

	t.Run("says which name has no handler", func(t *testing.T) {
		var reg worker.Registry
		err := reg.Run(t.Context(), &job.Job{Name: "mail"})
		if !errors.Is(err, worker.ErrNoHandler) || !strings.Contains(err.Error(), `"mail"`) {
			t.Errorf("Run = %v, want ErrNoHandler with the name", err)
		}
		if job.IsPermanent(err) {
			t.Error("a missing handler is permanent, want an error that can be retried elsewhere")
		}
	})

	t.Run("runs many jobs at once", func(t *testing.T) {
		reg := worker.NewRegistry()
		var inside, outside atomic.Int64
		reg.Use(func(next worker.Handler) worker.Handler {
			return func(ctx context.Context, j *job.Job) error {
				outside.Add(1)
				return next(ctx, j)
			}
		})
		for i := range 4 {
			reg.Handle(fmt.Sprintf("n%d", i), func(_ context.Context, j *job.Job) error {
				if want := fmt.Sprintf("n%d", i); j.Name != want {
					return fmt.Errorf("handler of %s got %s", want, j.Name)
				}
				inside.Add(1)
				if i == 3 {
					panic("three")
				}
				return nil
			})
		}
		var wg sync.WaitGroup
		for i := range 64 {
			wg.Go(func() {
				for range 50 {
					err := reg.Run(t.Context(), &job.Job{Name: fmt.Sprintf("n%d", i%4)})
					var p *worker.PanicError
					if panicked := errors.As(err, &p); panicked != (i%4 == 3) || err != nil && !panicked {
						t.Errorf("Run n%d = %v", i%4, err)
					}
				}
				reg.Names()
			})
		}
		wg.Wait()
		if inside.Load() != 64*50 || outside.Load() != 64*50 {
			t.Errorf("%d handlers and %d middleware ran, want %d each", inside.Load(), outside.Load(), 64*50)
		}
	})

	t.Run("one registry serves several synctest bubbles", func(t *testing.T) {
		reg := worker.NewRegistry()
		reg.Handle("sleep", func(context.Context, *job.Job) error {
			time.Sleep(time.Hour)
			return nil
		})
		for range 3 {
			synctest.Test(t, func(t *testing.T) {
				start := time.Now()
				if err := reg.Run(t.Context(), &job.Job{Name: "sleep"}); err != nil {
					t.Errorf("Run = %v, want nil", err)
				}
				if got := time.Since(start); got != time.Hour {
					t.Errorf("Run took %v of the bubble's time, want 1h", got)
				}
			})
		}
	})
}

func TestUse(t *testing.T) {
	t.Run("the first added is the outermost, before and after Handle", func(t *testing.T) {
		var trace []string
		note := func(name string) func(worker.Handler) worker.Handler {
			return func(next worker.Handler) worker.Handler {
				return func(ctx context.Context, j *job.Job) error {
					trace = append(trace, name+" in")
					defer func() { trace = append(trace, name+" out") }()
					return next(ctx, j)
				}
			}
		}
		reg := worker.NewRegistry()
		reg.Use(note("a"), note("b"))
		reg.Handle("mail", func(context.Context, *job.Job) error {
			trace = append(trace, "handler")
			return nil
		})
		reg.Use(worker.Middleware(note("c")))
		if err := reg.Run(t.Context(), &job.Job{Name: "mail"}); err != nil {
			t.Fatal(err)
		}
		want := []string{"a in", "b in", "c in", "handler", "c out", "b out", "a out"}
		if diff := cmp.Diff(want, trace); diff != "" {
			t.Errorf("order (-want +got):\n%s", diff)
		}
	})

	t.Run("wraps once for each handler, not for each run", func(t *testing.T) {
		reg := worker.NewRegistry()
		wrapped := 0
		reg.Use(func(next worker.Handler) worker.Handler { wrapped++; return next })
		reg.Handle("a", nothing)
		reg.Handle("b", nothing)
		for range 5 {
			if err := reg.Run(t.Context(), &job.Job{Name: "a"}); err != nil {
				t.Fatal(err)
			}
		}
		if wrapped != 2 {
			t.Errorf("the middleware wrapped %d handlers, want 2", wrapped)
		}
	})

	t.Run("can answer instead of the handler", func(t *testing.T) {
		reg := worker.NewRegistry()
		want := errors.New("not today")
		reg.Use(func(worker.Handler) worker.Handler {
			return func(context.Context, *job.Job) error { return want }
		})
		reg.Handle("mail", func(context.Context, *job.Job) error { t.Error("the handler ran"); return nil })
		if err := reg.Run(t.Context(), &job.Job{Name: "mail"}); err != want {
			t.Errorf("Run = %v, want %v", err, want)
		}
	})

	t.Run("faulty middleware fails the attempt and nothing more", func(t *testing.T) {
		reg := worker.NewRegistry()
		reg.Use(func(worker.Handler) worker.Handler { return nil })
		reg.Handle("mail", nothing)
		if err := reg.Run(t.Context(), &job.Job{Name: "mail"}); err == nil || !strings.Contains(err.Error(), "middleware") {
			t.Errorf("Run = %v, want an error about the middleware", err)
		}

		reg = worker.NewRegistry()
		reg.Use(func(worker.Handler) worker.Handler { panic("cannot wrap") })
		reg.Handle("mail", nothing)
		for range 2 {
			var p *worker.PanicError
			if err := reg.Run(t.Context(), &job.Job{Name: "mail"}); !errors.As(err, &p) {
				t.Errorf("Run = %v, want a PanicError", err)
			}
		}
	})
}

func TestRegistration(t *testing.T) {
	t.Run("names are sorted", func(t *testing.T) {
		var reg worker.Registry
		if got := reg.Names(); len(got) != 0 {
			t.Errorf("Names of an empty registry = %q, want none", got)
		}
		for _, name := range []string{"mail", "invoices.close-day", "Sell"} {
			reg.Handle(name, nothing)
		}
		want := []string{"Sell", "invoices.close-day", "mail"}
		if diff := cmp.Diff(want, reg.Names()); diff != "" {
			t.Errorf("Names (-want +got):\n%s", diff)
		}
		if err := reg.Err(); err != nil {
			t.Errorf("Err = %v, want nil", err)
		}
	})

	t.Run("mistakes are all remembered and register nothing", func(t *testing.T) {
		reg := worker.NewRegistry()
		reg.Handle("mail", func(context.Context, *job.Job) error { return errors.New("the first") })
		reg.Handle("mail", func(context.Context, *job.Job) error { return errors.New("the second") })
		reg.Handle("two words", nothing)
		reg.Handle("", nothing)
		reg.Handle("nil", nil)
		worker.HandleFunc[int](reg, "typed-nil", nil)
		reg.Use(nil)

		err := reg.Err()
		if err == nil {
			t.Fatal("Err = nil, want six mistakes")
		}
		if got := strings.Count(err.Error(), "\n") + 1; got != 6 {
			t.Errorf("Err has %d lines, want 6:\n%v", got, err)
		}
		for _, want := range []string{
			`register handler "mail": the name is taken`,
			`register handler "two words": job name "two words" must be`,
			`register handler "": job name is missing`,
			`register handler "nil": the function is nil`,
			`register handler "typed-nil": the function is nil`,
			`add middleware: the function is nil`,
		} {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("Err does not say %q:\n%v", want, err)
			}
		}
		var invalid *job.InvalidError
		if !errors.As(err, &invalid) {
			t.Error("Err holds no *job.InvalidError for the illegal name")
		}
		if diff := cmp.Diff([]string{"mail"}, reg.Names()); diff != "" {
			t.Errorf("Names (-want +got):\n%s", diff)
		}
		if err := reg.Run(t.Context(), &job.Job{Name: "mail"}); err == nil || err.Error() != "the first" {
			t.Errorf("Run = %v, want the error of the first handler", err)
		}
	})

	t.Run("after work began nothing changes", func(t *testing.T) {
		reg := worker.NewRegistry()
		reg.Handle("mail", nothing)
		if err := reg.Run(t.Context(), &job.Job{Name: "mail"}); err != nil {
			t.Fatal(err)
		}
		reg.Handle("late", nothing)
		reg.Use(func(worker.Handler) worker.Handler { t.Error("the late middleware is used"); return nothing })
		if diff := cmp.Diff([]string{"mail"}, reg.Names()); diff != "" {
			t.Errorf("Names (-want +got):\n%s", diff)
		}
		if err := reg.Run(t.Context(), &job.Job{Name: "late"}); !errors.Is(err, worker.ErrNoHandler) {
			t.Errorf("Run of the late name = %v, want ErrNoHandler", err)
		}
		if err := reg.Run(t.Context(), &job.Job{Name: "mail"}); err != nil {
			t.Errorf("Run = %v, want nil", err)
		}
		err := reg.Err()
		if err == nil || strings.Count(err.Error(), "work has begun") != 2 {
			t.Errorf("Err = %v, want two mistakes", err)
		}
	})
}

func BenchmarkRun(b *testing.B) {
	reg := worker.NewRegistry()
	reg.Use(
		func(next worker.Handler) worker.Handler {
			return func(ctx context.Context, j *job.Job) error { return next(ctx, j) }
		},
	)
	reg.Handle("nothing", nothing)
	j := &job.Job{ID: "1", Name: "nothing"}
	ctx := b.Context()
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if err := reg.Run(ctx, j); err != nil {
				b.Fatal(err)
			}
		}
	})
}
