package dispatcher

import (
	"math"
	"testing"
)

func TestSharesInStrictOrder(t *testing.T) {
	s := newShares([]string{"high", "medium", "low"}, nil)
	for i, o := range s.offer(7) {
		if want := []string{"high", "medium", "low"}[i]; o.Queue != want || o.Slots != 7 {
			t.Errorf("offer %d = %+v, want 7 slots of %s", i, o, want)
		}
	}
}

func TestShares(t *testing.T) {
	// Slots come singly, in batches of one size, or of changing ones.
	sizes := map[string]func(turn int) int{
		"one":      func(int) int { return 1 },
		"four":     func(int) int { return 4 },
		"ten":      func(int) int { return 10 },
		"hundred":  func(int) int { return 100 },
		"changing": func(turn int) int { return turn*7%23 + 1 },
	}
	weights := map[string]map[string]int{
		"6/3/1":    {"high": 6, "medium": 3, "low": 1},
		"1/1/1":    {},
		"1000/1/1": {"high": 1000, "medium": 1, "low": 1},
		"2/7/1":    {"high": 2, "medium": 7},
	}
	for size, n := range sizes {
		for name, w := range weights {
			t.Run(name+", slots "+size, func(t *testing.T) {
				s := newShares([]string{"high", "medium", "low"}, w)
				got := map[string]int{}
				all := 0
				for turn := range 3000 {
					sum := 0
					for _, o := range s.offer(n(turn)) {
						if o.Slots < 0 {
							t.Fatalf("an offer of %d slots", o.Slots)
						}
						got[o.Queue] += o.Slots
						sum += o.Slots
					}
					if sum != n(turn) {
						t.Fatalf("%d of %d slots were offered", sum, n(turn))
					}
					all += sum
				}
				for _, share := range s.queues {
					want := float64(all) * float64(share.weight) / float64(s.total)
					if math.Abs(float64(got[share.queue])-want) > 3 {
						t.Errorf("%s was offered %d of %d slots, want %.0f", share.queue, got[share.queue], all, want)
					}
				}
			})
		}
	}
}
