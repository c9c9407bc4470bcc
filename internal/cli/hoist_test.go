package cli

import (
	"context"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/urfave/cli/v2"
)

func tree() *cli.Command { return (&program{env: Env{}.complete()}).commands() }

func TestHoist(t *testing.T) {
	for _, tt := range []struct{ line, want string }{
		{"", "bide"},
		{"stats", "bide stats --"},
		{"stats -o json", "bide --output=json stats --"},
		{"-o=json stats", "bide --output=json stats --"},
		{"later log {} --in 5s", "bide later --in=5s -- log {}"},
		{"later --in 5s log {}", "bide later --in=5s -- log {}"},
		{"--in 5s later log {}", "bide later --in=5s -- log {}"},
		{"later log -in 5s", "bide later --in=5s -- log"},
		{"jobs --limit 3 list", "bide jobs list --limit=3 --"},
		{"jobs list --limit=3 -q --yes", "bide --quiet=true --yes=true jobs list --limit=3 --"},
		{"-q=false stats", "bide --quiet=false stats --"},
		{"later log -", "bide later -- log -"},
		{"later -- log --in", "bide later -- log --in"},
		{"-- later log --in", "bide later -- log --in"},
		{"later log --header a=b --header c=d=e", "bide later --header=a=b --header=c=d=e -- log"},
		{"later log --unique=--in", "bide later --unique=--in -- log"},
		{"later log --unique -x", "bide later --unique=-x -- log"},
		{"later help help", "bide later -- help help"},
		{"later --version log", "bide --version=true version --"},
		{"jobs show jobs", "bide jobs show -- jobs"},
	} {
		got, err := hoist(tree(), strings.Fields(tt.line))
		if err != nil {
			t.Errorf("hoist(%q): %v", tt.line, err)
		} else if diff := cmp.Diff(tt.want, strings.Join(got.args, " ")); diff != "" {
			t.Errorf("hoist(%q) (-want +got):\n%s", tt.line, diff)
		}
	}
}

// A flag may stand before the command that has it, so its name must mean the same
// kind of flag everywhere.
func TestFlagsOfOneNameAreOfOneKind(t *testing.T) {
	takes := map[string]bool{}
	var walk func(c *cli.Command)
	walk = func(c *cli.Command) {
		for _, f := range c.Flags {
			for _, name := range f.Names() {
				value := f.(cli.DocGenerationFlag).TakesValue()
				if before, ok := takes[name]; ok && before != value {
					t.Errorf("--%s takes a value in one command and none in another", name)
				}
				takes[name] = value
			}
		}
		for _, sub := range c.Subcommands {
			walk(sub)
		}
	}
	walk(tree())
	for name, commands := range laterFlags {
		if _, ok := takes[name]; ok && len(commands) == 0 {
			t.Errorf("--%s is a flag of this version and of a later one", name)
		}
		for _, path := range commands {
			c := tree()
			for _, word := range strings.Fields(path) {
				c = find(c, word)
			}
			if hasFlag(c, name) {
				t.Errorf("%s has --%s in this version and in a later one", path, name)
			}
		}
	}
}

func TestNearest(t *testing.T) {
	names := []string{"later", "jobs", "serve", "stats", "check"}
	for text, want := range map[string]string{
		"lter": "later", "latre": "later", "srve": "serve", "status": "stats", "chekc": "check",
		"x": "", "": "", "job": "jobs", "completely": "",
	} {
		if got := nearest(text, names); got != want {
			t.Errorf("nearest(%q) = %q, want %q", text, got, want)
		}
	}
}

// FuzzArguments runs lines against a Redis that is not there: whatever they say,
// the answer is an exit code and, if it is not 0, a reason.
func FuzzArguments(f *testing.F) {
	for _, seed := range []string{
		"", "help", "stats -o json", "later --in 5s log {\"message\":\"x\"}", "jobs list --cursor e30 --limit 5",
		"jobs cancel a b", "-- -", "later log @x", "--version=x", "dead", "jobs reschedule a --at 2100-01-01T00:00:00Z",
		"check -", "--redis-url redis://:p@[::1]/0?db=x stats", "serve --queues a=1,b --roles x", "dev a b", "later --header =",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		args := append([]string{"bide"}, strings.Split(text, " ")...)
		l, err := hoist(tree(), args[1:])
		if err == nil && len(l.path) > 0 && (l.path[0].Name == "serve" || l.path[0].Name == "dev") {
			return // it would run
		}
		var words strings.Builder
		env := Env{Stdout: io.Discard, Stderr: &words, Getenv: func(name string) string {
			if name == "BIDE_REDIS_URL" {
				return "redis://127.0.0.1:1/0"
			}
			return ""
		}}
		ctx, cancel := context.WithCancel(context.Background())
		cancel() // no time for a Redis of the line's choice
		stuck := time.AfterFunc(10*time.Second, func() { panic(fmt.Sprintf("stuck on %q", text)) })
		defer stuck.Stop()
		code := Run(ctx, env, args)
		if code != 0 && words.Len() == 0 && !strings.Contains(text, "check") {
			t.Errorf("exit code %d and not a word", code)
		}
		if s := words.String(); clean(strings.ReplaceAll(s, "\n", "")) != strings.ReplaceAll(s, "\n", "") {
			t.Errorf("words not fit for a terminal: %q", s)
		}
	})
}
