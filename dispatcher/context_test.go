package dispatcher

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bide-go/bide/job"
)

// Whenever a handler first looks at its context, before or after it has ended, it sees
// what it would have seen with contexts made at once.
func TestHandlerContext(t *testing.T) {
	type act struct {
		at   time.Duration
		what error // nil for the handler's return
	}
	const timeout = 10 * time.Second
	for name, acts := range map[string][]act{
		"nothing":                        {},
		"cancelled":                      {{2 * time.Second, job.ErrCancelled}},
		"the lease lost":                 {{0, job.ErrLeaseLost}},
		"cancelled, then shut down":      {{2 * time.Second, job.ErrCancelled}, {3 * time.Second, job.ErrShutdown}},
		"shut down after its timeout":    {{12 * time.Second, job.ErrShutdown}},
		"returned":                       {{2 * time.Second, nil}},
		"cancelled, then returned":       {{2 * time.Second, job.ErrCancelled}, {3 * time.Second, nil}},
		"returned, then cancelled":       {{2 * time.Second, nil}, {3 * time.Second, job.ErrCancelled}},
		"returned after its timeout":     {{12 * time.Second, nil}},
		"cancelled just at its deadline": {{timeout, job.ErrCancelled}},
	} {
		for _, asked := range []time.Duration{-time.Second, time.Second, 2500 * time.Millisecond, 11 * time.Second, 13 * time.Second} {
			synctest.Test(t, func(t *testing.T) {
				base := context.WithValue(context.Background(), key{}, "v")
				plain, cancel := context.WithCancelCause(base)
				want, stop := context.WithTimeoutCause(plain, timeout, job.ErrTimeout)
				lazy := &handlerContext{base: base}
				lazy.begin(time.Now().Add(timeout))
				var derived, wantDerived context.Context
				compare := func(at time.Duration) {
					if err := lazy.Err(); !errors.Is(err, want.Err()) || (err == nil) != (want.Err() == nil) {
						t.Errorf("%s, asked at %v: after %v Err is %v, want %v", name, asked, at, err, want.Err())
					}
					if got, want := context.Cause(lazy), context.Cause(want); !errors.Is(got, want) || (got == nil) != (want == nil) {
						t.Errorf("%s, asked at %v: after %v the cause is %v, want %v", name, asked, at, got, want)
					}
					select {
					case <-lazy.Done():
						if lazy.Err() == nil {
							t.Errorf("%s: done without an error", name)
						}
					default:
						if lazy.Err() != nil {
							t.Errorf("%s: an error and not done", name)
						}
					}
					got, ok := lazy.Deadline()
					if deadline, _ := want.Deadline(); !ok || !got.Equal(deadline) || lazy.Value(key{}) != "v" {
						t.Errorf("%s: deadline %v, value %v", name, got, lazy.Value(key{}))
					}
					if derived == nil {
						var end, wantEnd context.CancelFunc
						derived, end = context.WithCancel(lazy)
						wantDerived, wantEnd = context.WithCancel(want)
						t.Cleanup(end)
						t.Cleanup(wantEnd)
					}
					if !errors.Is(derived.Err(), wantDerived.Err()) || (derived.Err() == nil) != (wantDerived.Err() == nil) || !errors.Is(context.Cause(derived), context.Cause(wantDerived)) {
						t.Errorf("%s, asked at %v: after %v a derived one has %v, %v", name, asked, at, derived.Err(), context.Cause(derived))
					}
				}
				began := time.Now()
				if asked < 0 {
					compare(0)
				}
				next := 0
				for now := time.Duration(0); now <= 14*time.Second; now += 500 * time.Millisecond {
					time.Sleep(time.Until(began.Add(now)))
					synctest.Wait()
					for ; next < len(acts) && acts[next].at == now; next++ {
						if cause := acts[next].what; cause != nil {
							cancel(cause)
							lazy.end(cause)
						} else {
							stop()
							cancel(nil)
							lazy.release()
						}
					}
					if now >= asked {
						compare(now)
					}
				}
				stop()
				cancel(nil)
				lazy.release()
			})
		}
	}
}

type key struct{}
