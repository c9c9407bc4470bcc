package main

import (
	"fmt"
	"os"
)

// tb is what redistest needs of a test, for a program that is none.
type tb struct {
	dir      string
	cleanups []func()
	failed   bool
}

// fatal is what Fatal panics with.
type fatal struct{ error }

func (t *tb) Helper()          {}
func (t *tb) Cleanup(f func()) { t.cleanups = append(t.cleanups, f) }

func (t *tb) TempDir() string {
	dir, err := os.MkdirTemp(t.dir, "redis")
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

func (t *tb) Logf(format string, args ...any) { fmt.Fprintf(os.Stderr, format+"\n", args...) }

func (t *tb) Error(args ...any) {
	t.failed = true
	fmt.Fprintln(os.Stderr, args...)
}

func (t *tb) Errorf(format string, args ...any) { t.Error(fmt.Sprintf(format, args...)) }

func (t *tb) Fatal(args ...any) {
	t.failed = true
	panic(fatal{fmt.Errorf("%s", fmt.Sprint(args...))})
}

func (t *tb) Fatalf(format string, args ...any) { t.Fatal(fmt.Sprintf(format, args...)) }
func (t *tb) Skip(args ...any)                  { t.Fatal(args...) }

// close runs the cleanups, the last first.
func (t *tb) close() {
	for len(t.cleanups) > 0 {
		last := len(t.cleanups) - 1
		f := t.cleanups[last]
		t.cleanups = t.cleanups[:last]
		f()
	}
}
