package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
	_ "time/tzdata" // zones.embedded: whoever runs these commands has the zones

	"github.com/redis/go-redis/v9"

	"github.com/bide-go/bide/internal/clock"
	"github.com/bide-go/bide/job"
	"github.com/bide-go/bide/scripts"
)

// source is where the doctor gets its facts.
type source struct {
	write         func(context.Context) error
	info          func(context.Context) (map[string]string, error)
	config        func(ctx context.Context, name string) (string, error)
	ping          func(context.Context) (time.Duration, error)
	spikes        func(context.Context) ([]spike, error)
	skew          func(context.Context) (skew, doubt time.Duration, err error)
	stats         func(context.Context) (scripts.Stats, error)
	workers       func(context.Context) ([]scripts.Worker, error)
	unserved      func(context.Context, []scripts.Worker, []scripts.QueueStats) (scripts.Unserved, error)
	definitions   func(context.Context) ([]scripts.Applied, error)
	progress      func(ctx context.Context, names []string) (scripts.Progresses, error)
	lastRejection func(context.Context) (scripts.Rejection, bool, error)
	orphans       func(ctx context.Context, most int) (scripts.Orphans, error)
	repair        func(ctx context.Context, most int) (scripts.Repairs, scripts.Orphans, error)
	audit         func(context.Context) (scripts.Sum, error)
	zone          func(name string) error
}

// spike is a long wait that Redis noted of itself.
type spike struct {
	event string
	at    time.Time
	took  time.Duration
}

// sourceOf asks the Redis, in a cluster the node, that holds the namespace.
func sourceOf(c *conn) source {
	asker := &redisSource{rdb: c.rdb, namespace: c.set.Namespace()}
	return source{
		write: c.set.Probe,
		info:  asker.info, config: asker.config, ping: asker.ping, spikes: asker.spikes, skew: asker.skew,
		stats: c.set.Stats, workers: c.set.Workers, unserved: c.set.FindUnserved, definitions: c.set.Definitions,
		progress: c.set.Progress, lastRejection: c.set.LastRejection, orphans: c.set.FindOrphans, repair: c.set.RepairAll, audit: c.set.Audit,
		zone: loadZone,
	}
}

func loadZone(name string) error {
	_, err := time.LoadLocation(name)
	return err
}

type redisSource struct {
	rdb       redis.UniversalClient
	namespace string
}

// node is the server that holds the namespace.
func (r *redisSource) node(ctx context.Context) (redis.UniversalClient, error) {
	cluster, ok := r.rdb.(*redis.ClusterClient)
	if !ok {
		return r.rdb, nil
	}
	node, err := cluster.MasterForKey(ctx, "{"+r.namespace+"}")
	return node, noAnswer(err)
}

// noAnswer marks an error that is no answer of Redis as what it is.
func noAnswer(err error) error {
	if err == nil || redisAnswered(err) {
		return err
	}
	return fmt.Errorf("%w: %w", job.ErrUnavailable, err)
}

// errNotTold says that Redis answered, but not to the question.
var errNotTold = errors.New("redis does not tell")

// cannotAsk reports whether Redis does not answer such a question, or not to us:
// the embedded Redis lacks commands, and managed ones forbid some.
func cannotAsk(err error) bool {
	if errors.Is(err, errNotTold) || redis.HasErrorPrefix(err, "NOPERM") {
		return true
	}
	if !redisAnswered(err) {
		return false
	}
	words := strings.ToLower(err.Error())
	for _, part := range []string{"unknown command", "unknown subcommand", "not supported", "not allowed", "disabled"} {
		if strings.Contains(words, part) {
			return true
		}
	}
	return false
}

func (r *redisSource) info(ctx context.Context) (map[string]string, error) {
	node, err := r.node(ctx)
	if err != nil {
		return nil, err
	}
	reply, err := node.Info(ctx).Result()
	if err != nil {
		return nil, noAnswer(err)
	}
	facts := map[string]string{}
	for line := range strings.Lines(reply) {
		if key, value, ok := strings.Cut(strings.TrimSpace(line), ":"); ok && !strings.HasPrefix(key, "#") {
			facts[key] = value
		}
	}
	return facts, nil
}

func (r *redisSource) config(ctx context.Context, name string) (string, error) {
	node, err := r.node(ctx)
	if err != nil {
		return "", err
	}
	found, err := node.ConfigGet(ctx, name).Result()
	if err != nil {
		return "", noAnswer(err)
	}
	value, ok := found[name]
	if !ok {
		return "", errNotTold
	}
	return value, nil
}

func (r *redisSource) ping(ctx context.Context) (time.Duration, error) {
	node, err := r.node(ctx)
	if err != nil {
		return 0, err
	}
	start := clock.Now()
	err = node.Ping(ctx).Err()
	return clock.Since(start), noAnswer(err)
}

func (r *redisSource) spikes(ctx context.Context) ([]spike, error) {
	node, err := r.node(ctx)
	if err != nil {
		return nil, err
	}
	reply, err := node.Do(ctx, "latency", "latest").Slice()
	if err != nil {
		return nil, noAnswer(err)
	}
	var spikes []spike
	for _, entry := range reply {
		list, _ := entry.([]any)
		if len(list) < 3 {
			continue
		}
		event, _ := list[0].(string)
		at, _ := list[1].(int64)
		ms, _ := list[2].(int64)
		spikes = append(spikes, spike{event, time.Unix(at, 0), time.Duration(ms) * time.Millisecond})
	}
	return spikes, nil
}

// skew is how far Redis' clock is ahead of this host's, and how wrong that may be.
// Of a few readings the quickest is the best.
func (r *redisSource) skew(ctx context.Context) (skew, doubt time.Duration, err error) {
	node, err := r.node(ctx)
	if err != nil {
		return 0, 0, err
	}
	for i := range 5 {
		start := clock.Now()
		at, err := node.Time(ctx).Result()
		took := clock.Since(start)
		if err != nil {
			return 0, 0, noAnswer(err)
		}
		if i == 0 || took/2 < doubt {
			skew, doubt = at.Sub(start.Add(took/2)), took/2
		}
	}
	return skew, doubt, nil
}
