package schedulefile

// nearest is the candidate most like word, or nothing if none is like it. The
// longer a word, the more slips are allowed in it.
func nearest(word string, candidates []string) string {
	best, found := slips(word)+1, ""
	for _, c := range candidates {
		if d := distance(plainName(word), plainName(c)); d < best && d <= slips(c) {
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

// distance counts the letters to add, drop, replace, or swap with their
// neighbour to make b of a.
func distance(a, b string) int {
	x, y := []rune(a), []rune(b)
	before, prev, row := make([]int, len(y)+1), make([]int, len(y)+1), make([]int, len(y)+1)
	for j := range prev {
		prev[j] = j
	}
	for i := 1; i <= len(x); i++ {
		row[0] = i
		for j := 1; j <= len(y); j++ {
			cost := 1
			if x[i-1] == y[j-1] {
				cost = 0
			}
			row[j] = min(prev[j]+1, row[j-1]+1, prev[j-1]+cost)
			if i > 1 && j > 1 && x[i-1] == y[j-2] && x[i-2] == y[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, prev, row = prev, row, before
	}
	return prev[len(y)]
}
