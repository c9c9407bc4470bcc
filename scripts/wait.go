package scripts

import (
	"context"
	"errors"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
)

// Waiter listens for wake-up calls on connections of its own, since a blocked
// connection is of no use to anybody else.
type Waiter struct {
	rdb  redis.UniversalClient
	own  bool // rdb was made for this
	keys []string
	// prefix is cut off the key a call came from.
	prefix string
	atMost time.Duration
}

// waitAtMost bounds one blocking call: a call may get lost with the process that
// took it, and go-redis heeds no cancelled context inside one. Where what a call is
// about is looked for anyway, and a connection is ours to close, it may last longer.
const (
	waitAtMost = time.Second
	waitLonger = 5 * time.Second
)

// PromoterWaiter waits for a new head of the delayed set.
func (s *Set) PromoterWaiter() *Waiter {
	return s.waiter(waitLonger, s.keys.name("wake_promoter"))
}

// waiter waits for at most atMost, or as long as a client that is not ours allows.
func (s *Set) waiter(atMost time.Duration, keys ...string) *Waiter {
	rdb, own := blocking(s.rdb, atMost)
	if !own {
		atMost = waitAtMost
	}
	return &Waiter{rdb: rdb, own: own, keys: keys, atMost: atMost}
}

// QueueWaiter waits for jobs in queues.
func (s *Set) QueueWaiter(queues []string) *Waiter {
	w := s.waiter(waitAtMost)
	w.prefix = s.keys.name("wake")
	for _, queue := range queues {
		w.keys = append(w.keys, w.prefix+queue)
	}
	return w
}

// WorkerWaiter waits for calls to one worker about a job of its that is to be
// cancelled.
func (s *Set) WorkerWaiter(worker string) *Waiter {
	return s.waiter(waitLonger, s.keys.name("wake_worker")+worker)
}

// Wait returns the next call: its queue, empty for one to a worker or to the
// promoter, and its content. ok is false when none came in time.
func (w *Waiter) Wait(ctx context.Context) (queue, content string, ok bool, err error) {
	args := make([]any, 0, len(w.keys)+2)
	args = append(args, "blpop")
	for _, key := range w.keys {
		args = append(args, key)
	}
	// Not BLPop, which waits ten seconds longer for the answer of a server that
	// has vanished: the client's own read timeout holds.
	cmd := redis.NewStringSliceCmd(ctx, append(args, int(w.atMost/time.Second))...)
	err = w.rdb.Process(ctx, cmd)
	if errors.Is(err, redis.Nil) {
		return "", "", false, nil
	}
	if err != nil {
		return "", "", false, classify(err)
	}
	reply := cmd.Val()
	if len(reply) != 2 {
		return "", "", false, nil
	}
	if w.prefix != "" && len(reply[0]) > len(w.prefix) && reply[0][:len(w.prefix)] == w.prefix {
		queue = reply[0][len(w.prefix):]
	}
	return queue, reply[1], true, nil
}

// Close drops the connections, which ends a Wait in progress.
func (w *Waiter) Close() {
	if w.own {
		_ = w.rdb.Close()
	}
}

// blocking returns a client for the same server with a pool of its own, or the
// client itself if it is of a kind that cannot be copied.
func blocking(rdb redis.UniversalClient, atMost time.Duration) (client redis.UniversalClient, own bool) {
	switch c := rdb.(type) {
	case *redis.Client:
		o := *c.Options()
		o.PoolSize, o.MinIdleConns, o.MaxIdleConns, o.MaxRetries, o.ReadTimeout = 2, 0, 2, -1, atMost+2*time.Second
		o.PushNotificationProcessor, o.MaintNotificationsConfig = nil, noMaintenance()
		return redis.NewClient(&o), true
	case *redis.ClusterClient:
		o := *c.Options()
		o.PoolSize, o.MinIdleConns, o.MaxIdleConns, o.ReadTimeout = 2, 0, 2, atMost+2*time.Second
		o.PushNotificationProcessor, o.MaintNotificationsConfig = nil, noMaintenance()
		return redis.NewClusterClient(&o), true
	}
	return rdb, false
}

// noMaintenance keeps a copied client from registering its push handlers a second
// time with the original's processor.
func noMaintenance() *maintnotifications.Config {
	return &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
}
