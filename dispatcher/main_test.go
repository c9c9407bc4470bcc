package dispatcher_test

import (
	"flag"
	"os"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	flag.Parse()
	// Most of these tests wait for a lease or a timeout to end: let many of them
	// wait at a time, unless -parallel says otherwise.
	set := false
	flag.Visit(func(f *flag.Flag) { set = set || f.Name == "test.parallel" })
	if !set {
		if err := flag.Set("test.parallel", "10"); err != nil {
			os.Exit(2)
		}
	}
	goleak.VerifyTestMain(m)
}
