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
}

// waitAtMost bounds one blocking call: a call may get lost with the process that
// took it, and go-redis heeds no cancelled context inside one.
const waitAtMost = time.Second

// PromoterWaiter waits for a new head of the delayed set.
func (s *Set) PromoterWaiter() *Waiter {
	rdb, own := blocking(s.rdb)
	return &Waiter{rdb: rdb, own: own, keys: []string{s.keys.name("wake_promoter")}}
}

// QueueWaiter waits for jobs in queues.
func (s *Set) QueueWaiter(queues []string) *Waiter {
	rdb, own := blocking(s.rdb)
	w := &Waiter{rdb: rdb, own: own, prefix: s.keys.name("wake")}
	for _, queue := range queues {
		w.keys = append(w.keys, w.prefix+queue)
	}
	return w
}

// WorkerWaiter waits for calls to one worker about a job of its that is to be
// cancelled.
func (s *Set) WorkerWaiter(worker string) *Waiter {
	rdb, own := blocking(s.rdb)
	return &Waiter{rdb: rdb, own: own, keys: []string{s.keys.name("wake_worker") + worker}}
}

// Wait returns the next call: its queue, empty for one to a worker or to the
// promoter, and its content. ok is false when none came within a second.
func (w *Waiter) Wait(ctx context.Context) (queue, content string, ok bool, err error) {
	args := make([]any, 0, len(w.keys)+2)
	args = append(args, "blpop")
	for _, key := range w.keys {
		args = append(args, key)
	}
	// Not BLPop, which waits ten seconds longer for the answer of a server that
	// has vanished: the client's own read timeout holds.
	cmd := redis.NewStringSliceCmd(ctx, append(args, int(waitAtMost/time.Second))...)
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
func blocking(rdb redis.UniversalClient) (client redis.UniversalClient, own bool) {
	switch c := rdb.(type) {
	case *redis.Client:
		o := *c.Options()
		o.PoolSize, o.MinIdleConns, o.MaxIdleConns, o.MaxRetries, o.ReadTimeout = 2, 0, 2, -1, waitAtMost+2*time.Second
		o.PushNotificationProcessor, o.MaintNotificationsConfig = nil, noMaintenance()
		return redis.NewClient(&o), true
	case *redis.ClusterClient:
		o := *c.Options()
		o.PoolSize, o.MinIdleConns, o.MaxIdleConns, o.ReadTimeout = 2, 0, 2, waitAtMost+2*time.Second
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
