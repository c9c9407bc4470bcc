package job

import "testing"

// Every pair of states, so that a new move is a decision and not an accident.
func TestMoves(t *testing.T) {
	want := map[State]string{
		Delayed: "delayed waiting cancelled expired skipped",
		Waiting: "delayed active cancelled expired",
		Active:  "delayed waiting completed dead cancelled",
		Dead:    "waiting",
	}
	for _, from := range States {
		got := ""
		for _, to := range States {
			if from.CanBecome(to) {
				got += " " + string(to)
			}
		}
		if got != "" {
			got = got[1:]
		}
		if got != want[from] {
			t.Errorf("%s can become %q, want %q", from, got, want[from])
		}
		if from.CanBecome("") || from.CanBecome("other") || State("other").CanBecome(from) {
			t.Errorf("%s moves from or to no state", from)
		}
	}
}

func TestStates(t *testing.T) {
	live := map[State]bool{Delayed: true, Waiting: true, Active: true}
	seen := map[State]bool{}
	for _, s := range States {
		if seen[s] || !s.Valid() || s.Live() != live[s] || s.Ended() == live[s] {
			t.Errorf("%s: valid %v, live %v, ended %v", s, s.Valid(), s.Live(), s.Ended())
		}
		seen[s] = true
	}
	if len(States) != 8 {
		t.Errorf("%d states", len(States))
	}
	for _, s := range []State{"", "DEAD", "stale"} {
		if s.Valid() || s.Live() {
			t.Errorf("%q: valid %v, live %v", s, s.Valid(), s.Live())
		}
	}
	if State("").Ended() {
		t.Error("no state is an end state")
	}
}

// From every live state an end can be reached, and no end but dead is left again.
func TestNothingSticks(t *testing.T) {
	for _, s := range States {
		ends, moves := false, false
		for _, to := range States {
			if s.CanBecome(to) {
				moves = true
				ends = ends || to.Ended()
			}
		}
		if s.Live() && !ends {
			t.Errorf("%s has no end", s)
		}
		if s.Ended() && s != Dead && moves {
			t.Errorf("%s is left again", s)
		}
	}
}
