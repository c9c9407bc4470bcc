package scripts

import (
	"context"
	"time"
)

// Expire ends up to limit jobs that were not started by their expiry. more says
// that others are left.
func (s *Set) Expire(ctx context.Context, limit int) (expired int, more bool, err error) {
	reply, err := s.run(ctx, "expire", []any{limit})
	if err != nil {
		return 0, false, err
	}
	list := toList(reply)
	return int(toInt(item(list, 1))), int(toInt(item(list, 0))) == limit, nil
}

// Trimmed counts what one call of trim removed.
type Trimmed struct{ Finished, Dead, Ghosts int }

// Trim removes what was kept long enough: finished jobs past their retention, and
// dead ones past deadRetention or beyond the newest deadMax.
func (s *Set) Trim(ctx context.Context, limit int, deadRetention time.Duration, deadMax int) (Trimmed, error) {
	reply, err := s.run(ctx, "trim", []any{limit, deadRetention.Milliseconds(), deadMax})
	if err != nil {
		return Trimmed{}, err
	}
	list := toList(reply)
	return Trimmed{int(toInt(item(list, 0))), int(toInt(item(list, 1))), int(toInt(item(list, 2)))}, nil
}
