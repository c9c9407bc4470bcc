package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/bide-go/bide/internal/chaos"
	"github.com/bide-go/bide/job"
)

func number(text string) int64 {
	n, _ := strconv.ParseInt(text, 10, 64)
	return n
}

// history reads what everybody wrote down, and what Redis says of each job.
func (h *harness) history() ([]chaos.Event, error) {
	files, err := filepath.Glob(h.dir + "/*.events")
	if err != nil {
		return nil, err
	}
	var events []chaos.Event
	seen := map[string]bool{}
	for _, path := range files {
		some, err := chaos.Read(path)
		if err != nil {
			return nil, err
		}
		events = append(events, some...)
	}
	chaos.Sort(events)
	for _, e := range events {
		if e.ID == "" || seen[e.ID] {
			continue
		}
		seen[e.ID] = true
		j, err := h.set.Inspect(context.Background(), e.ID)
		final := chaos.Event{At: events[len(events)-1].At, Kind: chaos.Final, ID: e.ID}
		switch {
		case err == nil:
			final.State, final.Attempt, final.Lost = string(j.State), j.Attempts, j.Lost
		case !errors.Is(err, job.ErrNotFound):
			return nil, err
		}
		events = append(events, final)
	}
	return events, nil
}

// judge has the checker look at the run, and prints what it finds.
func (h *harness) judge() (int, error) {
	events, err := h.history()
	if err != nil {
		return 2, err
	}
	broken := chaos.Check(events)
	bulks, _ := filepath.Glob(h.dir + "/*.bulk")
	bulk, err := chaos.CountBulk(events, bulks)
	if err != nil {
		return 2, err
	}
	h.summary(events, bulk)
	if bulk.Lost > 0 && !slices.ContainsFunc(events, func(e chaos.Event) bool { return e.Kind == chaos.Loss }) || bulk.Doubled > 0 {
		broken = append(broken, chaos.Violation{Rule: chaos.RuleLost, Detail: fmt.Sprintf("bulk jobs: %+v", bulk)})
	}
	if len(broken) == 0 && !h.tb.failed {
		fmt.Printf("ok: seed %d, redis %s: no rule broken\n", h.seed, h.kind)
		return 0, nil
	}
	const most = 5
	for i, v := range broken {
		if i == most {
			fmt.Printf("and %d more\n", len(broken)-most)
			break
		}
		fmt.Println(v)
	}
	fmt.Printf("BROKEN: seed %d, redis %s: %d\n", h.seed, h.kind, len(broken))
	if _, err := os.Stat(h.dir); err == nil {
		all, err := os.Create(h.dir + "/broken.txt")
		if err == nil {
			for _, v := range broken {
				fmt.Fprintln(all, v)
			}
			all.Close()
		}
	}
	return 1, nil
}

// summary prints figures of the run as a table that a page can hold.
func (h *harness) summary(events []chaos.Event, bulk chaos.BulkCount) {
	fmt.Println(chaos.Summarise(events, bulk))
}
