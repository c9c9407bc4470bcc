package spelling

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestCut(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		text string
		most int
		want string
	}{
		{"", 3, ""}, {"abc", 3, "abc"}, {"abcd", 3, "abc…"}, {"äöü", 6, "äöü"}, {"äöü", 5, "äö…"}, {"äöü", 4, "äö…"}, {"äöü", 1, "…"}, {"a", 0, "…"},
		{strings.Repeat("\x80", 9), 4, "…"}, // no text at all
	} {
		got := Cut(tt.text, tt.most)
		if got != tt.want || !utf8.ValidString(got) {
			t.Errorf("%q cut to %d: want %q, got %q", tt.text, tt.most, tt.want, got)
		}
	}
}
