package bigtest

import (
	"context"
	"regexp"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/redis/go-redis/v9"

	"github.com/bide-go/bide/internal/redistest"
	"github.com/bide-go/bide/scripts"
)

var commandLine = regexp.MustCompile(`cmdstat_([^:]+):calls=(\d+)`)

// commands counts the commands that Redis has run, those of scripts included.
func commands(t testing.TB, rdb *redis.Client) map[string]int {
	t.Helper()
	text, err := rdb.Info(context.Background(), "commandstats").Result()
	must(t, err)
	counts := map[string]int{}
	for _, found := range commandLine.FindAllStringSubmatch(text, -1) {
		counts[found[1]], _ = strconv.Atoi(found[2])
	}
	return counts
}

// A job costs the same commands whatever else waits to become due.
func TestWorkDoesNotGrowWithTheDelayedSet(t *testing.T) {
	t.Parallel()
	few, many := 2000, 200_000
	if racing {
		many = 20_000
	}
	s := redistest.NewReal(t)
	rdb := s.Client()
	set := newSet(t, rdb)
	ctx := context.Background()
	later := func(i int) scripts.NewJob {
		return scripts.NewJob{Queue: "later", Delay: time.Duration(1+i%1000) * time.Hour}
	}
	seq := 0
	cycle := func() map[string]int {
		must(t, rdb.ConfigResetStat(ctx).Err())
		seq++
		n := strconv.Itoa(seq)
		must(t, set.Enqueue(ctx, scripts.NewBatch(
			scripts.NewJob{ID: "now-" + n, Queue: "high", Name: "test"},
			scripts.NewJob{ID: "soon-" + n, Queue: "high", Name: "test", Delay: time.Millisecond, Unique: "u", Retention: time.Hour, ExpiryIn: time.Hour},
		)))
		time.Sleep(3 * time.Millisecond) // the clock of a real server can only be waited for
		p, err := set.Promote(ctx, scripts.PromoteJobs, true)
		must(t, err)
		r, err := set.Reserve(ctx, scripts.ReserveArgs{
			Token: "w:" + n, Lease: time.Minute, Limit: 10, Names: []string{"test"}, Offers: []scripts.Offer{{Queue: "high", Slots: 10}},
		})
		must(t, err)
		var leases []scripts.Lease
		for _, l := range r.Jobs {
			leases = append(leases, l.Lease)
		}
		stale, err := set.Complete(ctx, leases)
		must(t, err)
		if p.Taken != 1 || len(leases) != 2 || len(stale) > 0 {
			t.Fatalf("promoted %d, took %d, stale %v", p.Taken, len(leases), stale)
		}
		_, err = set.Trim(ctx, 100, time.Hour, 100)
		must(t, err)
		_, _, err = set.Expire(ctx, 100)
		must(t, err)
		_, err = set.Audit(ctx)
		must(t, err)
		return commands(t, rdb)
	}
	seed(t, set, 0, few, later)
	cycle() // loads the scripts, and opens the connection
	want := cycle()
	seed(t, set, few, many, later)
	got := cycle()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("commands of one cycle (-with %d delayed jobs +with %d):\n%s", few, many, diff)
	}
	total := 0
	for _, n := range got {
		total += n
	}
	if total < 30 {
		t.Errorf("only %d commands were counted: %v", total, got)
	}
}
