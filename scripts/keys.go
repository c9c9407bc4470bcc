package scripts

import "sort"

// Layout is the version of the key layout and of the encodings in it. A binary
// refuses a namespace whose layout is newer than its own.
const Layout = 2

// suffixes names every key of a namespace; those that end in ":" are prefixes.
// Nothing else makes key names.
var suffixes = map[string]string{
	"job":           "job:",     // STRING a job: what never changes
	"run":           "run:",     // HASH   a job: what changes
	"errors":        "errors:",  // LIST   a job: its last failures
	"delayed":       "delayed",  // ZSET   <arrival>:<queue>:<id> -> due
	"queue":         "queue:",   // LIST   a lane: <arrival>:<queue>:<id>
	"active":        "active",   // ZSET   id -> lease expiry
	"lease":         "lease",    // HASH   id -> lease
	"dead":          "dead",     // ZSET   id -> time of death
	"finished":      "finished", // ZSET   id -> time to delete
	"expiry":        "expiry",   // ZSET   id -> expiry, until the job is started
	"ghosts":        "ghosts",   // HASH   lane entry of an ended job -> lane
	"unique":        "unique:",  // STRING id that holds the unique key
	"counts":        "counts",   // HASH   counters
	"queues":        "queues",   // HASH   queue in use -> pause note
	"wake":          "wake:",    // LIST   a queue's wake-up call, at most one
	"wake_promoter": "wake@promoter",
	"wake_worker":   "wake@worker:",
	"meta":          "meta",       // HASH   layout, revision of the schedules
	"beats":         "beats",      // HASH   role -> last heartbeat
	"workers":       "workers",    // ZSET   live process -> last heartbeat
	"worker":        "worker:",    // HASH   what a live process is and does
	"names":         "names",      // ZSET   <queue> <name> that a live process takes -> its last heartbeat
	"schedules":     "schedules",  // HASH   name -> applied definition
	"schedule":      "schedule:",  // HASH   a schedule: cursor and results
	"planned":       "planned:",   // ZSET   a schedule: planned tick's id -> tick
	"open":          "open:",      // ZSET   a schedule: open run's id -> due, negative if it makes up for the past
	"held":          "held:",      // ZSET   a schedule: due run that waits for an open one -> due
	"makeup":        "makeup:",    // ZSET   a schedule: waiting run that makes up for the past -> due
	"succeeded":     "succeeded:", // ZSET  a schedule: record of a completed run -> due
	"failed":        "failed:",    // ZSET   a schedule: record of another run or missed tick -> due
	"backfill":      "backfill:",  // STRING a backfill: how many of its jobs have been made
	"events":        "events",     // STREAM what happened, capped
	"inbox":         "inbox",      // ZSET   jobs from any Redis client -> due
	"rejected":      "rejected",   // STREAM what no job could be made of, capped
}

// keys makes the key names of one namespace. The hash tag keeps all of them in
// one cluster slot.
type keys struct{ namespace string }

func (k keys) name(word string) string {
	suffix, ok := suffixes[word]
	if !ok {
		panic("scripts: no key is called " + word)
	}
	return "{" + k.namespace + "}:" + suffix
}

// words lists the names that scripts may use after "K.", sorted.
func words() []string {
	list := make([]string, 0, len(suffixes))
	for word := range suffixes {
		list = append(list, word)
	}
	sort.Strings(list)
	return list
}
