package scripts_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/bide-go/bide/scripts"
)

// Names of queues come from anybody: those that are empty make room, and what fills a
// lane names its queue again.
func TestEmptyQueuesMakeRoom(t *testing.T) {
	each(t, func(b *bench) {
		var jobs []scripts.NewJob
		for i := range 600 {
			jobs = append(jobs, scripts.NewJob{ID: fmt.Sprint("q", i), Queue: fmt.Sprint("q", i), Name: "test"})
		}
		jobs[0].Delay = time.Millisecond
		for i := 0; i < len(jobs); i += 300 {
			_, err := enqueue(b.Set, b.ctx(), jobs[i:i+300])
			b.must(err)
		}
		for i := 1; i < 600; i++ {
			_, err := b.Cancel(b.ctx(), fmt.Sprint("q", i))
			b.must(err)
		}
		for range 500 {
			_, err := b.Trim(b.ctx(), 100, time.Hour, 100)
			b.must(err)
		}
		queues, err := b.Queues(b.ctx())
		b.must(err)
		if len(queues) > 500 {
			b.t.Errorf("%d queues are still in use", len(queues))
		}
		b.do("HDEL", "{bide}:queues", "q0") // as if it had been its turn
		for b.promote() == 0 {
		}
		b.sum(scripts.Sum{Created: 600, Waiting: 1, Cancelled: 599})
	})
}
