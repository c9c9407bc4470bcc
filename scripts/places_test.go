package scripts_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/bide-go/bide/job"
	"github.com/bide-go/bide/scripts"
)

// places tells of every id that Redis knows in which places it stands, and fails
// the test unless each stands in one and has a body. The queue is medium or low.
func (b *bench) places() map[string]string {
	b.t.Helper()
	all := map[string]string{}
	note := func(id, place string) {
		if all[id] != "" {
			b.t.Fatalf("job %s stands in %s and in %s", id, all[id], place)
		}
		all[id] = place
	}
	for _, member := range b.raw().ZRange(b.ctx(), scripts.Key("delayed"), 0, -1).Val() {
		note(strings.SplitN(member, ":", 3)[2], "delayed")
	}
	for _, place := range []string{"active", "dead", "finished"} {
		for _, id := range b.raw().ZRange(b.ctx(), scripts.Key(place), 0, -1).Val() {
			note(id, place)
		}
	}
	for _, lane := range []string{"medium-delayed", "medium", "low-delayed", "low"} {
		for _, id := range b.lane(lane) {
			note(id, lane)
		}
	}
	bodies := b.raw().Keys(b.ctx(), scripts.Key("job")+"*").Val()
	for _, key := range bodies {
		if id := key[len(scripts.Key("job")):]; all[id] == "" {
			b.t.Fatalf("job %s has a body and no place", id)
		}
	}
	if len(bodies) != len(all) {
		b.t.Fatalf("%d bodies and %d places: %v", len(bodies), len(all), all)
	}
	leases := b.raw().HKeys(b.ctx(), scripts.Key("lease")).Val()
	active := b.raw().ZRange(b.ctx(), scripts.Key("active"), 0, -1).Val()
	slices.Sort(leases)
	slices.Sort(active)
	if !slices.Equal(leases, active) {
		b.t.Fatalf("leases of %v, active are %v", leases, active)
	}
	return all
}

// client makes random moves, as one of many processes would.
type client struct {
	*scripts.Set
	name   string
	rnd    *rand.Rand
	leases []scripts.Lease
	seq    int
}

// legal keeps only the errors that no client may get.
func legal(err error) error {
	var state *job.StateError
	if errors.As(err, &state) || errors.Is(err, job.ErrNotFound) {
		return nil
	}
	return err
}

func (c *client) step(ctx context.Context) error {
	id := fmt.Sprint("k", c.rnd.IntN(30))
	var held []scripts.Lease
	if n := len(c.leases); n > 0 {
		k := c.rnd.IntN(n) + 1
		held, c.leases = c.leases[:k:k], c.leases[k:]
	}
	var err error
	switch c.rnd.IntN(14) {
	case 0, 1, 2:
		n := scripts.NewJob{ID: id, Queue: []string{"medium", "low"}[c.rnd.IntN(2)], Name: "test", Delay: time.Duration(c.rnd.IntN(3)) * time.Millisecond,
			Retention: time.Duration(c.rnd.IntN(2)) * time.Millisecond, ExpiryIn: time.Duration(c.rnd.IntN(2)*c.rnd.IntN(20)) * time.Millisecond}
		if c.rnd.IntN(3) == 0 {
			n.Unique = fmt.Sprint("u", c.rnd.IntN(5))
		}
		err = c.Enqueue(ctx, scripts.NewBatch(n))
	case 3:
		_, err = c.Promote(ctx, 10, true)
	case 4, 5:
		c.seq++
		token := fmt.Sprintf("%s:%d", c.name, c.seq)
		var r scripts.Reserved
		r, err = c.Reserve(ctx, scripts.ReserveArgs{Token: token, Lease: time.Duration(1+c.rnd.IntN(30)) * time.Millisecond, Limit: 5, Names: []string{"test"},
			Offers: []scripts.Offer{{"medium", 3}, {"low", 2}}})
		for _, l := range r.Jobs {
			c.leases = append(c.leases, l.Lease)
		}
	case 6:
		if len(held) > 0 {
			_, err = c.Complete(ctx, held)
		}
	case 7:
		var verdicts []scripts.Verdict
		for _, l := range held {
			verdicts = append(verdicts, scripts.Verdict{Lease: l, Retry: c.rnd.IntN(2) == 0, Reason: job.ReasonAttempts, Kind: job.KindFailed})
		}
		if len(held) > 0 {
			_, err = c.Fail(ctx, verdicts)
		}
	case 8:
		if len(held) > 0 {
			_, err = c.Release(ctx, held)
		}
	case 9:
		_, _, _, err = c.Reap(ctx, time.Now().Add(time.Hour), 10, 3)
	case 10:
		_, err = c.Cancel(ctx, id)
	case 11:
		if c.rnd.IntN(2) == 0 {
			_, err = c.Revive(ctx, id)
		} else {
			_, err = c.Reschedule(ctx, id, time.Millisecond, time.Time{})
		}
	case 12:
		_, _, err = c.Expire(ctx, 5)
	case 13:
		_, err = c.Trim(ctx, 5, time.Millisecond, 3)
		if err == nil && len(held) > 0 {
			_, err = c.Renew(ctx, 20*time.Millisecond, held)
			c.leases = append(c.leases, held...)
		}
	}
	return legal(err)
}

// Many clients at once: the sum is zero at every instant, and in the end each job
// stands in one place and can be ended.
func TestManyClientsAtOnce(t *testing.T) {
	each(t, func(b *bench) {
		steps := 400
		if b.Mini != nil {
			steps = 100 // it interprets Lua more slowly
		}
		var group sync.WaitGroup
		for i := range 6 {
			c := &client{Set: b.Scripts(), name: fmt.Sprint("w", i), rnd: rand.New(rand.NewPCG(uint64(i), 7))}
			group.Go(func() {
				for range steps {
					if err := c.step(b.ctx()); err != nil {
						b.t.Errorf("%s: %v", c.name, err)
						return
					}
				}
			})
		}
		done := make(chan struct{})
		go func() { group.Wait(); close(done) }()
		for running := true; running; {
			select {
			case <-done:
				running = false
			default:
				b.gap0()
			}
		}
		b.places()

		// Everything can be brought to an end.
		for range 150 {
			b.pass(30 * time.Millisecond)
			b.reapAll(3)
			b.promote()
			_, _, err := b.Expire(b.ctx(), 100)
			b.must(err)
			for got := b.take(100); len(got) > 0; got = b.take(100) {
				b.complete(got...)
			}
			_, err = b.Trim(b.ctx(), 100, 0, 0)
			b.must(err)
			if len(b.places()) == 0 {
				break
			}
		}
		left := slices.DeleteFunc(b.leftovers(), func(key string) bool { return strings.HasPrefix(key, "{bide}:wake") })
		b.same("left", []string{}, left)
		b.gap0()
	})
}
