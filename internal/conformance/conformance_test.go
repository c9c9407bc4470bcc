// Package conformance checks that any Redis client can schedule: what the README
// shows in other languages is run as it stands there, against a real Redis with a
// promoter and a dispatcher behind it.
package conformance

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/bide-go/bide/dispatcher"
	"github.com/bide-go/bide/internal/redistest"
	"github.com/bide-go/bide/job"
	"github.com/bide-go/bide/promoter"
	"github.com/bide-go/bide/worker"
)

// args are what the snippets send in place of the README's {"to": "x"}.
const args = `{"to": ["grüße@例え.jp", "💎"], "lines": [{"n": 9007199254740991, "q": "a \"b\" \\ c"}, [], {}], "gift": true, "note": null, "price": 12.5}`

// snippet is a file in testdata, and what is put into it to have it talk to another
// server, at another time, about something else: each text is there once.
type snippet struct {
	file    string
	connect [2]string // what is there, and with %s for a port
	score   string    // what is there
	now     string
	later   string // in two seconds
	args    [2]string
	id      string // replaced by another one; empty if the language makes one
	command func(t *testing.T, file string) *exec.Cmd
}

func TestRedisCLI(t *testing.T) {
	t.Parallel()
	check(t, snippet{
		file: "redis-cli.sh", connect: [2]string{"redis-cli", "redis-cli -p %s"}, score: "' 0 '", now: "' 0 '", later: "' $(($(date +%s) + 2)) '",
		args: [2]string{`{"to": "x"}`, args}, id: "mail-42",
		command: func(t *testing.T, file string) *exec.Cmd {
			needs(t, "redis-cli", "redis-cli is not installed (apt-get install redis-tools)")
			return exec.Command("sh", "-e", file)
		},
	})
}

func TestPython(t *testing.T) {
	t.Parallel()
	check(t, snippet{
		file: "python.py", connect: [2]string{"redis.Redis()", "redis.Redis(port=%s)"}, score: "time.time() + 600", now: "0", later: "time.time() + 2",
		args: [2]string{`{"to": "x"}`, strings.NewReplacer("true", "True", "null", "None").Replace(args)},
		command: func(t *testing.T, file string) *exec.Cmd {
			for _, python := range []string{"/usr/bin/python3", "python3"} {
				if exec.Command(python, "-c", "import redis").Run() == nil {
					return exec.Command(python, file)
				}
			}
			leftOut(t, "no Python with redis is installed (apt-get install python3-redis)")
			return nil
		},
	})
}

func TestNode(t *testing.T) {
	t.Parallel()
	check(t, snippet{
		file: "node.mjs", connect: [2]string{"createClient()", `createClient({ url: "redis://127.0.0.1:%s" })`},
		score: "Date.now() / 1000 + 600", now: "0", later: "Date.now() / 1000 + 2", args: [2]string{`{ to: "x" }`, args},
		command: node("redis"),
	})
}

func TestNodeWithIORedis(t *testing.T) {
	t.Parallel()
	check(t, snippet{
		file: "ioredis.mjs", connect: [2]string{"new Redis()", "new Redis(%s)"},
		score: "Date.now() / 1000 + 600", now: "0", later: "Date.now() / 1000 + 2", args: [2]string{`{ to: "x" }`, args},
		command: node("ioredis"),
	})
}

// node finds a package where .ci/clients puts it, or in NODE_PATH. An import looks
// for it beside the file alone.
func node(pkg string) func(t *testing.T, file string) *exec.Cmd {
	return func(t *testing.T, file string) *exec.Cmd {
		needs(t, "node", "Node is not installed (apt-get install nodejs npm)")
		folders := filepath.SplitList(os.Getenv("NODE_PATH"))
		if cache, err := os.UserCacheDir(); err == nil {
			folders = append(folders, filepath.Join(cache, "bide-clients", "node_modules"))
		}
		for _, folder := range folders {
			if _, err := os.Stat(filepath.Join(folder, pkg)); err != nil {
				continue
			}
			link := filepath.Join(filepath.Dir(file), "node_modules")
			if err := os.Symlink(folder, link); err != nil && !os.IsExist(err) {
				t.Fatal(err)
			}
			return exec.Command("node", file)
		}
		leftOut(t, "Node's "+pkg+" is not installed (.ci/clients)")
		return nil
	}
}

func needs(t *testing.T, binary, why string) {
	t.Helper()
	if _, err := exec.LookPath(binary); err != nil {
		leftOut(t, why)
	}
}

// leftOut skips the test, or fails it where all clients must be there.
func leftOut(t *testing.T, why string) {
	t.Helper()
	if os.Getenv("BIDE_NEED_CLIENTS") != "" {
		t.Fatal(why + ", and BIDE_NEED_CLIENTS is set")
	}
	t.Skip("left out: " + why)
}

// started is what the recording handler sees.
type started struct {
	job *job.Job
	at  time.Time // by Redis' clock
}

// check runs a snippet for now and for two seconds later, and then the roles. Both
// jobs must start, not before the instant that stands in the inbox, with their args.
func check(t *testing.T, s snippet) {
	text, err := os.ReadFile(filepath.Join("testdata", s.file))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	s.command(t, filepath.Join(dir, s.file)) // leave it out before a server is started
	server := redistest.NewReal(t)
	rdb, ctx := server.Client(), context.Background()
	port := server.Addr[strings.LastIndex(server.Addr, ":")+1:]
	for i, score := range []string{s.now, s.later} {
		program := replace(t, string(text), s.connect[0], fmt.Sprintf(s.connect[1], port))
		program = replace(t, program, s.score, score)
		program = replace(t, program, s.args[0], s.args[1])
		if s.id != "" {
			program = replace(t, program, s.id, fmt.Sprint("mail-", i))
		}
		file := filepath.Join(dir, fmt.Sprint(i, "-", s.file))
		if err := os.WriteFile(file, []byte(program), 0o600); err != nil {
			t.Fatal(err)
		}
		if out, err := s.command(t, file).CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s\n%s", err, out, program)
		}
	}
	due := entries(t, rdb)
	now, err := rdb.Time(ctx).Result()
	if err != nil {
		t.Fatal(err)
	}
	scores := []float64{}
	for _, score := range due {
		scores = append(scores, score)
	}
	slices.Sort(scores)
	// The second one is for later than this, unless the machine was very slow.
	if len(scores) != 2 || scores[0] != 0 || scores[1] < float64(now.Unix())-60 || scores[1] > float64(now.Unix())+3 {
		t.Fatalf("inbox: %v at %d, want a job for now and one for two seconds later", due, now.Unix())
	}

	starts := make(chan started, 10)
	reg := worker.NewRegistry()
	reg.Handle("send-email", func(ctx context.Context, j *job.Job) error {
		at, err := rdb.Time(ctx).Result()
		starts <- started{j, at}
		return err
	})
	run, stop := context.WithCancel(ctx)
	done := make(chan error, 2)
	go func() { done <- promoter.New(server.Client(), promoter.Config{}).Run(run) }()
	go func() { done <- dispatcher.New(server.Client(), reg, dispatcher.Config{}).Run(run) }()
	defer func() {
		stop()
		for range 2 {
			if err := <-done; err != nil {
				t.Error(err)
			}
		}
		// The audit of the server comes after this: the sum is zero.
		if sum, err := server.Scripts().Audit(ctx); err != nil || sum.Created != 2 || sum.Completed != 2 {
			t.Errorf("jobs: %+v, %v; want 2, both completed", sum, err)
		}
	}()
	for range 2 {
		select {
		case got := <-starts:
			score, known := due[got.job.ID]
			if !known || got.job.Queue != "high" || got.job.Trigger != job.TriggerInbox || got.job.Attempt() != 1 {
				t.Errorf("started %+v, want one of %v", got.job, due)
			}
			if early := score - float64(got.at.UnixMicro())/1e6; early > 0 {
				t.Errorf("%s started %fs early", got.job.ID, early)
			}
			if !equal(t, got.job.Args, args) {
				t.Errorf("args %s, want %s", got.job.Args, args)
			}
		case <-time.After(30 * time.Second):
			t.Fatal("not both were started")
		}
	}
}

// entries are the ids in the inbox with their scores.
func entries(t *testing.T, rdb *redis.Client) map[string]float64 {
	all, err := rdb.ZRangeWithScores(context.Background(), "{bide}:inbox", 0, -1).Result()
	if err != nil {
		t.Fatal(err)
	}
	due := map[string]float64{}
	for _, z := range all {
		var member []any
		if err := json.Unmarshal([]byte(z.Member.(string)), &member); err != nil || len(member) != 4 {
			t.Fatalf("%v: %v", z, err)
		}
		due[member[0].(string)] = z.Score
	}
	return due
}

func equal(t *testing.T, got json.RawMessage, want string) bool {
	decode := func(text string) (value any) {
		dec := json.NewDecoder(strings.NewReader(text))
		dec.UseNumber() // exactly
		if err := dec.Decode(&value); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		return value
	}
	return reflect.DeepEqual(decode(string(got)), decode(want))
}

func replace(t *testing.T, text, was, is string) string {
	t.Helper()
	if n := strings.Count(text, was); n != 1 {
		t.Fatalf("%q is there %d times, want once:\n%s", was, n, text)
	}
	return strings.Replace(text, was, is, 1)
}

// The README shows the snippets that are tested, word for word.
func TestTheREADMEShowsTheSnippets(t *testing.T) {
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(readme), "Any Redis client can schedule") {
		t.Fatal("the README has no section about any Redis client")
	}
	for _, file := range []string{"redis-cli.sh", "python.py", "node.mjs"} {
		text, err := os.ReadFile(filepath.Join("testdata", file))
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(readme), string(text)) {
			t.Errorf("the README does not show testdata/%s:\n%s", file, text)
		}
	}
}
