package cli

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/bide-go/bide/internal/redistest"
	"github.com/bide-go/bide/job"
	"github.com/bide-go/bide/scheduler"
)

// An interrupted wait leaves the run alone.
func TestInterruptedWait(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		m := scheduler.NewManager(s.Client(), "", "test")
		if _, err := m.Apply(t.Context(), []scheduler.Definition{{Name: "a", Schedule: []string{"@daily"}, Job: "mail"}}); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		env := Env{Getenv: getenv(map[string]string{"REDIS_URL": s.URL()})}
		done := make(chan struct{})
		var code int
		var stdout, stderr string
		go func() {
			defer close(done)
			code, stdout, stderr = run(ctx, env, "schedules run a --wait --command-timeout 1m")
		}()
		for {
			page, err := m.History(t.Context(), "a", scheduler.HistoryFilter{})
			if err != nil {
				t.Fatal(err)
			}
			if len(page.Runs) == 1 {
				break
			}
			time.Sleep(10 * time.Millisecond)
		}
		cancel()
		<-done
		if code != 130 || stdout != "" || !strings.Contains(stderr, "interrupted while run a@") {
			t.Errorf("exit code %d %q %q, want 130", code, stdout, stderr)
		}
		if page, err := m.History(t.Context(), "a", scheduler.HistoryFilter{}); err != nil || page.Runs[0].Outcome != scheduler.Outcome(job.Waiting) {
			t.Errorf("the run: %+v, %v", page, err)
		}
	})
}

// What takes schedules away asks on a terminal, and shows what it is about first.
func TestApplyAsks(t *testing.T) {
	t.Parallel()
	s := redistest.NewMini(t)
	m := scheduler.NewManager(s.Client(), "", "test")
	if _, err := m.Apply(t.Context(), []scheduler.Definition{{Name: "old", Schedule: []string{"@daily"}, Job: "mail"}}); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "s.yaml")
	if err := os.WriteFile(file, []byte("version: 1\nschedules: { new: { schedule: \"@daily\", job: mail } }\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		answer string
		code   int
		names  string
	}{{"n\n", 1, "old"}, {"", 1, "old"}, {"yes\n", 0, "new"}} {
		var out bytes.Buffer
		env := Env{Stdin: strings.NewReader(tt.answer), Stdout: &out, StdinTerminal: true, StderrTerminal: true, Getenv: getenv(map[string]string{"REDIS_URL": s.URL()})}
		code, _, stderr := run(t.Context(), env, "apply "+file)
		if code != tt.code || !strings.Contains(stderr, "remove 1 schedule (old)? [y/N]") || !strings.Contains(out.String(), "- old") {
			t.Errorf("%q: exit code %d %q %q", tt.answer, code, out.String(), stderr)
		}
		list, err := m.List(t.Context())
		if err != nil || len(list.Schedules) != 1 || list.Schedules[0].Definition.Name != tt.names {
			t.Errorf("%q: applied are %+v, %v", tt.answer, list.Schedules, err)
		}
	}
}
