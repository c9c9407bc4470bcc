package runner

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bide-go/bide/bench/internal/protocol"
)

func TestSystemsTakeTurns(t *testing.T) {
	b := &Bench{Rounds: 2, Workloads: []string{"enqueue", "idle"}}
	turns, err := b.turns(Systems)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, x := range turns {
		got = append(got, fmt.Sprintf("%s %s %d", x.v.name, x.s.Name, x.round))
	}
	want := []string{
		"1 producer bide 1", "1 producer asynq 1", "1 producer bullmq 1", "1 producer bide 2", "1 producer asynq 2", "1 producer bullmq 2",
		"32 producers bide 1", "32 producers asynq 1", "32 producers bullmq 1", "32 producers bide 2", "32 producers asynq 2", "32 producers bullmq 2",
		"bulk bide 1", "bulk bullmq 1", "bulk bide 2", "bulk bullmq 2",
		"one job an hour ahead bide 1", "one job an hour ahead asynq 1", "one job an hour ahead asynq-1ms 1", "one job an hour ahead bullmq 1",
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

func TestUnknownNamesAreRefused(t *testing.T) {
	if _, err := (&Bench{Workloads: []string{"proces"}}).turns(Systems); err == nil {
		t.Error("an unknown workload was accepted")
	}
	if _, _, err := (&Bench{Systems: []string{"sidekiq"}}).systems(context.Background()); err == nil {
		t.Error("an unknown system was accepted")
	}
	if _, err := (&Bench{Workloads: []string{"growth"}}).turns(Systems[1:]); err == nil {
		t.Error("nothing to measure was accepted")
	}
}

func TestOthersAreWhatNeitherRedisNorUsUsed(t *testing.T) {
	before := sample{usage: usage{seconds: 1, redisCPU: 1, programCPU: 2, otherCPU: 100, steal: 1}, self: 5}
	after := sample{usage: usage{seconds: 3, redisCPU: 2, programCPU: 2.5, otherCPU: 102, steal: 1.25}, self: 5.1}
	got := after.since(before)
	if got.seconds != 2 || got.redisCPU != 1 || got.programCPU != 0.5 || got.steal != 0.25 || got.otherCPU < 0.399 || got.otherCPU > 0.401 {
		t.Errorf("%+v", got)
	}
}

func TestSettledFindsEveryFault(t *testing.T) {
	spec := protocol.Spec{Jobs: 10, Leave: 2}
	good := protocol.Result{Started: 10, Counts: protocol.Counts{Delayed: 2}}
	if err := settled(System{}, spec, good); err != nil {
		t.Error(err)
	}
	for name, spoil := range map[string]func(*protocol.Result){
		"one missing":      func(r *protocol.Result) { r.Started = 9 },
		"one twice":        func(r *protocol.Result) { r.Doubled = 1 },
		"one active":       func(r *protocol.Result) { r.Counts.Active = 1 },
		"one failed":       func(r *protocol.Result) { r.Counts.Failed = 1 },
		"delayed ones ran": func(r *protocol.Result) { r.Counts.Delayed = 0 },
	} {
		r := good
		spoil(&r)
		if err := settled(System{}, spec, r); err == nil {
			t.Errorf("%s is no fault", name)
		}
	}
}

func TestWhatAnAdapterMustSay(t *testing.T) {
	for text, want := range map[string]string{
		``: "ended without a word", `{"event":"error","text":"no Redis"}`: "no Redis",
		`{"event":"result"}`: "want", `{"event":"ready"}`: "want", `nonsense`: "invalid",
	} {
		c := &conversation{out: json.NewDecoder(strings.NewReader(text))}
		if _, err := c.expect(protocol.Done); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v", text, err)
		}
	}
}
