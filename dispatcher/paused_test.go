package dispatcher_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"github.com/bide-go/bide/dispatcher"
	"github.com/bide-go/bide/job"
	"github.com/bide-go/bide/scheduler"
)

// warnings keeps what is logged at level warn.
type warnings struct {
	mu   sync.Mutex
	list []map[string]any
}

func (w *warnings) Write(line []byte) (int, error) {
	entry := map[string]any{}
	if err := json.Unmarshal(line, &entry); err == nil && entry["level"] == "warn" {
		w.mu.Lock()
		w.list = append(w.list, entry)
		w.mu.Unlock()
	}
	return len(line), nil
}

// pausedItself lists the schedules that are said to have paused themselves.
func (w *warnings) pausedItself() (list []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, entry := range w.list {
		if strings.Contains(entry["message"].(string), "paused itself") {
			list = append(list, entry["schedule"].(string)+": "+entry["reason"].(string))
		}
	}
	return list
}

// A schedule that its failures or its handler pause is told by the process that
// settled the run, once, whatever the run died of.
func TestScheduleThatPausesItselfIsTold(t *testing.T) {
	boom := errors.New("boom")
	for name, tt := range map[string]struct {
		after  int
		err    error
		lost   bool
		reason string
	}{
		"attempts": {after: 1, err: boom, reason: "s: 1 run ended dead"},
		"handler":  {err: job.PauseSchedule(errors.New("410 Gone")), reason: "s: 410 Gone"},
		"both":     {after: 1, err: job.PauseSchedule(errors.New("410 Gone")), reason: "s: 410 Gone"},
		"lost":     {after: 1, lost: true, reason: "s: 1 run ended dead"},
		"neither":  {after: 2, err: boom},
	} {
		t.Run(name, func(t *testing.T) {
			each(t, func(t *testing.T, r *rig) {
				m := scheduler.NewManager(r.rdb, "", "ana")
				if _, err := m.Apply(r.ctx(), []scheduler.Definition{
					{Name: "s", Schedule: []string{"@yearly"}, Job: "hold", MaxAttempts: 1, PauseAfterFailures: tt.after},
				}); err != nil {
					t.Fatal(err)
				}
				run, err := m.Run(r.ctx(), "s", scheduler.RunOptions{})
				if err != nil {
					t.Fatal(err)
				}
				// An answer that does not come in time tells nothing.
				lease := time.Minute
				if tt.lost {
					lease = 5 * time.Second
					r.leaseFor("w-dead", time.Millisecond)
				}
				w := &warnings{}
				d := r.work(dispatcher.Config{Lease: lease, MaxLost: 1, Log: zerolog.New(w)}, handlers{
					"hold": func(context.Context, *job.Job) error { return tt.err },
				})
				r.becomes(run.ID, job.Dead)
				d.end() // what it has settled it has told
				got := w.pausedItself()
				if tt.reason == "" && len(got) > 0 || tt.reason != "" && (len(got) != 1 || got[0] != tt.reason) {
					t.Errorf("told of %q, want %q", got, tt.reason)
				}
				list, err := m.List(r.ctx())
				if err != nil || (list.Schedules[0].Pause != nil) != (tt.reason != "") {
					t.Errorf("%+v, %v", list, err)
				}
			})
		})
	}
}
