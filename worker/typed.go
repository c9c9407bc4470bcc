package worker

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/bide-go/bide/job"
)

// HandleFunc registers f for the jobs called name, with the job's args decoded
// into a T as encoding/json does it: unknown fields are ignored and missing ones
// keep their zero value. Args that are null, or not given at all, are the zero
// T. Args that do not fit fail the job for good, by an error that names the
// field, and f is not called. f finds the job itself with job.FromContext.
//
// Mistakes are remembered as those of Registry.Handle.
func HandleFunc[T any](r *Registry, name string, f func(ctx context.Context, args T) error) {
	if f == nil {
		r.Handle(name, nil)
		return
	}
	r.Handle(name, func(ctx context.Context, j *job.Job) error {
		args, err := decodeArgs[T](j.Args)
		if err != nil {
			return job.Permanent(fmt.Errorf("args of %q: %w", name, err))
		}
		return f(ctx, args)
	})
}

func decodeArgs[T any](raw json.RawMessage) (args T, err error) {
	if isNull(raw) {
		return args, nil
	}
	err = json.Unmarshal(raw, &args)
	if err == nil {
		return args, nil
	}
	var typeErr *json.UnmarshalTypeError
	if errors.As(err, &typeErr) {
		return args, &fieldError{typeErr.Field, fmt.Sprintf("want %s, got %s", typeErr.Type, typeErr.Value), err}
	}
	if field := badField[T](raw); field != "" {
		return args, &fieldError{field, err.Error(), err}
	}
	return args, err
}

// badField finds the field of an object whose value a T refuses, for the errors
// of UnmarshalJSON methods, which do not tell. It is empty if no field by itself
// is at fault.
func badField[T any](raw json.RawMessage) string {
	var fields map[string]json.RawMessage
	if json.Unmarshal(raw, &fields) != nil {
		return ""
	}
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		alone, err := json.Marshal(map[string]json.RawMessage{name: fields[name]})
		if err == nil && json.Unmarshal(alone, new(T)) != nil {
			return name
		}
	}
	return ""
}

func isNull(raw json.RawMessage) bool {
	raw = bytes.TrimSpace(raw)
	return len(raw) == 0 || string(raw) == "null"
}

// fieldError says which field of the args does not fit; the empty field is the
// args as a whole.
type fieldError struct {
	field string
	msg   string
	err   error
}

func (e *fieldError) Error() string {
	if e.field == "" {
		return e.msg
	}
	return fmt.Sprintf("field %q: %s", e.field, e.msg)
}

func (e *fieldError) Unwrap() error { return e.err }
