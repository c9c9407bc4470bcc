package spelling

import "unicode/utf8"

// Cut shortens foreign text, which may be of any length, to at most so many bytes and
// a mark that there was more.
func Cut(text string, most int) string {
	if len(text) <= most {
		return text
	}
	for most > 0 && !utf8.RuneStart(text[most]) {
		most--
	}
	return text[:most] + "…"
}
