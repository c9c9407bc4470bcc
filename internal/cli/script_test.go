package cli_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/redis/go-redis/v9"
	"github.com/rogpeppe/go-internal/testscript"

	"github.com/bide-go/bide/internal/cli"
	"github.com/bide-go/bide/internal/redistest"
	"github.com/bide-go/bide/job"
	"github.com/bide-go/bide/scripts"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"bide": func() {
			ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
			code := cli.Run(ctx, cli.System(), os.Args)
			stop()
			os.Exit(code)
		},
	})
}

// TestScripts runs the files in testdata/script, each with a Redis of its own at
// $REDIS_URL: a real redis-server for those called real-…, both kinds one after
// the other for both-…, else the embedded one.
//
// Beside testscript's own commands they have
//
//	exits CODE PROGRAM ARGS…      run it: it must exit with that code
//	keys FILE PATH KEY…           the JSON object at that path has exactly these keys
//	value FILE PATH JSON          the JSON value at that path
//	redis COMMAND ARGS…           send it to the Redis
//	freeze, thaw                  stop a real Redis from answering, and undo it
//	lease WORKER NAME             reserve the waiting jobs of that name
//	fail ID TEXT                  fail a leased job for good
//	becomes ID STATE              wait until the job is in that state
//	beat ID NAMES QUEUES F=V…     say that a process is alive
func TestScripts(t *testing.T) {
	files, err := filepath.Glob("testdata/script/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no scripts: %v", err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".txtar")
		kind, _, _ := strings.Cut(name, "-")
		if kind != "real" {
			t.Run(name, func(t *testing.T) { t.Parallel(); runScript(t, file, redistest.NewMini(t)) })
		}
		if kind == "real" || kind == "both" {
			t.Run(name+"@redis", func(t *testing.T) { t.Parallel(); runScript(t, file, redistest.NewReal(t)) })
		}
	}
}

func runScript(t *testing.T, file string, server *redistest.Server) {
	w := &world{server: server, rdb: server.Client(), set: server.Scripts()}
	testscript.Run(t, testscript.Params{
		Files: []string{file}, Cmds: w.commands(), RequireExplicitExec: true,
		Setup: func(env *testscript.Env) error {
			env.Setenv("REDIS_URL", server.URL())
			env.Setenv("ADDR", server.Addr)
			env.Setenv("EVIL", "x\x1b[31m\u202ey")
			return nil
		},
	})
}

// world is what the commands of one script work on.
type world struct {
	server *redistest.Server
	rdb    *redis.Client
	set    *scripts.Set
	leases map[string]scripts.Lease
	tokens int
}

func (w *world) commands() map[string]func(*testscript.TestScript, bool, []string) {
	return map[string]func(*testscript.TestScript, bool, []string){
		"exits": exits, "keys": keys, "value": value,
		"redis":  w.redis,
		"freeze": func(*testscript.TestScript, bool, []string) { w.server.Freeze() },
		"thaw":   func(*testscript.TestScript, bool, []string) { w.server.Thaw() },
		"lease":  w.lease, "fail": w.fail, "becomes": w.becomes, "beat": w.beat,
	}
}

// escapes are written in a script where a foreign text has the character.
var escapes = strings.NewReplacer(`\e`, "\x1b", `\n`, "\n")

func exits(ts *testscript.TestScript, _ bool, args []string) {
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	err = ts.Exec(args[1], args[2:]...)
	got := 0
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		got = exit.ExitCode()
	} else {
		ts.Check(err)
	}
	if got != want {
		ts.Fatalf("exit code %d, want %d", got, want)
	}
}

// at finds a value in a JSON document: ".items.0.id".
func at(ts *testscript.TestScript, file, path string) any {
	dec := json.NewDecoder(strings.NewReader(ts.ReadFile(file)))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		ts.Fatalf("%s is not JSON: %v", file, err)
	}
	if dec.More() {
		ts.Fatalf("%s holds more than one JSON document", file)
	}
	for _, step := range strings.Split(strings.Trim(path, "."), ".") {
		switch here := v.(type) {
		case map[string]any:
			if step == "" {
				return v
			}
			inner, ok := here[step]
			if !ok {
				ts.Fatalf("no %q in %v", step, here)
			}
			v = inner
		case []any:
			i, err := strconv.Atoi(step)
			if err != nil || i >= len(here) {
				ts.Fatalf("no %q in a list of %d", step, len(here))
			}
			v = here[i]
		default:
			ts.Fatalf("no %q in %v", step, v)
		}
	}
	return v
}

func keys(ts *testscript.TestScript, _ bool, args []string) {
	object, ok := at(ts, args[0], args[1]).(map[string]any)
	if !ok {
		ts.Fatalf("%s is no object", args[1])
	}
	var got []string
	for key := range object {
		got = append(got, key)
	}
	want := args[2:]
	slices.Sort(got)
	slices.Sort(want)
	if diff := cmp.Diff(want, got); diff != "" {
		ts.Fatalf("keys of %s (-want +got):\n%s", args[1], diff)
	}
}

func value(ts *testscript.TestScript, neg bool, args []string) {
	data, err := json.Marshal(at(ts, args[0], args[1]))
	ts.Check(err)
	if got := string(data); (got == args[2]) == neg {
		ts.Fatalf("%s is %s, want %s", args[1], got, args[2])
	}
}

func (w *world) redis(ts *testscript.TestScript, _ bool, args []string) {
	all := make([]any, len(args))
	for i, a := range args {
		all[i] = escapes.Replace(a)
	}
	ts.Check(w.rdb.Do(context.Background(), all...).Err())
}

func (w *world) lease(ts *testscript.TestScript, _ bool, args []string) {
	w.tokens++
	token := args[0] + ":" + strconv.Itoa(w.tokens)
	var offers []scripts.Offer
	for _, q := range []string{"high", "medium", "low"} {
		offers = append(offers, scripts.Offer{Queue: q, Slots: 10})
	}
	reserved, err := w.set.Reserve(context.Background(), scripts.ReserveArgs{
		Token: token, Lease: time.Hour, Limit: 10, Offers: offers, Names: args[1:],
	})
	ts.Check(err)
	if len(reserved.Jobs) == 0 {
		ts.Fatalf("nothing to lease for %v", args[1:])
	}
	if w.leases == nil {
		w.leases = map[string]scripts.Lease{}
	}
	for _, l := range reserved.Jobs {
		w.leases[l.Job.ID] = l.Lease
	}
}

func (w *world) fail(ts *testscript.TestScript, _ bool, args []string) {
	text := escapes.Replace(args[1])
	states, err := w.set.Fail(context.Background(), []scripts.Verdict{{
		Lease: w.leases[args[0]], Reason: job.ReasonPermanent, Kind: job.KindPanic, Error: text, Stack: "goroutine 1 [running]:\n\tmain.go:1",
	}})
	ts.Check(err)
	if states[0] != job.Dead {
		ts.Fatalf("the job is %s, want dead", states[0])
	}
}

func (w *world) beat(ts *testscript.TestScript, _ bool, args []string) {
	p := scripts.Presence{ID: args[0], Names: strings.Fields(args[1]), Queues: strings.Fields(args[2])}
	p.Fields = map[string]string{"names": args[1], "queues": args[2]}
	for _, pair := range args[3:] {
		field, value, _ := strings.Cut(pair, "=")
		p.Fields[field] = escapes.Replace(value)
	}
	ts.Check(w.set.Beat(context.Background(), p))
}

func (w *world) becomes(ts *testscript.TestScript, _ bool, args []string) {
	deadline := time.Now().Add(20 * time.Second)
	for {
		j, err := w.set.Inspect(context.Background(), args[0])
		if err == nil && string(j.State) == args[1] {
			return
		}
		if time.Now().After(deadline) {
			ts.Fatalf("job %s: %+v %v, want it %s", args[0], j, err, args[1])
		}
		time.Sleep(10 * time.Millisecond)
	}
}
