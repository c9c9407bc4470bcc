package schedulefile

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxLine is how many characters of a source line a report shows.
const maxLine = 160

// excerpt is what a report shows of a line: one printable character for each of
// its own, so that what is written below still fits, and of a long line the part
// around the byte offset at. The second result is how many characters are shown
// before that place.
func excerpt(line string, at int) (shown string, before int) {
	from := 0
	if len(line) > utf8.UTFMax*maxLine || utf8.RuneCountInString(line) > maxLine {
		from = back(line, at, maxLine/2)
	}
	var b strings.Builder
	if from > 0 {
		b.WriteRune('…')
		before++
	}
	n := 0
	for i, r := range line[from:] {
		if n++; n > maxLine {
			b.WriteRune('…')
			break
		}
		if from+i < at {
			before++
		}
		b.WriteRune(printable(r))
	}
	return b.String(), before
}

// back is the offset n characters before at, or the beginning.
func back(line string, at, n int) int {
	for ; at > 0 && n > 0; n-- {
		_, size := utf8.DecodeLastRuneInString(line[:at])
		at -= size
	}
	return at
}

func printable(r rune) rune {
	switch {
	case r == '\t':
		return ' '
	case !unicode.IsPrint(r):
		return unicode.ReplacementChar
	}
	return r
}
