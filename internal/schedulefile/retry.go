package schedulefile

import (
	"fmt"
	"time"

	"github.com/bide-go/bide/internal/duration"
	"github.com/bide-go/bide/job"
)

type retry struct {
	maxAttempts            int
	minBackoff, maxBackoff time.Duration
}

const maxAttempts = 100

func (s scope) retry(p pair) (r retry) {
	if !isMap(p.value) {
		hint := "for example retry: {maxAttempts: 4}"
		if n, ok := wholeNumberOf(p.value); ok && n >= 0 && n < maxAttempts {
			hint = fmt.Sprintf("did you mean \"retry: {maxAttempts: %d}\"? The first attempt counts", n+1)
		}
		s.wrongType(p, "a map", hint)
		return r
	}
	pairs, _ := s.pairs(p.value)
	known := s.sortOut(retryLevel, pairs)
	for _, p := range known.order {
		field := s.child(p.name)
		switch p.name {
		case "maxAttempts":
			n, _ := field.integer(p, 1, maxAttempts)
			r.maxAttempts = int(n)
		case "minBackoff":
			r.minBackoff = field.duration(p)
		case "maxBackoff":
			r.maxBackoff = field.duration(p)
		}
	}
	s.checkBackoff(known, r)
	return r
}

// checkBackoff compares the bounds, a missing one being its default.
func (s scope) checkBackoff(known fields, r retry) {
	lo, hi := known.get("minBackoff"), known.get("maxBackoff")
	least, most := orDefault(r.minBackoff, job.DefaultMinBackoff), orDefault(r.maxBackoff, job.DefaultMaxBackoff)
	if least <= most || lo != nil && r.minBackoff == 0 || hi != nil && r.maxBackoff == 0 {
		return
	}
	switch {
	case lo == nil:
		s.child("maxBackoff").fail("E008", hi.at(), fmt.Sprintf("%s is below minBackoff, which is %s by default", s.child("maxBackoff").label(), duration.Format(job.DefaultMinBackoff)), "set minBackoff too")
	case hi == nil:
		s.child("minBackoff").fail("E008", lo.at(), fmt.Sprintf("%s is above maxBackoff, which is %s by default", s.child("minBackoff").label(), duration.Format(job.DefaultMaxBackoff)), "set maxBackoff too")
	default:
		s.child("minBackoff").fail("E008", lo.at(), fmt.Sprintf("%s is above maxBackoff", s.child("minBackoff").label()), "minBackoff must be at most maxBackoff")
	}
}

func orDefault(d, def time.Duration) time.Duration {
	if d == 0 {
		return def
	}
	return d
}
