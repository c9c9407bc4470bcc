package job

import (
	"errors"
	"fmt"
	"testing"
)

func TestPauseSchedule(t *testing.T) {
	boom := errors.New("boom")
	err := fmt.Errorf("wrapped: %w", PauseSchedule(boom))
	if !IsPermanent(err) || !PausesSchedule(err) || !errors.Is(err, boom) || err.Error() != "wrapped: boom" {
		t.Errorf("%v", err)
	}
	if PauseSchedule(nil) != nil || PausesSchedule(Permanent(boom)) || PausesSchedule(nil) {
		t.Error("an error pauses that should not")
	}
}
