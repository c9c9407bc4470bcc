package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bide-go/bide/job"
	"github.com/bide-go/bide/scripts"
)

// answer is an error that Redis answered with.
type answer string

func (a answer) Error() string { return string(a) }
func (answer) RedisError()     {}

var (
	forbidden = answer("NOPERM this user has no permissions to run the command")
	lacking   = answer("ERR unknown command 'CONFIG', with args beginning with:")
	wrongType = answer("WRONGTYPE Operation against a key holding the wrong kind of value")
)

var doctorNow = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

// patient is a Redis and a namespace with nothing wrong, to be made ill.
type patient struct {
	source
	facts   map[string]string
	config  map[string]string
	s       scripts.Stats
	live    []scripts.Worker
	waits   scripts.Unserved
	applied []scripts.Applied
	held    []scripts.Progress
	orphan  scripts.Orphans
	pings   []time.Duration
	ahead   time.Duration
	spike   []spike
	reject  *scripts.Rejection
	sum     scripts.Sum

	fix       bool
	mended    scripts.Repairs
	repairErr error
}

func healthy() *patient {
	p := &patient{
		facts: map[string]string{
			"redis_version": "7.0.15", "maxmemory": "0", "maxmemory_policy": "noeviction", "aof_enabled": "1",
			"aof_last_write_status": "ok", "rdb_last_bgsave_status": "ok", "connected_slaves": "0",
		},
		config: map[string]string{
			"maxmemory": "0", "maxmemory-policy": "noeviction", "appendonly": "yes", "appendfsync": "everysec", "save": "3600 1 300 100",
		},
		s: scripts.Stats{Now: doctorNow, PromoterBeat: doctorNow.Add(-time.Second), SchedulerBeat: doctorNow.Add(-time.Second), Schedules: 1,
			Sum: scripts.Sum{Created: 3, Delayed: 1, Waiting: 2}},
		live:    []scripts.Worker{{ID: "w1", Fields: map[string]string{"names": "log mail", "queues": "high low"}}},
		applied: []scripts.Applied{{Name: "nightly", Definition: `{"name":"nightly","schedule":["30 1 * * *"],"timeZone":"Europe/Berlin","queue":"high","job":"log"}`}},
		orphan:  scripts.Orphans{Whole: true, Looked: 6},
		pings:   []time.Duration{300 * time.Microsecond},
		sum:     scripts.Sum{Created: 3, Delayed: 1, Waiting: 2},
	}
	n := 0
	p.source = source{
		write: func(context.Context) error { return nil },
		info:  func(context.Context) (map[string]string, error) { return p.facts, nil },
		ping: func(context.Context) (time.Duration, error) {
			n++
			return p.pings[n%len(p.pings)], nil
		},
		spikes:      func(context.Context) ([]spike, error) { return p.spike, nil },
		skew:        func(context.Context) (time.Duration, time.Duration, error) { return p.ahead, time.Millisecond, nil },
		stats:       func(context.Context) (scripts.Stats, error) { return p.s, nil },
		workers:     func(context.Context) ([]scripts.Worker, error) { return p.live, nil },
		definitions: func(context.Context) ([]scripts.Applied, error) { return p.applied, nil },
		orphans:     func(context.Context, int) (scripts.Orphans, error) { return p.orphan, nil },
		audit:       func(context.Context) (scripts.Sum, error) { return p.sum, nil },
		zone:        loadZone,
		progress: func(context.Context, []string) (scripts.Progresses, error) {
			return scripts.Progresses{Now: doctorNow, Schedules: p.held}, nil
		},
		lastRejection: func(context.Context) (scripts.Rejection, bool, error) { return scripts.Rejection{}, false, nil },
	}
	p.unserved = func(context.Context, []scripts.Worker, []scripts.QueueStats) (scripts.Unserved, error) {
		return p.waits, nil
	}
	p.repair = func(context.Context, int) (scripts.Repairs, scripts.Orphans, error) {
		return p.mended, p.orphan, p.repairErr
	}
	p.source.config = func(_ context.Context, name string) (string, error) {
		value, ok := p.config[name]
		if !ok {
			return "", errNotTold
		}
		return value, nil
	}
	return p
}

func (p *patient) examine() (*examination, []finding) {
	if r := p.reject; r != nil {
		p.s.Rejected = 2
		p.lastRejection = func(context.Context) (scripts.Rejection, bool, error) { return *r, true, nil }
	}
	e := &examination{source: p.source, where: "redis://test", namespace: "bide", fix: p.fix}
	return e, e.all(context.Background())
}

func (p *patient) noConfig(err error) {
	p.source.config = func(context.Context, string) (string, error) { return "", err }
}

func TestNothingIsWrongWithAHealthyOne(t *testing.T) {
	e, findings := healthy().examine()
	if e.err != nil || len(findings) != len(checks) {
		t.Errorf("%v, %d findings", e.err, len(findings))
	}
	for _, f := range findings {
		if f.Status != fine || f.Hint != "" || f.Detail == "" {
			t.Errorf("%+v", f)
		}
	}
}

func TestWhatTheDoctorFinds(t *testing.T) {
	complains := map[string]bool{}
	for _, tt := range []struct {
		name   string
		ill    func(p *patient)
		check  string
		status status
		detail string
	}{
		{"full", func(p *patient) { p.write = failing(answer("OOM command not allowed when used memory > 'maxmemory'.")) }, "redis.reachable", failed, "takes no writes: OOM"},
		{"replica", func(p *patient) {
			p.write = failing(fmt.Errorf("probe: %w: %w", job.ErrUnavailable, answer("READONLY You can't write against a read only replica.")))
		}, "redis.reachable", failed, "takes no writes"},
		{"disk", func(p *patient) { p.write = failing(answer("MISCONF Redis is configured to save RDB snapshots")) }, "redis.reachable", failed, "MISCONF"},
		{"replicas", func(p *patient) { p.write = failing(answer("NOREPLICAS Not enough good replicas to write.")) }, "redis.reachable", failed, "NOREPLICAS"},
		{"not let in", func(p *patient) { p.write = failing(forbidden) }, "redis.reachable", failed, "NOPERM"},

		{"too old", func(p *patient) { p.facts["redis_version"] = "6.0.16" }, "redis.version", failed, "Redis 6.0.16 is too old"},
		{"very old", func(p *patient) { p.facts["redis_version"] = "5.0.14" }, "redis.version", failed, "too old"},
		{"old enough", func(p *patient) { p.facts["redis_version"] = "6.2.0" }, "redis.version", fine, "Redis 6.2.0"},
		{"two digits", func(p *patient) { p.facts["redis_version"] = "10.0" }, "redis.version", fine, "Redis 10.0"},
		{"valkey", func(p *patient) { p.facts["redis_version"], p.facts["valkey_version"] = "7.2.4", "8.1.0" }, "redis.version", fine, "Valkey 8.1.0, which speaks Redis 7.2.4"},
		{"odd version", func(p *patient) { p.facts["redis_version"] = "unstable" }, "redis.version", warns, "no version that can be compared"},
		{"no INFO", func(p *patient) { p.noInfo(forbidden) }, "redis.version", warns, "cannot be asked: NOPERM"},
		{"embedded", func(p *patient) { p.facts = map[string]string{"total_connections_received": "1"} }, "redis.version", fine, "embedded"},

		{"allkeys", func(p *patient) { p.config["maxmemory-policy"], p.config["maxmemory"] = "allkeys-lru", "100" }, "redis.eviction", failed, "may throw away jobs when its memory is full"},
		{"allkeys without a limit", func(p *patient) { p.config["maxmemory-policy"] = "allkeys-lfu" }, "redis.eviction", failed, "though no maxmemory is set"},
		{"volatile", func(p *patient) { p.config["maxmemory-policy"] = "volatile-lru" }, "redis.eviction", warns, "keys that expire"},
		{"eviction by INFO", func(p *patient) { p.noConfig(lacking) }, "redis.eviction", fine, "noeviction (from INFO"},
		{"bad eviction by INFO", func(p *patient) { p.noConfig(forbidden); p.facts["maxmemory_policy"] = "allkeys-random" }, "redis.eviction", failed, "allkeys-random"},
		{"nothing tells of eviction", func(p *patient) { p.noConfig(forbidden); delete(p.facts, "maxmemory_policy") }, "redis.eviction", warns, "cannot be asked"},
		{"CONFIG says nothing", func(p *patient) {
			p.noConfig(errNotTold)
			delete(p.facts, "maxmemory_policy")
		}, "redis.eviction", warns, "redis does not tell"},
		{"embedded eviction", func(p *patient) { p.facts = nil; p.noConfig(lacking) }, "redis.eviction", fine, "embedded"},

		{"always", func(p *patient) { p.config["appendfsync"], p.config["save"] = "always", "" }, "redis.persistence", fine, "loses nothing that was acknowledged"},
		{"every second", func(*patient) {}, "redis.persistence", fine, "in the last second or two; it also makes snapshots"},
		{"whenever", func(p *patient) { p.config["appendfsync"] = "no" }, "redis.persistence", warns, "when the system likes"},
		{"snapshots", func(p *patient) { p.config["appendonly"] = "no" }, "redis.persistence", warns, "snapshots only (after 3600 s with 1 changes, after 300 s with 100 changes)"},
		{"none", func(p *patient) { p.config["appendonly"], p.config["save"] = "no", "" }, "redis.persistence", warns, "none: a crash or restart of Redis loses every job"},
		{"AOF fails", func(p *patient) { p.facts["aof_last_write_status"] = "err" }, "redis.persistence", failed, "append-only file failed"},
		{"snapshot fails", func(p *patient) { p.facts["rdb_last_bgsave_status"] = "err" }, "redis.persistence", failed, "snapshot failed"},
		{"replicated", func(p *patient) { p.facts["connected_slaves"] = "2" }, "redis.persistence", fine, "a failover can lose"},
		{"AOF by INFO", func(p *patient) { p.noConfig(forbidden) }, "redis.persistence", warns, "how often it is synced is not told"},
		{"no AOF by INFO", func(p *patient) { p.noConfig(lacking); p.facts["aof_enabled"] = "0" }, "redis.persistence", warns, "or every job if it makes none (from INFO"},
		{"embedded persistence", func(p *patient) { p.facts = nil }, "redis.persistence", fine, "embedded"},

		{"slow", func(p *patient) { p.pings = []time.Duration{30 * time.Millisecond} }, "redis.latency", warns, "PING takes 30ms"},
		{"slow once", func(p *patient) { p.pings = append(make([]time.Duration, 19), 200*time.Millisecond) }, "redis.latency", fine, "at worst 200ms"},
		{"stood still", func(p *patient) { p.spike = []spike{{"fork", doctorNow.Add(-5 * time.Minute), 2 * time.Second}} }, "redis.latency", warns, "5m ago Redis stood still for 2s (fork)"},
		{"stood still long ago", func(p *patient) { p.spike = []spike{{"fork", doctorNow.Add(-5 * time.Hour), 2 * time.Second}} }, "redis.latency", fine, ""},
		{"LATENCY is forbidden", func(p *patient) { p.spikes = func(context.Context) ([]spike, error) { return nil, forbidden } }, "redis.latency", fine, ""},

		{"behind", func(p *patient) { p.ahead = 90 * time.Second }, "clock.skew", warns, "this host's clock is 1m30s behind Redis'"},
		{"ahead", func(p *patient) { p.ahead = -2300 * time.Millisecond }, "clock.skew", warns, "2.3s ahead of Redis'"},
		{"a little", func(p *patient) { p.ahead = 40 * time.Millisecond }, "clock.skew", fine, "40ms behind"},

		{"no zones", func(p *patient) { p.zone = func(string) error { return errors.New("unknown time zone") } }, "zones.embedded", failed, "unknown time zone"},

		{"no promoter", func(p *patient) { p.s.PromoterBeat = time.Time{} }, "promoter.beat", failed, "no promoter has ever run: 1 job will not become due"},
		{"inbox without promoter", func(p *patient) { p.s.PromoterBeat, p.s.Sum.Delayed, p.s.Inbox = time.Time{}, 0, 2 }, "promoter.beat", failed, "2 jobs will not"},
		{"promoter gone", func(p *patient) { p.s.PromoterBeat = doctorNow.Add(-2 * time.Hour) }, "promoter.beat", failed, "heard of for 2h"},
		{"promoter gone, nothing to do", func(p *patient) { p.s.PromoterBeat, p.s.Sum = doctorNow.Add(-2*time.Hour), scripts.Sum{} }, "promoter.beat", warns, "heard of for 2h"},
		{"promoter late", func(p *patient) { p.s.PromoterBeat = doctorNow.Add(-30 * time.Second) }, "promoter.beat", warns, "30s ago"},

		{"no scheduler", func(p *patient) { p.s.SchedulerBeat = time.Time{} }, "scheduler.beat", failed, "1 schedule will not be planned"},
		{"no scheduler needed", func(p *patient) { p.s.SchedulerBeat, p.s.Schedules = time.Time{}, 0 }, "scheduler.beat", fine, "no schedules are applied"},
		{"scheduler gone", func(p *patient) { p.s.SchedulerBeat, p.s.Schedules = doctorNow.Add(-3*24*time.Hour), 0 }, "scheduler.beat", warns, "heard of for 3d"},
		{"scheduler late", func(p *patient) { p.s.SchedulerBeat = doctorNow.Add(-15 * time.Second) }, "scheduler.beat", warns, "15s ago"},

		{"unhandled", func(p *patient) { p.waits.Names = []scripts.Count{{Name: "sms", Jobs: 1200}} }, "workers.names", warns, "no live process handles sms (1,200 jobs)"},
		{"many unhandled", func(p *patient) {
			for i := range 7 {
				p.waits.Names = append(p.waits.Names, scripts.Count{Name: fmt.Sprint("n", i), Jobs: 1})
			}
		}, "workers.names", warns, "n4 (1 job), and 2 more"},
		{"no workers", func(p *patient) { p.live = nil }, "workers.queues", failed, "no live process takes jobs, and 2 jobs wait"},
		{"no workers needed", func(p *patient) { p.live, p.s.Sum.Waiting = nil, 0 }, "workers.queues", warns, "no live process takes jobs"},
		{"paused itself", func(p *patient) {
			p.held = []scripts.Progress{
				{Name: "nightly", PausedAt: doctorNow, PausedBy: scripts.PausedItself, PausedReason: "3 runs in a row ended dead"},
				{Name: "hooks", PausedAt: doctorNow, PausedBy: "ana", PausedReason: "db upgrade"},
			}
		}, "schedules.paused", warns, "1 schedule has paused itself: nightly (3 runs in a row ended dead)"},
		{"paused by an operator", func(p *patient) {
			p.held = []scripts.Progress{{Name: "nightly", PausedAt: doctorNow, PausedBy: "ana", PausedUntil: doctorNow.Add(time.Hour)}}
		}, "schedules.paused", fine, "1 schedule is paused by operators, none by failures"},
		{"resumed", func(p *patient) {
			p.held = []scripts.Progress{{Name: "nightly", PausedAt: doctorNow.Add(-time.Hour), PausedBy: scripts.PausedItself, PausedUntil: doctorNow}}
		}, "schedules.paused", fine, "no schedule is paused"},
		{"files not in effect", func(p *patient) {
			p.live = append(p.live, scripts.Worker{ID: "p-1", Fields: map[string]string{"host": "box", "pid": "7", "files": "refused as a whole: 1 error"}})
		}, "schedules.load", warns, "box:7: refused as a whole: 1 error"},
		{"unserved", func(p *patient) { p.waits.Queues = []scripts.Count{{Name: "custom", Jobs: 4}} }, "workers.queues", warns, "no live process serves custom (4 jobs)"},
		{"workers cannot be read", func(p *patient) {
			p.workers = func(context.Context) ([]scripts.Worker, error) { return nil, wrongType }
		}, "workers.names", failed, "cannot be read: WRONGTYPE"},

		{"none applied", func(p *patient) { p.applied = nil }, "schedules.load", fine, "no schedules are applied"},
		{"foreign definition", func(p *patient) { p.applied = append(p.applied, scripts.Applied{Name: "x", Definition: "{"}) }, "schedules.load", failed, "1 of 2 cannot be planned: x (unexpected end"},
		{"cron of another version", func(p *patient) {
			p.applied[0].Definition = `{"name":"nightly","schedule":["0 0 L * *"],"job":"log"}`
		}, "schedules.load", failed, "nightly ("},
		{"unknown zone", func(p *patient) {
			p.applied[0].Definition = `{"name":"nightly","schedule":["0 0 * * *"],"timeZone":"Mars/Base","job":"log"}`
		}, "schedules.load", failed, "Mars/Base"},
		{"another's definition", func(p *patient) { p.applied[0].Name = "other" }, "schedules.load", failed, `its definition is that of "nightly"`},

		{"rejected", func(p *patient) { p.reject = &scripts.Rejection{At: doctorNow.Add(-time.Minute), Reason: "not JSON"} }, "inbox.rejected", warns, "2 rejections are kept, the last one of 1m ago: not JSON"},
		{"rejected long ago", func(p *patient) {
			p.reject = &scripts.Rejection{At: doctorNow.Add(-48 * time.Hour), Reason: "not JSON"}
		}, "inbox.rejected", fine, "2d ago"},

		{"placeless", func(p *patient) { p.orphan.Found = []scripts.Orphan{{Kind: scripts.Placeless, ID: "a"}} }, "jobs.orphans", failed, "1 job that stands nowhere (a) among all entries"},
		{"bodiless", func(p *patient) {
			p.orphan.Found = []scripts.Orphan{{Kind: scripts.Bodiless, ID: "a"}, {Kind: scripts.Bodiless, ID: "b"}}
		}, "jobs.orphans", warns, "2 entries without the body of a job (a, b)"},
		{"unleased", func(p *patient) { p.orphan.Found = []scripts.Orphan{{Kind: scripts.Unleased, ID: "a"}} }, "jobs.orphans", warns, "without a lease"},
		{"idle", func(p *patient) { p.orphan.Found = []scripts.Orphan{{Kind: scripts.Idle, ID: "a"}} }, "jobs.orphans", warns, "without an active entry"},
		{"in two places", func(p *patient) { p.orphan.Found = []scripts.Orphan{{Kind: scripts.Doubled, ID: "a"}} }, "jobs.orphans", failed, "1 job that stands in two places (a)"},
		{"unlisted", func(p *patient) { p.orphan.Found = []scripts.Orphan{{Kind: scripts.Unlisted, ID: "q"}} }, "jobs.orphans", failed, "1 queue that is not on the list (q)"},
		{"ghost", func(p *patient) { p.orphan.Found = []scripts.Orphan{{Kind: scripts.Ghost, ID: "a"}} }, "jobs.orphans", failed, "1 cancelled entry that is none (a)"},
		{"miscounted", func(p *patient) { p.orphan.Found = []scripts.Orphan{{Kind: scripts.Miscounted, ID: "l"}} }, "jobs.orphans", failed, "1 lane with a wrong count (l)"},
		{"leftover", func(p *patient) { p.orphan.Found = []scripts.Orphan{{Kind: scripts.Leftover, ID: "a"}} }, "jobs.orphans", warns, "1 entry of an earlier job (a)"},
		{"outlived", func(p *patient) { p.orphan.Found = []scripts.Orphan{{Kind: scripts.Outlived, ID: "a"}} }, "jobs.orphans", warns, "1 expiry of a job that has none (a)"},
		{"locked", func(p *patient) { p.orphan.Found = []scripts.Orphan{{Kind: scripts.Locked, ID: "u"}} }, "jobs.orphans", warns, "1 unique key of no live job (u)"},
		{"remains", func(p *patient) { p.orphan.Found = []scripts.Orphan{{Kind: scripts.Remains, ID: "a"}} }, "jobs.orphans", warns, "1 record of a job that has gone (a)"},
		{"past tick", func(p *patient) { p.orphan.Found = []scripts.Orphan{{Kind: scripts.Unplanned, ID: "a"}} }, "jobs.orphans", warns, "1 note of a past tick (a)"},
		{"vanished run", func(p *patient) { p.orphan.Found = []scripts.Orphan{{Kind: scripts.Vanished, ID: "a"}} }, "jobs.orphans", warns, "1 run of a schedule that has gone (a)"},
		{"repaired", func(p *patient) {
			p.fix, p.mended = true, scripts.Repairs{scripts.Idle: 2, scripts.Placeless: 1}
		}, "jobs.orphans", fine, "repaired 1 job that stands nowhere, 2 leases without an active entry; none left among all entries"},
		{"not all repaired", func(p *patient) {
			p.fix, p.mended = true, scripts.Repairs{scripts.Idle: 2}
			p.orphan.Found = []scripts.Orphan{{Kind: scripts.Placeless, ID: "a"}}
		}, "jobs.orphans", failed, "repaired 2 leases without an active entry; 1 job that stands nowhere (a) among all entries"},
		{"nothing to repair", func(p *patient) { p.fix = true }, "jobs.orphans", fine, "none among all entries"},
		{"full while repairing", func(p *patient) {
			p.fix, p.mended, p.repairErr = true, scripts.Repairs{scripts.Idle: 1}, answer("OOM command not allowed when used memory > 'maxmemory'.")
		}, "jobs.orphans", failed, "repaired 1 lease without an active entry; Redis takes no more writes: OOM"},
		{"too many to look at", func(p *patient) { p.orphan = scripts.Orphans{Looked: 20_000} }, "jobs.orphans", fine, "among the first 20,000 entries; there are more, and it stopped there"},

		{"gap", func(p *patient) { p.sum.Created++ }, "audit.gap", failed, "the gap is 1 and must be 0"},
	} {
		p := healthy()
		tt.ill(p)
		if tt.status != fine {
			complains[tt.check] = true
		}
		_, findings := p.examine()
		for _, f := range findings {
			if f.Check != tt.check {
				continue
			}
			if f.Status != tt.status || !strings.Contains(f.Detail, tt.detail) {
				t.Errorf("%s: %+v, want %s and %q", tt.name, f, tt.status, tt.detail)
			}
			if f.Status != fine && f.Hint == "" {
				t.Errorf("%s: no hint: %+v", tt.name, f)
			}
		}
	}
	for _, check := range checks {
		if !complains[check.name] {
			t.Errorf("no case makes %s complain", check.name)
		}
	}
}

// Every kind of orphan has words for people.
func TestOrphansHaveWords(t *testing.T) {
	var kinds []scripts.OrphanKind
	for _, w := range orphanTable {
		kinds = append(kinds, w.kind)
		if w.one == "" || w.more == "" || w.hint == "" {
			t.Errorf("%+v: words are missing", w)
		}
	}
	for _, kind := range scripts.OrphanKinds {
		if !slices.Contains(kinds, kind) {
			t.Errorf("no words for %s", kind)
		}
	}
}

func failing(err error) func(context.Context) error {
	return func(context.Context) error { return err }
}

func (p *patient) noInfo(err error) {
	p.info = func(context.Context) (map[string]string, error) { return nil, err }
}

func TestARedisThatStopsAnsweringIsNotAskedAgain(t *testing.T) {
	p := healthy()
	asked := 0
	p.stats = func(context.Context) (scripts.Stats, error) {
		asked++
		return scripts.Stats{}, fmt.Errorf("stats: %w", job.ErrUnavailable)
	}
	p.audit = func(context.Context) (scripts.Sum, error) { asked++; return scripts.Sum{}, nil }
	p.spikes = func(context.Context) ([]spike, error) { return nil, nil }
	e, findings := p.examine()
	if !errors.Is(e.err, job.ErrUnavailable) || asked != 1 {
		t.Errorf("%v, asked %d times", e.err, asked)
	}
	for _, f := range findings {
		switch f.Check {
		case "promoter.beat":
			if f.Status != failed {
				t.Errorf("%+v", f)
			}
		case "audit.gap", "jobs.orphans", "workers.names":
			if f.Status != warns || !strings.Contains(f.Detail, "not checked") {
				t.Errorf("%+v", f)
			}
		}
	}
}

func TestUserOfPauses(t *testing.T) {
	long := strings.Repeat("ü", 300)
	for name, want := range map[string]string{"ana": "ana", "a\xffb": "a\uFFFDb", long: long[:200]} {
		p := &program{env: Env{Getenv: getenv(map[string]string{"BIDE_USER": name})}}
		if got := p.caller(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	if got := (&program{env: Env{}.complete()}).caller(); !strings.Contains(got, "@") {
		t.Errorf("%q, want user@host", got)
	}
}

func TestConfirm(t *testing.T) {
	for _, tt := range []struct {
		answer   string
		terminal bool
		yes      bool
		want     int
	}{
		{"y\n", true, false, exitOK}, {"YES\n", true, false, exitOK}, {" yes ", true, false, exitOK},
		{"n\n", true, false, exitFailed}, {"\n", true, false, exitFailed}, {"", true, false, exitFailed}, {"yep\n", true, false, exitFailed},
		{"y\n", false, false, exitUsage}, {"", false, true, exitOK},
	} {
		var words bytes.Buffer
		p := &program{env: Env{Stdin: strings.NewReader(tt.answer), Stderr: &words, StdinTerminal: tt.terminal, StderrTerminal: true}.complete()}
		p.set.yes = tt.yes
		err := p.confirm(context.Background(), "delete 3 dead jobs")
		if got := p.report(err); got != tt.want {
			t.Errorf("%+v: exit code %d, want %d: %s", tt, got, tt.want, words.String())
		}
		if asked := strings.Contains(words.String(), "delete 3 dead jobs? [y/N] "); asked != (tt.terminal && !tt.yes) {
			t.Errorf("%+v: %q", tt, words.String())
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	p := &program{env: Env{Stdin: blocked{}, StdinTerminal: true, StderrTerminal: true}.complete()}
	if err := p.confirm(ctx, "do it"); p.report(err) != exitInterrupted {
		t.Errorf("%v, want it interrupted", err)
	}
}

type blocked struct{}

func (blocked) Read([]byte) (int, error) { select {} }
