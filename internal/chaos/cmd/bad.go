package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/bide-go/bide/internal/chaos"
	"github.com/bide-go/bide/job"
	"github.com/bide-go/bide/scheduler"
)

// badInputs are what people and programs put in that no job can be made of, or none
// that can run. Each is taken or refused without harm to anything else.
var badInputs = []struct {
	what string
	try  func(ctx context.Context, m *maker, id string) error
}{
	{"inbox entry that is no JSON", func(ctx context.Context, m *maker, id string) error { return m.put(ctx, 0, "send-email "+id) }},
	{"inbox entry of three elements", func(ctx context.Context, m *maker, id string) error {
		return m.put(ctx, 0, fmt.Sprintf(`[%q,"high","act"]`, id))
	}},
	{"inbox entry for a queue with a bad name", func(ctx context.Context, m *maker, id string) error {
		return m.put(ctx, 0, fmt.Sprintf(`[%q,"High Queue","act",{}]`, id))
	}},
	{"inbox entry due in milliseconds", func(ctx context.Context, m *maker, id string) error {
		return m.put(ctx, float64(time.Now().UnixMilli()), fmt.Sprintf(`[%q,"high","act",{}]`, id))
	}},
	{"inbox entry of a megabyte", func(ctx context.Context, m *maker, id string) error {
		return m.put(ctx, 0, fmt.Sprintf(`[%q,"high","act",%q]`, id, strings.Repeat("x", 1<<20)))
	}},
	{"job with a bad name", func(ctx context.Context, m *maker, id string) error {
		_, err := m.client.Execute(ctx, "high", "no name", nil, scheduler.WithID(id))
		return err
	}},
	{"args beyond a megabyte", func(ctx context.Context, m *maker, id string) error {
		_, err := m.client.Execute(ctx, "high", "act", strings.Repeat("x", job.MaxArgs+1), scheduler.WithID(id))
		return err
	}},
	{"args that no handler can read", func(ctx context.Context, m *maker, id string) error {
		_, err := m.client.Execute(ctx, "high", "act", "not a task", scheduler.WithID(id))
		return err
	}},
	{"body that somebody overwrites", func(ctx context.Context, m *maker, id string) error {
		if _, err := m.client.ExecuteLater(ctx, "high", "act", task{}, ms(300), scheduler.WithID(id)); err != nil {
			return err
		}
		return m.plain.SetXX(ctx, "{bide}:job:"+id, "spoilt", 0).Err()
	}},
}

func (m *maker) put(ctx context.Context, score float64, member string) error {
	return m.plain.ZAdd(ctx, "{bide}:inbox", redis.Z{Score: score, Member: member}).Err()
}

// bad tries one of them. Whether it is refused at once is not looked at: what counts is
// that nothing else suffers.
func (m *maker) bad(ctx context.Context, rng *rand.Rand) {
	b := badInputs[rng.IntN(len(badInputs))]
	m.rec.Note(chaos.Event{Kind: chaos.Bad, What: b.what})
	call, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancel()
	_ = b.try(call, m, "bad-"+m.id())
}
