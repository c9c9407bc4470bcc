// Command cmd runs bide under faults: it starts a Redis, schedulers, promoters,
// workers and producers as processes, makes trouble for a while, and then has package
// chaos judge what they wrote down. It exits 1 if a rule was broken, 2 if the run
// itself failed.
//
// Build it with the tag chaos, so that it can make the clocks of its children wrong.
package main

import (
	"flag"
	"fmt"
	"os"
	"time"
)

func main() {
	if text := os.Getenv(childEnv); text != "" {
		os.Exit(beChild(text))
	}
	h := &harness{}
	flag.DurationVar(&h.duration, "duration", time.Minute, "how long to make trouble")
	flag.Int64Var(&h.seed, "seed", 0, "what the faults are drawn from; 0 draws a seed, too")
	flag.StringVar(&h.kind, "redis", "always", "always or everysec (of the append-only file), sentinel or cluster")
	flag.BoolVar(&h.mild, "mild", false, "few faults and many jobs")
	flag.StringVar(&h.only, "only", "", "the faults to make, by name, with commas between; empty for all")
	flag.DurationVar(&h.pace, "pace", 0, "the time from one fault to the next; 0 for what is usual")
	flag.IntVar(&h.rate, "rate", 80, "jobs a second that are written down one by one")
	flag.IntVar(&h.bulk, "bulk", 0, "further jobs a second, of which only the runs are written down")
	flag.BoolVar(&h.keep, "keep", false, "leave the files of the run behind")
	flag.StringVar(&h.bide, "bide", "", "the bide binary to run; empty builds it with the tag chaos")
	flag.Parse()
	if h.seed == 0 {
		h.seed = time.Now().UnixNano() % 1_000_000
	}
	code, err := h.run()
	if err != nil {
		fmt.Fprintln(os.Stderr, "chaos:", err)
		code = 2
	}
	os.Exit(code)
}
