package cli

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// clean makes foreign text fit for a terminal: what is not printable, and with it
// every control character, escape sequence and direction mark, is written as an
// escape. Names, ids, errors and args all come from somebody else.
func clean(text string) string {
	if printable(text) {
		return text
	}
	var b strings.Builder
	for i, r := range text {
		if r == utf8.RuneError && !strings.HasPrefix(text[i:], "\uFFFD") {
			b.WriteRune(unicode.ReplacementChar) // a byte that is no UTF-8
			continue
		}
		if unicode.IsPrint(r) {
			b.WriteRune(r)
			continue
		}
		quoted := strconv.QuoteRuneToASCII(r)
		b.WriteString(quoted[1 : len(quoted)-1])
	}
	return b.String()
}

func printable(text string) bool {
	return utf8.ValidString(text) && strings.IndexFunc(text, func(r rune) bool { return !unicode.IsPrint(r) }) < 0
}

// cleanJSON escapes what clean would, in the way of JSON: encoding/json leaves
// DEL, the C1 controls and direction marks as they are. Line ends between values
// stay; inside a text they are escaped already.
func cleanJSON(doc []byte) []byte {
	text := string(doc)
	if strings.IndexFunc(text, func(r rune) bool { return r != '\n' && !unicode.IsPrint(r) }) < 0 {
		return doc
	}
	var b strings.Builder
	for _, r := range text {
		switch {
		case r == '\n' || unicode.IsPrint(r):
			b.WriteRune(r)
		case r > 0xFFFF:
			r -= 0x10000
			escape16(&b, 0xD800+(r>>10))
			escape16(&b, 0xDC00+(r&0x3FF))
		default:
			escape16(&b, r)
		}
	}
	return []byte(b.String())
}

func escape16(b *strings.Builder, r rune) {
	const digits = "0123456789abcdef"
	b.WriteString(`\u`)
	for shift := 12; shift >= 0; shift -= 4 {
		b.WriteByte(digits[r>>shift&0xF])
	}
}
