package scheduler

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/bide-go/bide/job"
	"github.com/bide-go/bide/scripts"
)

func TestCancel(t *testing.T) {
	t.Parallel()
	eachShop(t, func(t *testing.T, s shop) {
		ctx := context.Background()
		delayed := s.must(s.ExecuteLater(ctx, "high", "tick", nil, time.Hour))
		waiting := s.must(s.Execute(ctx, "high", "tick", nil))
		kept := s.must(s.Execute(ctx, "high", "tick", nil, WithRetention(time.Hour)))
		for _, id := range []string{delayed, waiting, kept} {
			j, err := s.Cancel(ctx, id)
			if err != nil || j.ID != id || j.State != job.Cancelled {
				t.Errorf("cancelled: %+v, %v", j, err)
			}
		}
		if j, err := s.Get(ctx, kept); err != nil || j.State != job.Cancelled || j.Reason != job.ReasonRequest || j.Finished.IsZero() {
			t.Errorf("the retained one: %+v, %v", j, err)
		}
		_, err := s.Cancel(ctx, kept)
		var state *job.StateError
		if !errors.As(err, &state) || state.From != job.Cancelled || state.ID != kept {
			t.Errorf("a second time: %v", err)
		}
		if _, err := s.Cancel(ctx, waiting); !errors.Is(err, job.ErrNotFound) {
			t.Errorf("one that has gone: %v", err)
		}
		if got := s.work(); len(got) != 0 {
			t.Errorf("run all the same: %v", idsOf(got))
		}

		active := s.must(s.Execute(ctx, "high", "tick", nil))
		taken := s.take(1)
		j, err := s.Cancel(ctx, active)
		if err != nil || j.State != job.Active || !j.CancelRequested {
			t.Errorf("an active one: %+v, %v", j, err)
		}
		if _, err := s.rig.set.Complete(ctx, []scripts.Lease{taken[0].Lease}); err != nil {
			t.Fatal(err)
		}
		if sum := s.sum(); sum.Completed != 1 || sum.Cancelled != 3 {
			t.Errorf("nil of its handler completes it all the same: %+v", sum)
		}
	})
}

// take leases up to n jobs named tick of queue high.
func (s shop) take(n int) []scripts.Leased {
	s.t.Helper()
	s.taken++
	got, err := s.rig.set.Reserve(context.Background(), scripts.ReserveArgs{
		Token: fmt.Sprintf("w:%d", s.taken), Lease: time.Minute, Limit: n, Names: []string{"tick"}, Offers: []scripts.Offer{{Queue: "high", Slots: n}},
	})
	if err != nil || len(got.Jobs) != n {
		s.t.Fatalf("took %d jobs, want %d: %v", len(got.Jobs), n, err)
	}
	return got.Jobs
}

func TestRetry(t *testing.T) {
	t.Parallel()
	eachShop(t, func(t *testing.T, s shop) {
		ctx := context.Background()
		id := s.must(s.Execute(ctx, "high", "tick", nil, WithUnique("u")))
		lease := s.take(1)[0].Lease
		if _, err := s.Retry(ctx, id); !errorsAsState(err, job.Active, job.Waiting) {
			t.Errorf("an active one: %v", err)
		}
		if _, err := s.rig.set.Fail(ctx, []scripts.Verdict{{Lease: lease, Reason: job.ReasonAttempts, Kind: job.KindFailed, Error: "no"}}); err != nil {
			t.Fatal(err)
		}
		if res, err := s.Enqueue(ctx, Request{Queue: "high", Name: "tick", Options: []Option{WithID(id)}}); err != nil || !res.Deduplicated || res.State != job.Dead {
			t.Errorf("the id of a dead job: %+v, %v", res, err)
		}
		other := s.must(s.Execute(ctx, "high", "tick", nil, WithUnique("u")))
		if _, err := s.Retry(ctx, id); !errorsAsState(err, job.Dead, job.Waiting) || !strings.Contains(err.Error(), other) {
			t.Errorf("while another holds its unique key: %v", err)
		}
		if _, err := s.Cancel(ctx, other); err != nil {
			t.Fatal(err)
		}
		j, err := s.Retry(ctx, id)
		if err != nil || j.State != job.Waiting || j.Attempts != 0 || j.Reason != "" || j.LastError() != "no" {
			t.Errorf("a dead one: %+v, %v", j, err)
		}
		if _, err := s.Retry(ctx, id); !errorsAsState(err, job.Waiting, job.Waiting) {
			t.Errorf("a waiting one: %v", err)
		}
		later := s.must(s.ExecuteLater(ctx, "high", "tick", nil, time.Hour))
		if j, err := s.Retry(ctx, later); err != nil || j.State != job.Delayed || j.Due.After(s.now()) {
			t.Errorf("a delayed one is due now: %+v, %v", j, err)
		}
		if got := len(s.run()); got != 2 {
			t.Errorf("run: want 2, got %d", got)
		}
		if _, err := s.Retry(ctx, "nobody"); !errors.Is(err, job.ErrNotFound) {
			t.Errorf("nobody: %v", err)
		}
	})
}

func errorsAsState(err error, from, to job.State) bool {
	var state *job.StateError
	return errors.As(err, &state) && state.From == from && state.To == to
}

func TestReschedule(t *testing.T) {
	t.Parallel()
	eachShop(t, func(t *testing.T, s shop) {
		ctx := context.Background()
		id := s.must(s.ExecuteLater(ctx, "high", "tick", nil, time.Hour))
		at := s.now().Add(5 * time.Hour).Truncate(time.Millisecond)
		if j, err := s.Reschedule(ctx, id, at); err != nil || !j.Due.Equal(at) || j.State != job.Delayed {
			t.Errorf("%+v, %v", j, err)
		}
		before := s.now()
		j, err := s.RescheduleIn(ctx, id, time.Minute)
		if err != nil || j.Due.Before(before.Add(time.Minute)) || j.Due.After(s.now().Add(time.Minute+time.Millisecond)) {
			t.Errorf("%+v, %v", j, err)
		}
		if j, err := s.Reschedule(ctx, id, before.Add(-time.Hour)); err != nil || j.Due.After(s.now()) || j.Due.Before(before.Add(-time.Millisecond)) {
			t.Errorf("into the past: %+v, %v", j, err)
		}
		if got := s.run(); len(got) != 1 || got[0] != id {
			t.Errorf("run: %v", got)
		}
		waiting := s.must(s.Execute(ctx, "high", "tick", nil))
		if _, err := s.Reschedule(ctx, waiting, at); !errorsAsState(err, job.Waiting, job.Delayed) {
			t.Errorf("a waiting one: %v", err)
		}
		if _, err := s.RescheduleIn(ctx, "nobody", 0); !errors.Is(err, job.ErrNotFound) {
			t.Errorf("nobody: %v", err)
		}
	})
}

func TestGetOfNobody(t *testing.T) {
	t.Parallel()
	eachShop(t, func(t *testing.T, s shop) {
		for _, id := range []string{"nobody", "", "a b", "s@2026-11-30T09:00:00Z", "\x00\xff"} {
			if j, err := s.Get(context.Background(), id); !errors.Is(err, job.ErrNotFound) || j != nil {
				t.Errorf("%q: %+v, %v", id, j, err)
			}
		}
	})
}
