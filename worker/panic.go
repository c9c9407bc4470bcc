package worker

import (
	"errors"
	"fmt"
	"reflect"
	"runtime"
	"strings"
)

// ErrGoexit is the Value of a PanicError after a handler ended its goroutine
// with runtime.Goexit instead of returning.
var ErrGoexit = errors.New("the handler called runtime.Goexit")

// PanicError is the error of an attempt whose handler panicked.
type PanicError struct {
	// Value is what was passed to panic: a *runtime.PanicNilError for nil, and
	// ErrGoexit if there was no panic but a call of runtime.Goexit.
	Value any
	// Stack shows where it happened, innermost call first, in the form that Go
	// prints stacks in: the frames of the handler and its middleware, at most 64
	// of them, without those of the runtime and this package around them.
	Stack []byte
}

// Error tells the value, without the stack.
func (e *PanicError) Error() string {
	if e.Value == ErrGoexit { //nolint:errorlint // this very value, not one that wraps it
		return ErrGoexit.Error()
	}
	return fmt.Sprintf("panic: %v", e.Value)
}

// Unwrap returns Value if it is an error. So a handler that panics with an error
// made by job.Permanent has failed for good.
func (e *PanicError) Unwrap() error {
	err, _ := e.Value.(error)
	return err
}

// PanicStack is the stack as text, by which whoever runs the handler recognizes a
// panic.
func (e *PanicError) PanicStack() string { return string(e.Stack) }

// maxFrames bounds the stack that is kept of a panic. The innermost frames tell
// most; a runaway recursion has millions.
const maxFrames = 64

// caught makes the error of a handler that did not return. It must be called
// from the deferred function that recovered value, while the stack is still
// that of the handler.
func caught(value any) *PanicError {
	if value == nil {
		value = ErrGoexit
	}
	return &PanicError{Value: value, Stack: handlerStack()}
}

// ownPrefix begins the name of each function of this package, not of its tests
// and subpackages.
var ownPrefix = reflect.TypeFor[Registry]().PkgPath() + "."

// handlerStack prints the stack below the running panic or Goexit.
func handlerStack() []byte {
	// Above the handler's frames stand those of catching the panic, below them
	// those of calling the handler: room for both, and one to see if there is more.
	pcs := make([]uintptr, maxFrames+16)
	frames := runtime.CallersFrames(pcs[:runtime.Callers(1, pcs)])

	var out []byte
	kept, begun, inner := 0, false, false
	for {
		f, more := frames.Next()
		switch {
		case !begun:
			begun = f.Function == "runtime.gopanic" || f.Function == "runtime.Goexit"
		case f.Function == ownPrefix+"(*Registry).call":
			return out // below it is whoever runs the handler
		case !inner && isRuntime(f.Function), strings.HasPrefix(f.Function, ownPrefix), f.Function == "runtime.goexit":
			// What the runtime does on the way to a panic, and our own calls.
		case kept == maxFrames:
			return append(out, "...\n"...)
		default:
			inner = true
			kept++
			out = fmt.Appendf(out, "%s(...)\n\t%s:%d\n", f.Function, f.File, f.Line)
		}
		if !more {
			return out
		}
	}
}

func isRuntime(function string) bool {
	return strings.HasPrefix(function, "runtime.") || strings.HasPrefix(function, "internal/runtime/")
}
