package timely

import (
	"testing"
	"time"
)

func TestTimes(t *testing.T) {
	for _, tt := range []struct {
		load  float64
		cores int
		want  time.Duration
	}{
		{0, 2, time.Second}, // nobody tells
		{1.5, 2, time.Second},
		{7, 2, 3500 * time.Millisecond},
		{7, 16, time.Second},
	} {
		if got := times(tt.load, tt.cores, time.Second); got != tt.want {
			t.Errorf("load %v on %d cores: %v, want %v", tt.load, tt.cores, got, tt.want)
		}
	}
}

func TestLimit(t *testing.T) {
	if got := Limit(time.Minute); got < time.Minute {
		t.Errorf("a minute has become %v", got)
	}
}
