package app

import (
	"io"
	"net"
	"net/netip"
	"net/url"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/rs/zerolog"

	"github.com/bide-go/bide/dispatcher"
	"github.com/bide-go/bide/scheduler"
)

// Options is everything a service needs to know. The command line fills it; no
// flag, signal or environment variable is read below it.
type Options struct {
	// Redis is closed by the caller.
	Redis     redis.UniversalClient
	Namespace string
	// StrictRedis refuses to serve unless Redis' eviction policy is noeviction;
	// without it there is a warning.
	StrictRedis bool
	Log         zerolog.Logger
	Version     string

	// Roles: any of scheduler, promoter, worker, api.
	Roles []string

	// Files are schedules files, one set; none leaves what Redis holds.
	Files []string
	// FilesGiven says that they were asked for and must be there.
	FilesGiven bool
	// Sample is a schedules file to use when there is none.
	Sample []byte
	// Problems is where the problems of a file are printed.
	Problems io.Writer
	// Color prints them in colour.
	Color bool

	// Queues are served in strict order, or by weight if Weights is set.
	Queues      []string
	Weights     map[string]int
	Concurrency int
	Lease       time.Duration
	Grace       time.Duration
	MaxLost     int

	// AllowExec lets workers run the commands of exec jobs, and schedules have some.
	AllowExec bool
	// HTTPAllow and HTTPDeny are where http jobs may and may not connect to, and
	// HTTPProxy is what they connect through; see bundled.Options.
	HTTPAllow, HTTPDeny []netip.Prefix
	HTTPProxy           *url.URL

	DeadRetention time.Duration
	DeadMax       int

	// Listen is the address of the HTTP endpoints; empty listens nowhere.
	Listen string
	// AnyPort lets a busy address give way to a free port.
	AnyPort bool

	// Reload asks for the files to be read again.
	Reload <-chan struct{}
	// Hard ends the grace period at once.
	Hard <-chan struct{}

	// Dev is where Dev tells people what happens.
	Dev io.Writer

	// embedded says that Redis is part of this process.
	embedded bool
	// observe, started and loaded are how Dev watches.
	observe func(dispatcher.Outcome)
	started func(*service, net.Listener)
	loaded  func([]scheduler.Definition)
}

// FileError says that a schedules file cannot be used. Its problems have been
// printed.
type FileError struct{ Err error }

func (e *FileError) Error() string { return e.Err.Error() }
func (e *FileError) Unwrap() error { return e.Err }
