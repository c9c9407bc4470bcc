package scheduler

import (
	"context"
	"strings"
	"testing"
	"time"
)

// Something foreign under a key of one schedule is that one's trouble alone.
func TestASpoiltScheduleStopsNoOther(t *testing.T) {
	t.Parallel()
	for _, spoilt := range []string{"aa", "mm", "zz"} {
		t.Run(spoilt, func(t *testing.T) {
			t.Parallel()
			r := mini(t)
			s := r.scheduler("a")
			s.apply(every("aa", "@every 10s"), every("mm", "@every 10s"), every("zz", "@every 10s"))
			r.rdb.Set(context.Background(), "{bide}:planned:"+spoilt, "foreign", 0)
			r.at(sec(60))
			r.run()
			if err := s.pass(context.Background()); err == nil {
				t.Error("the trouble is not reported")
			}
			got := map[string]bool{}
			for _, id := range r.planned() {
				name, _, _ := strings.Cut(id, "@")
				got[name] = true
			}
			for _, name := range []string{"aa", "mm", "zz"} {
				if got[name] != (name != spoilt) {
					t.Errorf("%s is planned: %v; %s is spoilt", name, got[name], spoilt)
				}
			}
			// It goes on once that key is free again.
			r.rdb.Del(context.Background(), "{bide}:planned:"+spoilt)
			s.step()
			if ids := r.planned(); len(ids) != 3*6 {
				t.Errorf("planned: %v", ids)
			}
		})
	}
}

// Ticks that cannot be made are missed, not forgotten.
func TestTicksThatNoLaneCanTakeAreCounted(t *testing.T) {
	t.Parallel()
	r := mini(t)
	r.rdb.Set(context.Background(), "{bide}:queue:medium", "foreign", 0)
	s := r.scheduler("a")
	s.apply(every("s", "@every 10s"))
	wantIDs(t, "planned", nil, r.planned())
	if got := r.missed("s"); got != 6 {
		t.Errorf("missed: want 6, got %d", got)
	}
	r.rdb.Del(context.Background(), "{bide}:queue:medium")
	r.at(sec(60))
	s.step()
	wantIDs(t, "planned", ticks("s", series(sec(70), sec(120), 10*time.Second)...), r.planned())
}
