package proctest

import (
	"context"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/bide-go/bide/dispatcher"
	"github.com/bide-go/bide/internal/redistest"
	"github.com/bide-go/bide/job"
	"github.com/bide-go/bide/worker"
)

// processor is the processor time that a process has used.
func (s *service) processor() time.Duration {
	s.t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", s.cmd.Process.Pid))
	if err != nil {
		s.t.Fatal(err)
	}
	_, after, _ := strings.Cut(string(text), ") ")
	fields := strings.Fields(after)
	user, _ := strconv.Atoi(fields[11])
	system, _ := strconv.Atoi(fields[12])
	return time.Duration(user+system) * 10 * time.Millisecond // the unit of /proc
}

var callsOf = regexp.MustCompile(`cmdstat_([^:]+):calls=(\d+)`)

// calls counts the commands that Redis has run: scripts, and all with those inside.
func calls(rdb *redis.Client) (evals, all int) {
	for _, found := range callsOf.FindAllStringSubmatch(rdb.Info(context.Background(), "commandstats").Val(), -1) {
		n, _ := strconv.Atoi(found[2])
		all += n
		if found[1] == "evalsha" {
			evals = n
		}
	}
	return evals, all
}

// BenchmarkThousandSchedules runs 1,000 schedules of which 200 are due each second,
// for half a minute, with a scheduler and a promoter that are processes. It tells
// how long after their due times runs begin in a worker, what a process costs, and
// how many calls of scripts and commands Redis runs per tick, from planning to the
// end of the run. All 200 are due at the same instant, so a worker with fewer slots
// lets some wait for others.
func BenchmarkThousandSchedules(b *testing.B) {
	for _, slots := range []int{50, 200} {
		b.Run(fmt.Sprint(slots, " slots"), func(b *testing.B) { thousandSchedules(b, slots) })
	}
}

func thousandSchedules(b *testing.B, slots int) {
	const due, others, span = 200, 800, 30 * time.Second
	r := on(b, redistest.NewReal(b))
	var entries strings.Builder
	for i := range due {
		fmt.Fprintf(&entries, "  due-%d: { schedule: \"* * * * * *\", job: tick }\n", i)
	}
	for i := range others {
		fmt.Fprintf(&entries, "  other-%d: { schedule: \"%d %d * * *\", job: tick }\n", i, i%60, i%24)
	}
	file := write(b, "", entries.String())

	var mu sync.Mutex
	var late []time.Duration
	perSecond := map[time.Time][]time.Duration{}
	measuring := false
	reg := worker.NewRegistry()
	reg.Handle("tick", func(_ context.Context, j *job.Job) error {
		after := time.Since(j.Due)
		mu.Lock()
		defer mu.Unlock()
		if measuring {
			late = append(late, after)
			perSecond[j.Due] = append(perSecond[j.Due], after)
		}
		return nil
	})
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() {
		ended <- dispatcher.New(r.Server.Client(), reg, dispatcher.Config{Concurrency: slots}).Run(ctx)
	}()
	promoter, sched := r.serve("promoter"), r.serve("scheduler", "--file", file)
	r.eventually("all are applied", func() bool {
		l, err := r.schedules.List(r.ctx())
		return err == nil && len(l.Schedules) == due+others
	})
	time.Sleep(3 * time.Second) // the first minute is planned
	rdb := r.Server.Client()
	for b.Loop() {
		mu.Lock()
		late, measuring = nil, true
		clear(perSecond)
		mu.Unlock()
		planning, promoting := sched.processor(), promoter.processor()
		evals, all := calls(rdb)
		time.Sleep(span)
		planning, promoting = sched.processor()-planning, promoter.processor()-promoting
		evals2, all2 := calls(rdb)
		mu.Lock()
		measuring = false
		ticks := len(late)
		slices.Sort(late)
		b.ReportMetric(float64(ticks)/span.Seconds(), "ticks/s")
		b.ReportMetric(float64(late[ticks/2].Microseconds())/1000, "p50-ms")
		b.ReportMetric(float64(late[ticks*99/100].Microseconds())/1000, "p99-ms")
		b.ReportMetric(float64(late[ticks-1].Microseconds())/1000, "max-ms")
		// What else the machine does spoils single seconds.
		var typical []time.Duration
		for _, some := range perSecond {
			slices.Sort(some)
			typical = append(typical, some[len(some)*99/100])
		}
		slices.Sort(typical)
		b.ReportMetric(float64(typical[len(typical)/2].Microseconds())/1000, "p99-of-the-median-second-ms")
		mu.Unlock()
		b.ReportMetric(100*planning.Seconds()/span.Seconds(), "scheduler-%")
		b.ReportMetric(100*promoting.Seconds()/span.Seconds(), "promoter-%")
		b.ReportMetric(float64(evals2-evals)/float64(ticks), "calls/tick")
		b.ReportMetric(float64(all2-all)/float64(ticks), "commands/tick")
	}
	for _, s := range []*service{sched, promoter} {
		s.stop()
	}
	stop()
	if err := <-ended; err != nil {
		b.Error(err)
	}
}
