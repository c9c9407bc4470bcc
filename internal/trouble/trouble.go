// Package trouble keeps a loop going through failures of Redis: it says how long to
// wait before the next try, and logs when the trouble begins and when it ends.
package trouble

import (
	"math/rand/v2"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"github.com/bide-go/bide/internal/clock"
)

const (
	first = 20 * time.Millisecond
	most  = time.Second
)

// Log watches one loop. It is safe for concurrent use.
type Log struct {
	log  zerolog.Logger
	what string

	mu    sync.Mutex
	since time.Time // zero while all is well
	tries int
}

// New watches a loop that does what.
func New(log zerolog.Logger, what string) *Log { return &Log{log: log, what: what} }

// Failed notes a failure and returns the pause before the next try: from 20 ms
// doubling to 1 s, spread so that many processes do not strike together.
func (t *Log) Failed(err error) time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.since.IsZero() {
		t.since = clock.Now()
	}
	if t.tries == 0 {
		t.log.Warn().Err(err).Str("what", t.what).Msg("redis trouble begins")
	}
	t.tries++
	pause := min(first<<min(t.tries-1, 10), most)
	return pause/2 + rand.N(pause/2+1)
}

// OK notes a success.
func (t *Log) OK() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.since.IsZero() {
		return
	}
	t.log.Info().Str("what", t.what).Dur("lasted", clock.Since(t.since)).Int("tries", t.tries).Msg("redis trouble ends")
	t.since, t.tries = time.Time{}, 0
}
