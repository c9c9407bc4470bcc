package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/bide-go/bide/internal/chaos"
)

// timetable is one schedule of a run, with ticks every step.
type timetable struct {
	name            string
	step            time.Duration
	policy, catchUp string
	work            int // ms that a run takes
}

// timetables are the schedules of a run: ticks every second, some that take longer than
// a lease, and for each policy one whose runs would overlap without it.
var timetables = []timetable{
	{"every-second", time.Second, "Allow", "Latest", 0},
	{"slow", 5 * time.Second, "Allow", "Latest", 2500},
	{"forbid", 2 * time.Second, "Forbid", "Latest", 2500},
	{"forbid-skip", 2 * time.Second, "Forbid", "Skip", 300},
	{"forbid-all", 2 * time.Second, "Forbid", "All", 300},
	{"replace", 2 * time.Second, "Replace", "Latest", 2500},
	{"replace-all", 3 * time.Second, "Replace", "All", 500},
	{"queue", 2 * time.Second, "Queue", "Latest", 2500},
}

// writePlan writes the schedules.
func (h *harness) writePlan() error {
	text := "version: 1\nschedules:\n"
	for _, t := range timetables {
		text += fmt.Sprintf("  %s:\n    schedule: \"@every %v\"\n    job: tick\n    queue: high\n    concurrencyPolicy: %s\n    catchUp: %s\n    history: { successful: 10, failed: 1000 }\n    args: { work: %d }\n",
			t.name, t.step, t.policy, t.catchUp, t.work)
	}
	return os.WriteFile(h.schedules(), []byte(text), 0o600)
}

// ticks writes down what the schedules say of themselves, once the ticks that have come
// are through: some of them may still be skipped, or wait for an earlier run.
func (h *harness) ticks(ctx context.Context) {
	to := time.Now()
	time.Sleep(5 * time.Second)
	rdb := h.store.client
	until := fmt.Sprint(to.UnixMilli())
	for _, t := range timetables {
		fields := map[string]string{}
		if !h.within(mostRest, func() bool {
			held, err := rdb.ZCount(ctx, "{bide}:held:"+t.name, "-inf", until).Result()
			makeup, err2 := rdb.ZCount(ctx, "{bide}:makeup:"+t.name, "-inf", until).Result()
			return errors.Join(err, err2) == nil && held+makeup == 0
		}) {
			h.rec.Note(chaos.Event{Kind: chaos.Stuck, What: "ticks of " + t.name + " wait for ever"})
		}
		if !h.within(10*time.Second, func() bool {
			var err error
			fields, err = rdb.HGetAll(ctx, "{bide}:schedule:"+t.name).Result()
			return errors.Join(err, h.replaced(ctx, t.name)) == nil && fields["added"] != ""
		}) {
			h.rec.Note(chaos.Event{Kind: chaos.Stuck, What: "the schedule " + t.name + " is gone"})
			continue
		}
		h.rec.Note(chaos.Event{Kind: chaos.Ticks, What: t.name, State: t.policy, From: number(fields["added"]) * 1e6, To: to.UnixNano(), Pause: t.step.Milliseconds(),
			N: number(fields["missed"]) + number(fields["skipped"])})
	}
}

// replaced writes down which runs of a schedule a newer one has replaced, as far as it
// has not done so before. The schedule keeps a thousand of them: half an hour's worth.
func (h *harness) replaced(ctx context.Context, name string) error {
	records, err := h.store.client.ZRange(ctx, "{bide}:failed:"+name, 0, -1).Result()
	for _, r := range records {
		id, _, _ := strings.Cut(r, "\t")
		if _, known := h.records.LoadOrStore(id, nil); !known && strings.Contains(r, "\treplaced\t") {
			h.rec.Note(chaos.Event{Kind: chaos.Replaced, ID: id})
		}
	}
	return err
}
