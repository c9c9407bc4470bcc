package app

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/bide-go/bide/job"
)

// errPolicyUnknown says that Redis does not tell its eviction policy.
var errPolicyUnknown = errors.New("redis does not tell its maxmemory-policy")

// checkEviction warns of a Redis that may throw jobs away when its memory is full,
// or refuses it if the operator asked for that. An error that is Away means that
// Redis could not be asked.
func (s *service) checkEviction(ctx context.Context) error {
	if s.opts.embedded {
		return nil // it has no limit
	}
	policy, err := evictionPolicy(ctx, s.opts.Redis, s.opts.Namespace)
	const next = "set maxmemory-policy noeviction: bide then refuses new jobs when memory is full, and loses none"
	switch {
	case err == nil && policy == "noeviction":
		return nil
	case s.opts.StrictRedis && err != nil:
		return fmt.Errorf("strict redis: %w", err)
	case s.opts.StrictRedis:
		return fmt.Errorf("strict redis: maxmemory-policy is %q: Redis may throw away jobs when its memory is full; %s", policy, next)
	case err == nil:
		s.opts.Log.Warn().Str("maxmemory_policy", policy).Str("hint", next).Msg("redis may throw away jobs when its memory is full")
	}
	return nil
}

// evictionPolicy asks the server, in a cluster the one that holds the namespace.
// Managed ones often forbid CONFIG; INFO tells it as well.
func evictionPolicy(ctx context.Context, rdb redis.UniversalClient, namespace string) (string, error) {
	if cluster, ok := rdb.(*redis.ClusterClient); ok {
		node, err := cluster.MasterForKey(ctx, "{"+namespace+"}")
		if err != nil {
			return "", err
		}
		rdb = node
	}
	found, err := rdb.ConfigGet(ctx, "maxmemory-policy").Result()
	if policy := found["maxmemory-policy"]; err == nil && policy != "" {
		return policy, nil
	}
	info, err := rdb.Info(ctx, "memory").Result()
	for line := range strings.Lines(info) {
		if policy, ok := strings.CutPrefix(strings.TrimSpace(line), "maxmemory_policy:"); ok {
			return policy, nil
		}
	}
	var reply redis.Error
	if err != nil && !errors.As(err, &reply) {
		return "", fmt.Errorf("%w: %w", job.ErrUnavailable, err)
	}
	return "", errPolicyUnknown
}
