package cli

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/bide-go/bide/scripts"
)

func (e *examination) facts(ctx context.Context) (map[string]string, error) {
	return e.infoOnce.get(ctx, e.info)
}

// embedded reports whether this is the Redis that dev brings, which says nothing
// of itself.
func (e *examination) embedded(ctx context.Context) bool {
	facts, err := e.facts(ctx)
	return err == nil && facts["redis_version"] == ""
}

func (e *examination) reachable(ctx context.Context) (finding, error) {
	err := e.write(ctx)
	switch {
	case err == nil:
		return finding{Status: fine, Detail: e.where + " answers and takes writes"}, nil
	case scripts.TakesNoWrites(err):
		return finding{Status: failed, Detail: e.where + " answers but takes no writes: " + err.Error(), Hint: refusalHint(err)}, nil
	case notLetIn(err):
		e.err = err
		return finding{Status: failed, Detail: err.Error(), Hint: "check the user and password of the Redis URL and what they may do: bide needs to run scripts on its keys"}, nil
	}
	return finding{}, err
}

func refusalHint(err error) text {
	switch {
	case answeredWith(err, "OOM"):
		return "its memory is full: raise maxmemory, or make room with a shorter --dead-retention and bide dead delete"
	case answeredWith(err, "READONLY"):
		return "this is a replica: let the Redis URL lead to the master, or to Sentinel with master_name="
	case answeredWith(err, "MISCONF"):
		return "it cannot save to its disk: look at its log and at the space on the disk"
	}
	return "too few replicas are connected: look at them, or lower min-replicas-to-write"
}

func (e *examination) version(ctx context.Context) (finding, error) {
	facts, err := e.facts(ctx)
	if err != nil {
		return finding{}, err
	}
	if e.embedded(ctx) {
		return finding{Status: fine, Detail: "embedded"}, nil
	}
	version := facts["redis_version"]
	detail := "Redis " + version
	if valkey := facts["valkey_version"]; valkey != "" {
		detail = "Valkey " + valkey + ", which speaks Redis " + version
	}
	major, minor, ok := parseVersion(version)
	switch {
	case !ok:
		return finding{Status: warns, Detail: detail + " is no version that can be compared", Hint: "make sure that it does what Redis 6.2 does"}, nil
	case major < 6, major == 6 && minor < 2:
		return finding{Status: failed, Detail: detail + " is too old", Hint: "bide needs Redis 6.2 or later"}, nil
	}
	return finding{Status: fine, Detail: detail}, nil
}

func parseVersion(text string) (major, minor int, ok bool) {
	parts := strings.SplitN(text, ".", 3)
	if len(parts) < 2 {
		return 0, 0, false
	}
	major, err := strconv.Atoi(parts[0])
	if err != nil {
		return 0, 0, false
	}
	minor, err = strconv.Atoi(parts[1])
	return major, minor, err == nil
}

// setting asks for a setting by CONFIG and, where that is not to be had, by INFO.
func (e *examination) setting(ctx context.Context, name, inInfo string) (value, how string, err error) {
	value, err = e.config(ctx, name)
	if !cannotAsk(err) {
		return value, "", err
	}
	facts, infoErr := e.facts(ctx)
	if infoErr != nil {
		return "", "", infoErr
	}
	if facts[inInfo] == "" {
		return "", "", err
	}
	return facts[inInfo], " (from INFO: CONFIG cannot be asked here)", nil
}

func (e *examination) eviction(ctx context.Context) (finding, error) {
	if e.embedded(ctx) {
		return finding{Status: fine, Detail: "embedded: nothing is evicted"}, nil
	}
	policy, how, err := e.setting(ctx, "maxmemory-policy", "maxmemory_policy")
	if err != nil {
		return finding{}, err
	}
	const hint = "set maxmemory-policy noeviction: bide then refuses new jobs when memory is full, and loses none"
	limit := ""
	if most, _, err := e.setting(ctx, "maxmemory", "maxmemory"); err == nil && most == "0" {
		limit = ", though no maxmemory is set so far"
	}
	switch {
	case policy == "noeviction":
		return finding{Status: fine, Detail: policy + how}, nil
	case strings.HasPrefix(policy, "volatile-"):
		return finding{Status: warns, Detail: policy + ": Redis may throw away keys that expire, of which bide has few and no jobs" + limit + how, Hint: hint}, nil
	}
	return finding{Status: failed, Detail: policy + ": Redis may throw away jobs when its memory is full" + limit + how, Hint: hint}, nil
}

// persistence says what a crash of Redis can cost.
func (e *examination) persistence(ctx context.Context) (finding, error) {
	if e.embedded(ctx) {
		return finding{Status: fine, Detail: "embedded: everything is gone when its process ends"}, nil
	}
	aof, how, err := e.setting(ctx, "appendonly", "aof_enabled")
	if err != nil {
		return finding{}, err
	}
	if how != "" {
		return persistenceUntold(aof == "1", how), nil
	}
	fsync, err := e.config(ctx, "appendfsync")
	if err != nil {
		return finding{}, err
	}
	save, err := e.config(ctx, "save")
	if err != nil {
		return finding{}, err
	}
	facts, err := e.facts(ctx)
	if err != nil && !cannotAsk(err) {
		return finding{}, err
	}
	f := judgePersistence(aof == "yes", fsync, save)
	switch {
	case aof == "yes" && facts["aof_last_write_status"] == "err":
		f = finding{Status: failed, Detail: "the last write to the append-only file failed", Hint: "look at Redis' log and at the space on its disk"}
	case save != "" && facts["rdb_last_bgsave_status"] == "err":
		f = finding{Status: failed, Detail: "the last snapshot failed", Hint: "look at Redis' log and at the space on its disk"}
	}
	if n, _ := strconv.Atoi(facts["connected_slaves"]); n > 0 {
		f.Detail += "; a failover can lose what had not been replicated"
	}
	return f, nil
}

const keepHint = "set appendonly yes; with appendfsync everysec a crash costs at most about a second, with always nothing"

func judgePersistence(aof bool, fsync, save string) finding {
	snapshots := ""
	if save != "" {
		snapshots = "; it also makes snapshots"
	}
	switch {
	case aof && fsync == "always":
		return finding{Status: fine, Detail: "append-only file, synced always: a crash of Redis loses nothing that was acknowledged" + snapshots}
	case aof && fsync == "everysec":
		return finding{Status: fine, Detail: "append-only file, synced every second: a crash of its machine loses what was acknowledged in the last second or two" + snapshots}
	case aof:
		return finding{Status: warns, Detail: "append-only file, synced when the system likes (appendfsync " + fsync + "): a crash of its machine loses half a minute or so" + snapshots,
			Hint: "set appendfsync everysec, or always"}
	case save != "":
		return finding{Status: warns, Detail: "snapshots only (" + snapshotRules(save) + "): a crash of Redis loses everything since the last one", Hint: keepHint}
	}
	return finding{Status: warns, Detail: "none: a crash or restart of Redis loses every job", Hint: keepHint}
}

// snapshotRules puts the rules "<seconds> <changes>…" into words.
func snapshotRules(save string) string {
	fields := strings.Fields(save)
	var rules []string
	for i := 0; i+1 < len(fields); i += 2 {
		rules = append(rules, fmt.Sprintf("after %s s with %s changes", fields[i], fields[i+1]))
	}
	if len(rules) == 0 {
		return save
	}
	return strings.Join(rules, ", ")
}

// persistenceUntold is the finding where only INFO can be asked, which knows
// neither how often the append-only file is synced nor when snapshots are made.
func persistenceUntold(aof bool, how string) finding {
	if aof {
		return finding{Status: warns, Detail: "append-only file; how often it is synced is not told: with everysec, which is usual, a crash of its machine loses a second or two" + how,
			Hint: "look up appendfsync where this Redis is managed"}
	}
	return finding{Status: warns, Detail: "no append-only file: a crash of Redis loses everything since the last snapshot, or every job if it makes none" + how,
		Hint: "switch the append-only file on where this Redis is managed"}
}

const (
	pings     = 20
	slowPing  = 10 * time.Millisecond
	longSpike = 500 * time.Millisecond
)

func (e *examination) latency(ctx context.Context) (finding, error) {
	var took []time.Duration
	for range pings {
		d, err := e.ping(ctx)
		if err != nil {
			return finding{}, err
		}
		took = append(took, d)
	}
	slices.Sort(took)
	median, worst := took[len(took)/2], took[len(took)-1]
	detail := fmt.Sprintf("PING takes %s, at worst %s", short(median), short(worst))
	if e.embedded(ctx) {
		return finding{Status: fine, Detail: "embedded: " + detail}, nil
	}
	if median >= slowPing {
		return finding{Status: warns, Detail: detail + ": every job is late by several times that",
			Hint: "bring bide and Redis closer together, and look at the load of both and the network between"}, nil
	}
	// Redis notes spikes only if it was told to, and tells them only to some.
	spikes, err := e.spikes(ctx)
	if err != nil && !cannotAsk(err) {
		return finding{}, err
	}
	s, err := e.statistics(ctx)
	if err != nil {
		return finding{Status: fine, Detail: detail}, nil //nolint:nilerr // another check says so
	}
	for _, spike := range spikes {
		if spike.took >= longSpike && s.Now.Sub(spike.at) < time.Hour {
			return finding{Status: warns, Detail: fmt.Sprintf("%s, but %s ago Redis stood still for %s (%s)", detail, short(s.Now.Sub(spike.at)), short(spike.took), spike.event),
				Hint: "LATENCY DOCTOR in redis-cli tells more"}, nil
		}
	}
	return finding{Status: fine, Detail: detail}, nil
}

// short is a duration in two or three digits.
func short(d time.Duration) string {
	switch d = d.Abs(); {
	case d >= 10*time.Second:
		return roughly(d)
	case d >= time.Second:
		return d.Round(100 * time.Millisecond).String()
	case d >= 10*time.Millisecond:
		return d.Round(time.Millisecond).String()
	case d >= time.Millisecond:
		return d.Round(100 * time.Microsecond).String()
	}
	return strconv.FormatFloat(d.Seconds()*1000, 'f', 2, 64) + "ms"
}

// muchSkew is more than people overlook when they compare times.
const muchSkew = time.Second

func (e *examination) clockSkew(ctx context.Context) (finding, error) {
	skew, doubt, err := e.skew(ctx)
	if err != nil {
		return finding{}, err
	}
	way := "behind"
	if skew < 0 {
		way = "ahead of"
	}
	detail := fmt.Sprintf("this host's clock is %s %s Redis'", short(skew), way)
	if skew.Abs() <= muchSkew+doubt {
		return finding{Status: fine, Detail: detail + "; jobs follow Redis' alone"}, nil
	}
	return finding{Status: warns, Detail: detail, Hint: "jobs follow Redis' clock alone; synchronise both (NTP), or times you give and times in logs mean something else than you think"}, nil
}

func (e *examination) zones(context.Context) (finding, error) {
	list := []string{"UTC", "Europe/Berlin", "America/New_York", "America/Sao_Paulo", "Asia/Kolkata", "Australia/Lord_Howe", "Africa/Casablanca"}
	for _, name := range list {
		err := e.zone(name)
		if err == nil {
			continue
		}
		return finding{Status: failed, Detail: "time zone " + name + ": " + err.Error(),
			Hint: "use a bide built with its zone data (-tags timetzdata), and look at the variable ZONEINFO"}, nil //nolint:nilerr // it is what was found
	}
	detail := "time zones are in this binary"
	if file := os.Getenv("ZONEINFO"); file != "" {
		detail += "; those of ZONEINFO=" + file + " come first"
	}
	return finding{Status: fine, Detail: detail}, nil
}
