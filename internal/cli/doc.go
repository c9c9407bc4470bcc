// Package cli is the bide command line: it reads flags and the environment, runs
// one command and turns its outcome into an exit code. It never exits the process
// and reads no signals; both are main's.
//
// Data goes to standard output, words go to standard error. Each command is a file
// of its own. Flags may stand anywhere on the line and beat the environment, which
// beats the defaults.
package cli
