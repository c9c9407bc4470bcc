package clock

import (
	"context"
	"testing"
	"time"
)

func TestSleepOr(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(context.Background())
	wake := make(chan struct{}, 1)
	if SleepOr(ctx, time.Millisecond, wake) {
		t.Error("woken by nobody")
	}
	wake <- struct{}{}
	if !SleepOr(ctx, time.Hour, wake) {
		t.Error("a wake-up call that came before was not heard")
	}
	cancel()
	if SleepOr(ctx, time.Hour, wake) {
		t.Error("woken by the end of the context")
	}
}

func TestStamp(t *testing.T) {
	t.Parallel()
	var s Stamp
	if !s.Time().IsZero() {
		t.Errorf("never is %v", s.Time())
	}
	at := Now()
	s.Set(at)
	if !s.Time().Equal(at) {
		t.Errorf("want %v, got %v", at, s.Time())
	}
}
