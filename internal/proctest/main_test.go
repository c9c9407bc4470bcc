// Package proctest tests bide as what it is: processes that share nothing but
// Redis, and that are killed, stopped and told to end. Its test binary runs again
// as a worker process, whose handlers write what happens to them to a pipe.
package proctest

import (
	"flag"
	"os"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	if os.Getenv(workerEnv) != "" {
		os.Exit(beWorker())
	}
	flag.Parse()
	// These tests wait for leases to end: let several of them wait at a time,
	// unless -parallel says otherwise.
	set := false
	flag.Visit(func(f *flag.Flag) { set = set || f.Name == "test.parallel" })
	if !set {
		if err := flag.Set("test.parallel", "6"); err != nil {
			os.Exit(2)
		}
	}
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		if buildDir != "" {
			_ = os.RemoveAll(buildDir)
		}
		os.Exit(code)
	}))
}
