package cli

import (
	"io"
	"os"

	"github.com/mattn/go-isatty"
)

// Env is the world a command runs in.
type Env struct {
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	// Getenv looks up an environment variable; nil means that none is set.
	Getenv func(string) string

	// Terminal says that Stdout is one, StderrTerminal the same of Stderr and
	// StdinTerminal of Stdin, so that somebody can answer a question.
	Terminal       bool
	StderrTerminal bool
	StdinTerminal  bool
	// Width is the terminal's width in characters, 0 if not known.
	Width int

	// Sample is the schedules file of dev where there is no other.
	Sample []byte

	// Hard is closed to end a drain at once; Reload asks for schedules files to be
	// read again. Both may be nil.
	Hard   <-chan struct{}
	Reload <-chan struct{}
}

// System is the Env of this process, without Hard and Reload.
func System() Env {
	return Env{
		Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr, Getenv: os.Getenv,
		Terminal:       isatty.IsTerminal(os.Stdout.Fd()),
		StderrTerminal: isatty.IsTerminal(os.Stderr.Fd()),
		StdinTerminal:  isatty.IsTerminal(os.Stdin.Fd()),
		Width:          terminalWidth(),
	}
}

func (e Env) complete() Env {
	if e.Stdin == nil {
		e.Stdin = eof{}
	}
	if e.Stdout == nil {
		e.Stdout = io.Discard
	}
	if e.Stderr == nil {
		e.Stderr = io.Discard
	}
	if e.Getenv == nil {
		e.Getenv = func(string) string { return "" }
	}
	return e
}

type eof struct{}

func (eof) Read([]byte) (int, error) { return 0, io.EOF }
