package schedulefile

import "github.com/bide-go/bide/internal/spelling"

// nearest is the candidate most like word, or nothing if none is like it. The
// longer a word, the more slips are allowed in it.
func nearest(word string, candidates []string) string {
	best, found := slips(word)+1, ""
	for _, c := range candidates {
		if d := spelling.Distance(plainName(word), plainName(c)); d < best && d <= slips(c) {
			best, found = d, c
		}
	}
	return found
}

func slips(word string) int {
	switch n := len(word); {
	case n <= 2:
		return 0
	case n <= 5:
		return 1
	case n <= 9:
		return 2
	}
	return 3
}
