package dispatcher

import (
	"sort"

	"github.com/bide-go/bide/scripts"
)

// shares divides free slots among the queues.
type shares struct {
	queues []share // in the order they are offered slots
	total  int     // of the weights; 0 for strict order
}

type share struct {
	queue  string
	weight int
	credit int
}

func newShares(queues []string, weights map[string]int) *shares {
	s := &shares{}
	for _, queue := range queues {
		weight := 0
		if weights != nil {
			weight = max(weights[queue], 1)
		}
		s.queues = append(s.queues, share{queue: queue, weight: weight})
		s.total += weight
	}
	sort.SliceStable(s.queues, func(i, j int) bool { return s.queues[i].weight > s.queues[j].weight })
	return s
}

// offer says how many of n slots each queue is offered first; what it cannot use
// goes to the others in order. In strict order each is offered everything. With
// weights the slots are dealt out one by one to the queue that is owed most, and
// what is owed is remembered: so shares hold even when slots come singly, where
// rounding up would give each of them to the heaviest queue.
func (s *shares) offer(n int) []scripts.Offer {
	offers := make([]scripts.Offer, len(s.queues))
	for i := range s.queues {
		offers[i].Queue = s.queues[i].queue
		if s.total == 0 {
			offers[i].Slots = n
		}
	}
	if s.total == 0 {
		return offers
	}
	for i := range s.queues { // whole rounds come out even
		offers[i].Slots = n / s.total * s.queues[i].weight
	}
	for range n % s.total {
		best := 0
		for i := range s.queues {
			s.queues[i].credit += s.queues[i].weight
			if s.queues[i].credit > s.queues[best].credit {
				best = i
			}
		}
		s.queues[best].credit -= s.total
		offers[best].Slots++
	}
	return offers
}
