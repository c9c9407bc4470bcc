package scheduler

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"pgregory.net/rapid"

	"github.com/bide-go/bide/internal/redistest"
)

// before is a hook that calls f before a command that carries the text is sent.
type before struct {
	text string
	f    func()
}

func (b before) DialHook(next redis.DialHook) redis.DialHook { return next }

func (b before) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

func (b before) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if slices.Contains(cmd.Args(), any(b.text)) {
			b.f()
		}
		return next(ctx, cmd)
	}
}

// editor is a scheduler whose applies can be delayed: time passes between what it
// read and what it writes.
func (r *rig) editor(name string, pause *time.Duration) *copyOf {
	l := &logs{}
	rdb := r.Server.Client()
	rdb.AddHook(before{name, func() { // only an apply carries the name
		d := *pause
		*pause = 0
		r.after(d)
	}})
	return &copyOf{New(rdb, Config{Name: name}), r, l}
}

func TestAnEditAtTheInstantOfATick(t *testing.T) {
	t.Parallel()
	ms := time.Millisecond
	// The edit is begun at one time and carried out at another; the tick is at 9:00:10.
	for _, edit := range []string{"retime", "rewrite", "remove", "remove and add"} {
		for _, times := range [][2]time.Duration{
			{9999 * ms, 9999 * ms}, {9999 * ms, 10000 * ms}, {10000 * ms, 10000 * ms}, {9999 * ms, 10001 * ms}, {10000 * ms, 10001 * ms}, {8 * time.Second, 10500 * ms},
		} {
			for _, promoted := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s %v to %v promoted %v", edit, times[0], times[1], promoted), func(t *testing.T) {
					t.Parallel()
					var pause time.Duration
					r := mini(t)
					s := r.editor("editor", &pause)
					d := every("s", "@every 10s")
					s.apply(d)
					r.at(nine.Add(times[0]))
					var ran []string
					if promoted {
						ran = append(ran, r.run()...)
					}
					switch pause = times[1] - times[0]; edit {
					case "retime":
						d.Schedule = []string{"@every 5s"}
						s.apply(d)
					case "rewrite":
						d.Args = json.RawMessage("2")
						s.apply(d)
					case "remove":
						s.apply()
					case "remove and add":
						s.apply()
						s.apply(d)
					}
					ran = append(ran, r.run()...)
					var want []string
					if edit != "remove" || times[1] >= 10*time.Second {
						want = ticks("s", sec(10))
					}
					if len(ran) == 0 { // still to come
						r.at(sec(10))
						ran = r.run()
					}
					wantIDs(t, "run", want, ran)
					r.at(sec(14))
					wantIDs(t, "run afterwards", nil, r.run())
				})
			}
		}
	}
}

// TestEditsNeitherSwallowNorRepeat edits a schedule at random, through two
// schedulers and at the very instants of ticks, and compares what ran with the
// definitions that were in force.
func TestEditsNeitherSwallowNorRepeat(t *testing.T) {
	t.Parallel()
	server := redistest.NewMini(t)
	rapid.Check(t, func(rt *rapid.T) {
		server.Mini.FlushAll()
		r := newRig(t, server)
		var pause time.Duration
		schedulers := []*copyOf{r.editor("a", &pause), r.editor("b", &pause)}
		expressions := []string{"@every 1s", "* * * * * *", "@every 2s", "*/3 * * * * *"}
		type span struct {
			expression string
			from, to   time.Time // (from, to]
		}
		var spans []span
		current := "" // in force; empty for none
		from := r.clock
		ran := map[string]int{}
		collect := func() {
			if r.promote() == 0 {
				return
			}
			for _, j := range r.work() {
				ran[j.ID]++
			}
		}
		force := func(expression string) { // from now on
			spans = append(spans, span{current, from, r.clock})
			current, from = expression, r.clock
		}
		args := 0
		define := func(expression string) []Definition {
			args++
			d := every("s", expression)
			d.Args = json.RawMessage(fmt.Sprint(args))
			return []Definition{d}
		}
		for range rapid.IntRange(5, 15).Draw(rt, "steps") {
			jump := time.Duration(rapid.IntRange(0, 400).Draw(rt, "jump")) * time.Millisecond
			if rapid.Bool().Draw(rt, "snap") {
				jump = r.clock.Truncate(time.Second).Add(time.Second + time.Duration(rapid.IntRange(-1, 1).Draw(rt, "beside"))*time.Millisecond).Sub(r.clock)
			}
			r.after(max(jump, 0))
			if rapid.Bool().Draw(rt, "promoted before") {
				collect()
			}
			pause = time.Duration(rapid.SampledFrom([]int{0, 0, 1, 2, 100}).Draw(rt, "pause")) * time.Millisecond
			s := rapid.SampledFrom(schedulers).Draw(rt, "scheduler")
			switch act := rapid.SampledFrom([]string{"pass", "pass", "retime", "rewrite", "remove"}).Draw(rt, "act"); {
			case act == "retime" || act == "rewrite" && current == "":
				expression := rapid.SampledFrom(expressions).Draw(rt, "expression")
				s.apply(define(expression)...)
				force(expression)
			case act == "rewrite":
				s.apply(define(current)...)
			case act == "remove":
				s.apply()
				force("")
			default:
				pause = 0
				s.step()
			}
			collect()
		}
		force("")
		for _, sp := range spans {
			if sp.expression == "" {
				continue
			}
			p, err := newPlan(every("s", sp.expression))
			if err != nil {
				rt.Fatal(err)
			}
			for tick := p.next(sp.from); !tick.After(sp.to); tick = p.next(tick) {
				id := ticks("s", tick)[0]
				if ran[id] != 1 {
					rt.Fatalf("%s ran %d times; definitions in force: %v", id, ran[id], spans)
				}
				delete(ran, id)
			}
		}
		for id := range ran {
			rt.Fatalf("%s ran and was not in force: %v", id, spans)
		}
		r.sum()
	})
}
