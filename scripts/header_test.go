package scripts

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	"github.com/bide-go/bide/job"
)

// header is the comment that a script begins with.
type header struct {
	name, purpose, keys, argv, reply string
	includes, atNeed                 []string
}

var headerKey = regexp.MustCompile(`^(include:|at need:|whole:|KEYS |ARGV |Reply )\s*`)

func readHeader(t *testing.T, name string) header {
	t.Helper()
	h := header{name: name}
	field, ended := &h.purpose, false
	for line := range strings.SplitSeq(source(name+".lua"), "\n") {
		text, isComment := strings.CutPrefix(line, "-- ")
		if include, late := strings.CutPrefix(text, "include: "); late && ended {
			h.includes = append(h.includes, strings.Fields(include)...)
		}
		if ended = ended || !isComment; ended {
			continue
		}
		if m := headerKey.FindString(text); m != "" {
			var include string
			field = map[string]*string{"include:": &include, "at need:": &include, "whole:": &include, "KEYS": &h.keys, "ARGV": &h.argv, "Reply": &h.reply}[strings.TrimSpace(m)]
			text = text[len(m):]
			switch strings.TrimSpace(m) {
			case "include:":
				h.includes = strings.Fields(text)
				continue
			case "whole:":
				continue
			case "at need:":
				h.atNeed = strings.Fields(text)
				continue
			}
		}
		*field += "  " + text
	}
	return h
}

func scriptNames(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob("*.lua")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for i := range files {
		files[i] = strings.TrimSuffix(files[i], ".lua")
	}
	return files
}

var defined = regexp.MustCompile(`(?m)^local (?:function )?(\w+)`)

// cores are parts that hold what a script does, since another one does it too.
var cores = []string{"complete", "reserve"}

func TestHeaders(t *testing.T) {
	usedParts, usedWords := map[string]bool{}, map[string]bool{}
	parts, _ := filepath.Glob("lib/*.lua")
	uses := func(text, name string) bool { return regexp.MustCompile(`\b` + name + `\b`).MatchString(text) }
	code := func(path string) string { return commentLine.ReplaceAllString(source(path), "") }

	for _, name := range scriptNames(t) {
		h := readHeader(t, name)
		if !strings.HasPrefix(strings.TrimSpace(h.purpose), name+": ") {
			t.Errorf("%s.lua does not begin with its purpose: %q", name, h.purpose)
		}
		if strings.TrimSpace(h.keys) != "1 routing" || h.reply == "" {
			t.Errorf("%s.lua: KEYS %q, Reply %q", name, h.keys, h.reply)
		}
		own := code(name + ".lua")
		whole := own // the script with the parts that are its very self
		for _, part := range h.includes {
			if slices.Contains(cores, part) {
				whole += code("lib/" + part + ".lua")
			}
		}
		if (h.argv == "") == strings.Contains(whole, "ARGV") {
			t.Errorf("%s.lua: its header and its text do not agree that it has arguments", name)
		}
		if uses(own, "KEYS") {
			t.Errorf("%s.lua reads KEYS, which are for routing only", name)
		}

		// Each include is there, is used by the script or by a later include, and
		// nothing is used that is not included.
		included := append(slices.Clone(h.atNeed), h.includes...)
		for i, part := range included {
			path := "lib/" + part + ".lua"
			if !slices.Contains(parts, path) {
				t.Errorf("%s.lua includes %s, which is not there", name, part)
				continue
			}
			usedParts[path] = true
			users := own
			for k, other := range included {
				// What is made at need may use all the rest.
				if k > i || i >= len(h.atNeed) && k < len(h.atNeed) {
					users += code("lib/" + other + ".lua")
				}
			}
			used := false
			for _, m := range defined.FindAllStringSubmatch(code(path), -1) {
				used = used || uses(users, m[1])
			}
			if !used {
				t.Errorf("%s.lua includes %s and does not use it", name, part)
			}
		}
		for _, path := range parts {
			part := strings.TrimSuffix(filepath.Base(path), ".lua")
			if slices.Contains(included, part) {
				continue
			}
			for _, m := range regexp.MustCompile(`(?m)^local function (\w+)`).FindAllStringSubmatch(code(path), -1) {
				if regexp.MustCompile(`[^.\w]`+m[1]+`\(`).MatchString(whole) && !strings.Contains(own, "local function "+m[1]) {
					t.Errorf("%s.lua calls %s and does not include %s", name, m[1], part)
				}
			}
		}
	}
	for _, path := range parts {
		if !usedParts[path] && path != "lib/whole.lua" { // assemble puts it into all
			t.Errorf("%s is included nowhere", path)
		}
		if !strings.HasPrefix(source(path), "-- ") {
			t.Errorf("%s does not begin with a comment", path)
		}
	}

	all := append(slices.Clone(parts), mapNames(scriptNames(t))...)
	for _, path := range all {
		for _, m := range keyWord.FindAllStringSubmatch(code(path), -1) {
			usedWords[m[1]] = true
			if suffixes[m[1]] == "" {
				t.Errorf("%s: K.%s is no key", path, m[1])
			}
		}
	}
	for _, word := range words() {
		if !usedWords[word] && !goUses(t, word) {
			t.Errorf("no script uses K.%s", word)
		}
	}
}

func mapNames(names []string) []string {
	for i := range names {
		names[i] += ".lua"
	}
	return names
}

func goUses(t *testing.T, word string) bool {
	t.Helper()
	return strings.Contains(goSource(t), `keys.name("`+word+`")`)
}

// goSource is the package's own Go text.
func goSource(t *testing.T) string {
	t.Helper()
	files, _ := filepath.Glob("*.go")
	var all strings.Builder
	for _, file := range files {
		if !strings.HasSuffix(file, "_test.go") {
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			all.Write(data)
		}
	}
	return all.String()
}

// Every state and reason that a script names is one of package job.
func TestScriptsNameKnownStatesAndReasons(t *testing.T) {
	known := []string{"stale", "spoilt", "failed", "lost", ""}
	for _, s := range job.States {
		known = append(known, string(s))
	}
	reasons := []string{""}
	for _, r := range []job.Reason{job.ReasonAttempts, job.ReasonPermanent, job.ReasonLost, job.ReasonNextTick, job.ReasonRequest,
		job.ReasonReplaced, job.ReasonRemoved, job.ReasonDeadline, job.ReasonOverlap, job.ReasonCatchUp, job.ReasonPaused} {
		reasons = append(reasons, string(r))
	}
	patterns := map[*regexp.Regexp][]string{
		regexp.MustCompile(`finish\([^,]+, \w+, '(\w*)'`):           known,
		regexp.MustCompile(`outcome = '(\w*)'`):                     known,
		regexp.MustCompile(`state [=~]= '(\w*)'`):                   known,
		regexp.MustCompile(`'ok', '(\w*)'`):                         known,
		regexp.MustCompile(`'counts', '(\w*)', 1`):                  known,
		regexp.MustCompile(`finish\([^,]+, \w+, '\w*', '(\w*)'`):    reasons,
		regexp.MustCompile(`reason == '(\w*)'`):                     reasons,
		regexp.MustCompile(`event\(.*'reason', '(\w*)'\)`):          reasons,
		regexp.MustCompile(`verdict = \{ id, h, '(\w*)', '\w*' \}`): known,
		regexp.MustCompile(`verdict = \{ id, h, '\w*', '(\w*)' \}`): reasons,
	}
	found := 0
	files, _ := filepath.Glob("lib/*.lua")
	for _, path := range append(files, mapNames(scriptNames(t))...) {
		for pattern, allowed := range patterns {
			for _, m := range pattern.FindAllStringSubmatch(source(path), -1) {
				found++
				if !slices.Contains(allowed, m[1]) {
					t.Errorf("%s: %q in %s is not known to package job", path, m[1], m[0])
				}
			}
		}
	}
	if found < 40 {
		t.Errorf("only %d literals found: the patterns no longer fit", found)
	}
}

// shape reads the ARGV line: how many arguments are fixed, and how many each
// further item has: 0 if there are none, -1 if that differs.
func (h header) shape() (fixed, group int) {
	argv := regexp.MustCompile(`\([^)]*\)`).ReplaceAllString(h.argv, "")
	for _, m := range regexp.MustCompile(`(?:^|\s\s|, )(\d+) `).FindAllStringSubmatch(argv, -1) {
		fixed, _ = strconv.Atoi(m[1])
	}
	if m := regexp.MustCompile(`per (?:job|tick): (.*)`).FindStringSubmatch(argv); m != nil {
		return fixed, strings.Count(m[1], ",") + 1
	}
	if strings.Contains(argv, "n times") || strings.Contains(argv, "…") || strings.Contains(argv, "per schedule") {
		return fixed, -1
	}
	return fixed, 0
}

// recorder notes the arguments of scripts that a client sends.
type recorder struct{ sent map[string][][]any }

func (r *recorder) note(cmd redis.Cmder) {
	if args := cmd.Args(); args[0] == "evalsha" || args[0] == "eval" {
		r.sent[args[1].(string)] = append(r.sent[args[1].(string)], args[4:])
	}
}

func (r *recorder) DialHook(next redis.DialHook) redis.DialHook { return next }

func (r *recorder) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error { r.note(cmd); return next(ctx, cmd) }
}

func (r *recorder) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		for _, cmd := range cmds {
			r.note(cmd)
		}
		return next(ctx, cmds)
	}
}

// Every method sends the arguments that the header of its script declares.
func TestWrappersSendWhatHeadersDeclare(t *testing.T) {
	rdb := redis.NewClient(&redis.Options{Addr: miniredis.RunT(t).Addr()})
	defer rdb.Close()
	rec := &recorder{sent: map[string][][]any{}}
	rdb.AddHook(rec)
	s, err := New(rdb, "")
	if err != nil {
		t.Fatal(err)
	}
	ctx := context.Background()
	jobs := []NewJob{{ID: "a", Queue: "low", Name: "n"}, {ID: "b", Queue: "low", Name: "n"}, {ID: "c", Queue: "low", Name: "n"}}
	leases := []Lease{{"a", "w:1"}, {"b", "w:1"}, {"c", "w:1"}}
	reserve := ReserveArgs{Token: "w:1", Lease: time.Minute, Limit: 1, Offers: []Offer{{"low", 1}, {"high", 1}}, Names: []string{"n", "m"}}
	for name, call := range map[string]func() error{
		"enqueue":  func() error { return s.Enqueue(ctx, NewBatch(jobs...)) },
		"promote":  func() error { _, err := s.Promote(ctx, 1, true); return err },
		"reserve":  func() error { _, err := s.Reserve(ctx, reserve); return err },
		"recover":  func() error { _, err := s.Recover(ctx, "w:1", time.Minute); return err },
		"complete": func() error { _, err := s.Complete(ctx, leases); return err },
		"fail": func() error {
			_, err := s.Fail(ctx, []Verdict{{Lease: leases[0]}, {Lease: leases[1], Retry: true}})
			return err
		},
		"release":    func() error { _, err := s.Release(ctx, leases); return err },
		"renew":      func() error { _, err := s.Renew(ctx, time.Minute, leases); return err },
		"reap":       func() error { _, _, _, err := s.Reap(ctx, time.Now(), 1, 1); return err },
		"cancel":     func() error { _, _ = s.Cancel(ctx, "x"); return nil },
		"revive":     func() error { _, _ = s.Revive(ctx, "x"); return nil },
		"reschedule": func() error { _, _ = s.Reschedule(ctx, "x", 1, time.Time{}); return nil },
		"inspect":    func() error { _, _ = s.Inspect(ctx, "x"); return nil },
		"list":       func() error { _, _, _, err := s.List(ctx, Page{Place: "dead", Look: 1, Want: 1}); return err },
		"expire":     func() error { _, _, err := s.Expire(ctx, 1); return err },
		"trim":       func() error { _, err := s.Trim(ctx, 1, time.Hour, 1); return err },
		"repair": func() error {
			_, err := s.Repair(ctx, []Orphan{{Kind: Idle, ID: "x"}, {Kind: Idle, ID: "y"}})
			return err
		},
		"audit": func() error { _, err := s.Audit(ctx); return err },
		"stats": func() error { _, err := s.Stats(ctx); return err },
		"beat": func() error {
			return s.Beat(ctx, Presence{ID: "w", Names: []string{"n"}, Queues: []string{"low", "high"}, Fields: map[string]string{"f": "v"}})
		},
		"pause": func() error { return s.PauseQueue(ctx, "low", "me", "why") },
		"poll":  func() error { _, err := s.Poll(ctx, "", true); return err },
		"apply": func() error {
			_, err := s.Apply(ctx, "", "me", []Change{{Act: "add", Name: "s"}, {Act: "rewrite", Name: "s", Ticks: jobs[:2]}, {Act: "retime", Name: "s"}, {Act: "remove", Name: "s"}})
			return err
		},
		"expand": func() error {
			_, err := s.Expand(ctx, Expansion{Schedule: "s", Ticks: jobs})
			return err
		},
		"hello": func() error { return s.Hello(ctx) },
		"start": func() error {
			_, _, _, _ = s.Start(ctx, "1", true, NewJob{ID: "x", Schedule: "s", Queue: "low"})
			return nil
		},
		"backfill":  func() error { _, _, _ = s.Backfill(ctx, "s", "1", "x", 0, jobs); return nil },
		"halt":      func() error { _, _, _ = s.HoldSchedule(ctx, "s", "me", "why", time.Hour, time.Time{}); return nil },
		"schedules": func() error { _, err := s.Progress(ctx, []string{"s", "t"}); return err },
		"history":   func() error { _, _, _ = s.History(ctx, "s", time.Time{}, 1); return nil },
		"probe":     func() error { return s.Probe(ctx) },
	} {
		clear(rec.sent)
		if err := call(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		sent := rec.sent[s.scripts[name].sha]
		if len(sent) == 0 {
			t.Errorf("%s was not called by its method", name)
			continue
		}
		h := readHeader(t, name)
		fixed, group := h.shape()
		n := len(sent[0]) - fixed
		if n < 0 || group == 0 && n != 0 || group > 0 && (n == 0 || n%group != 0) {
			t.Errorf("%s was sent %d arguments, its header declares %d and then groups of %d:%s", name, len(sent[0]), fixed, group, h.argv)
		}
		for _, m := range regexp.MustCompile(`ARGV\[(\d+)\]`).FindAllStringSubmatch(source(name+".lua"), -1) {
			if i, _ := strconv.Atoi(m[1]); i > fixed && group == 0 {
				t.Errorf("%s reads ARGV[%d], its header declares %d", name, i, fixed)
			}
		}
	}

	called := map[string]bool{}
	for _, m := range regexp.MustCompile(`(?:run|act)\(ctx, "(\w+)"`).FindAllStringSubmatch(goSource(t), -1) {
		if called[m[1]] && m[1] != "beat" { // Beat and Leave
			t.Errorf("script %s is run in two places", m[1])
		}
		called[m[1]] = true
	}
	for _, name := range scriptNames(t) {
		if !called[name] {
			t.Errorf("script %s is run nowhere", name)
		}
	}
}
