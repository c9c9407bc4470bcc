package scripts_test

import (
	"errors"
	"testing"
	"time"

	"github.com/bide-go/bide/internal/redistest"
	"github.com/bide-go/bide/job"
	"github.com/bide-go/bide/scripts"
)

// While a cluster moves the namespace's slot, keys that have been moved look as if
// they did not exist. No script runs on such a half: each is refused before it has
// changed anything, on both nodes, and runs again when the slot has settled.
func TestASlotThatIsBeingMoved(t *testing.T) {
	t.Parallel()
	b := newBench(t, redistest.NewOnCluster(t))
	for _, s := range situations() {
		b.flush()
		call := s.prep(b)
		before := b.dump()
		done := b.Migrate()
		err := call()
		done()
		if !errors.Is(err, job.ErrUnavailable) || !scripts.Away(err) {
			t.Errorf("%s during a migration: %v, want it unavailable", s.name, err)
		}
		b.same(s.name+" refused during a migration", before, b.dump())
		b.must(call())
		b.gap0()
	}

	// A namespace without keys is asked for on the node to which it moves.
	b.flush()
	done := b.Migrate()
	_, err := enqueue(b.Set, b.ctx(), []scripts.NewJob{{ID: "a", Queue: "low", Name: "test"}})
	if !errors.Is(err, job.ErrUnavailable) {
		t.Errorf("on the other node: %v", err)
	}
	done()
	b.same("created", map[string]string{}, b.dump())

	// The caller's own transaction goes the same way as its job.
	b.add(scripts.NewJob{ID: "b", Delay: time.Hour})
	b.do("SET", "{bide}:stock", "7")
	b.do("HSET", scripts.Key("beats"), "tx", "1")
	done = b.Migrate()
	pipe := b.Universal().TxPipeline()
	pipe.Set(b.ctx(), "{bide}:stock", "8", 0)
	b.must(b.EnqueueTx(b.ctx(), pipe, scripts.NewJob{ID: "a", Queue: "low", Name: "test"}))
	if _, err := pipe.Exec(b.ctx()); err == nil {
		t.Error("a transaction was committed")
	}
	done()
	b.same("data", "7", b.raw().Get(b.ctx(), "{bide}:stock").Val())
	b.gone("a")
}
