// Package scripts holds everything bide knows of Redis: the names of the keys,
// the encoding of a job, and one Lua script for each move a job can make, beside
// the Go method that is its only caller.
//
// A script does its move whole (sets, lists, state, counters, wake-up, event) or
// not at all. Redis keeps the writes a script made before an error, so every
// script first reads and checks the type of what it is going to write, and then
// runs only commands that cannot fail. Scripts read Redis' clock; no caller
// compares its own with a stored time.
//
// The first lines of a .lua file say what it does, what it includes from lib/,
// its arguments and its reply. In the text, K.<name> stands for a key or the
// prefix of keys; the names are put in when the script is loaded (keys.go), so
// one key is passed with a call, for routing.
package scripts
