package bundled

import (
	"fmt"
	"strings"

	"github.com/bide-go/bide/internal/spelling"
)

// maxShown is how many bytes of a foreign text a message repeats.
const maxShown = 40

// cut shortens s to what a message may show of it.
func cut(s string) string { return spelling.Cut(s, maxShown) }

// quote is a foreign text in quotes, cut.
func quote(s string) string { return fmt.Sprintf("%q", cut(s)) }

func didYouMean(guess string) string { return fmt.Sprintf("did you mean %q?", guess) }

// list is "a, b and c" for the conjunction "and".
func list(words []string, conjunction string) string {
	last := len(words) - 1
	if last < 1 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:last], ", ") + " " + conjunction + " " + words[last]
}

// nearest is the word that was probably meant by got, or empty: the one for
// which got is another name, one written in another way (fail_attempts), or one
// that is a slip of the fingers away.
func nearest(got string, words []string, other map[string]string) string {
	if len(got) > maxShown {
		return ""
	}
	folded := fold(got)
	for _, w := range words {
		if fold(w) == folded {
			return w
		}
	}
	if w, ok := other[folded]; ok {
		return w
	}
	best, least := "", 3
	for _, w := range words {
		// A third of the word at most, else everything is near to a short one.
		if d := spelling.Distance(folded, fold(w)); d < least && 3*d <= len(w) {
			best, least = w, d
		}
	}
	return best
}

var joiner = strings.NewReplacer("_", "", "-", "", " ", "")

// fold makes spellings of the same words equal: failAttempts, fail_attempts.
func fold(s string) string { return joiner.Replace(strings.ToLower(s)) }
