package protocol

import (
	"encoding/json"
	"testing"
)

func TestPayloadIsAboutAsLongAsPromised(t *testing.T) {
	b, err := json.Marshal(NewPayload(42_000, 1796049255123))
	if err != nil {
		t.Fatal(err)
	}
	if len(b) < 100 || len(b) > 125 {
		t.Errorf("%d bytes: %s", len(b), b)
	}
	if seq, due, err := Parse(b); seq != 42_000 || due != 1796049255123 || err != nil {
		t.Errorf("read back %d, %d, %v", seq, due, err)
	}
}

func TestDueIsEvenlySpread(t *testing.T) {
	s := Spec{Jobs: 5, DueMs: 1000, OverMs: 20}
	for i, want := range []int64{1000, 1004, 1008, 1012, 1016} {
		if got := s.Due(i); got != want {
			t.Errorf("job %d: %d, want %d", i, got, want)
		}
	}
	if (Spec{Jobs: 5, OverMs: 20}).Due(3) != 0 {
		t.Error("jobs for now have a due time")
	}
}
