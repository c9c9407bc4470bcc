package scripts

import (
	"context"
	"fmt"
	"strings"
	"time"
)

// Rejection is something that no job could be made of.
type Rejection struct {
	At     time.Time
	Reason string
	Member string
}

// LastRejection returns the newest rejection; ok is false if there is none.
func (s *Set) LastRejection(ctx context.Context) (r Rejection, ok bool, err error) {
	entries, err := s.rdb.XRevRangeN(ctx, s.keys.name("rejected"), "+", "-", 1).Result()
	if err != nil {
		return r, false, fmt.Errorf("rejections: %w", classify(err))
	}
	if len(entries) == 0 {
		return r, false, nil
	}
	ms, _, _ := strings.Cut(entries[0].ID, "-")
	r.At = toTime(ms)
	r.Reason, r.Member = toText(entries[0].Values["reason"]), toText(entries[0].Values["member"])
	return r, true, nil
}
