package cli

import (
	"context"
	"errors"

	"github.com/bide-go/bide/scripts"
)

// checks are all checks, in the order they are shown.
var checks = []struct {
	name string
	do   func(*examination, context.Context) (finding, error)
}{
	{"redis.reachable", (*examination).reachable},
	{"redis.version", (*examination).version},
	{"redis.eviction", (*examination).eviction},
	{"redis.persistence", (*examination).persistence},
	{"redis.latency", (*examination).latency},
	{"clock.skew", (*examination).clockSkew},
	{zonesCheck, (*examination).zones},
	{"promoter.beat", (*examination).promoterBeat},
	{"scheduler.beat", (*examination).schedulerBeat},
	{"workers.names", (*examination).workerNames},
	{"workers.queues", (*examination).workerQueues},
	{"schedules.load", (*examination).schedulesLoad},
	{"inbox.rejected", (*examination).inboxRejected},
	{"jobs.orphans", (*examination).jobsOrphans},
	{"audit.gap", (*examination).auditGap},
	{"schedules.paused", (*examination).schedulesPaused},
}

// zonesCheck needs no Redis.
const zonesCheck = "zones.embedded"

// examination is one run of the doctor.
type examination struct {
	source
	where     string // the Redis, for people
	namespace string
	fix       bool // repair what can be
	// unasked is why Redis was not asked at all, if it was not.
	unasked error
	// err is what kept Redis from answering on the way, or from letting us in.
	err error

	// What several checks need is read once.
	infoOnce  once[map[string]string]
	statsOnce once[scripts.Stats]
	liveOnce  once[liveness]
}

// once is a fact, or the error that came instead of it.
type once[T any] struct {
	known bool
	fact  T
	err   error
}

func (o *once[T]) get(ctx context.Context, ask func(context.Context) (T, error)) (T, error) {
	if !o.known {
		o.fact, o.err = ask(ctx)
		o.known = true
	}
	return o.fact, o.err
}

// all runs every check. Once Redis has stopped answering it is not asked again.
func (e *examination) all(ctx context.Context) []finding {
	away := e.unasked
	var findings []finding
	for _, check := range checks {
		var f finding
		switch {
		case away == nil || check.name == zonesCheck:
			var err error
			if f, err = check.do(e, ctx); err != nil {
				f = unread(err)
				if !cannotAsk(err) && (scripts.Away(err) || !redisAnswered(err)) {
					away, e.err = err, err
				}
			}
		case check.name == "redis.reachable":
			f = unreached(away)
		default:
			f = finding{Status: warns, Detail: "not checked: Redis does not answer", Hint: "see redis.reachable"}
			if e.unasked != nil && redisAnswered(e.unasked) {
				f.Detail = "not checked: Redis does not let us"
			}
		}
		f.Check = check.name
		findings = append(findings, f)
	}
	return findings
}

// unreached is the finding of redis.reachable when nothing could be asked.
func unreached(err error) finding {
	_, next := judge(err)
	return finding{Status: failed, Detail: err.Error(), Hint: text(next)}
}

// unread is the finding of a check that could not get its facts.
func unread(err error) finding {
	switch {
	case errors.Is(err, errNotTold):
		return finding{Status: warns, Detail: "cannot be asked: " + err.Error(), Hint: "look it up where this Redis is managed"}
	case cannotAsk(err):
		return finding{Status: warns, Detail: "cannot be asked: " + err.Error(), Hint: "allow this user the command, or look it up where this Redis is managed"}
	case scripts.Away(err), !redisAnswered(err):
		return finding{Status: failed, Detail: err.Error(), Hint: whereIsRedis}
	}
	return finding{Status: failed, Detail: "cannot be read: " + err.Error(), Hint: "something else than bide has written to its keys: find out what stands there, and remove or rename it"}
}
