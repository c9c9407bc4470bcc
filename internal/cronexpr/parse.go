package cronexpr

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// blanks may surround an expression: a YAML block text ends with a line end.
const blanks = " \t\r\n"

// word is a part of an expression between blanks, with its place in the text.
type word struct {
	text   string
	offset int
}

// Parse reads one expression of five fields, six fields (seconds first) or a
// descriptor. The error is always an *[Error].
func Parse(text string) (*Expression, error) {
	e, err := parse(text)
	if err != nil {
		return nil, err
	}
	return e, nil
}

func parse(text string) (*Expression, *Error) {
	trimmed := strings.Trim(text, blanks)
	start := strings.Index(text, trimmed)
	if trimmed == "" {
		return nil, &Error{
			Code: CodeFieldCount, Length: len(text),
			Message: "the expression is empty",
			Hint:    `write five fields such as "30 1 * * *", or a descriptor such as "@daily"`,
		}
	}
	if err := checkCharacters(trimmed, start); err != nil {
		return nil, err
	}
	words := split(trimmed, start)
	if err := refuseZone(words); err != nil {
		return nil, err
	}
	if trimmed[0] == '@' {
		return parseDescriptor(trimmed, words)
	}
	e := &Expression{text: trimmed}
	switch len(words) {
	case fieldCount:
		e.seconds = true
	case fieldCount - 1:
		words = append([]word{{text: "0", offset: start}}, words...)
	default:
		return nil, wrongCount(trimmed, start, words)
	}
	for i := range words {
		f, err := parseField(&specs[i], words[i])
		if err != nil {
			return nil, misreadLine(err, e.seconds, i, words)
		}
		e.fields[i] = f
	}
	if err := e.compile(); err != nil {
		err.Offset, err.Length = start, len(trimmed)
		return nil, err
	}
	return e, nil
}

// checkCharacters refuses all but printable ASCII and tabs: what looks like a
// blank, a star or a hyphen in an editor need not be one.
func checkCharacters(text string, start int) *Error {
	for i, r := range text {
		if r == '\t' || r >= ' ' && r <= '~' {
			continue
		}
		_, size := utf8.DecodeRuneInString(text[i:])
		e := &Error{Code: CodeSyntax, Offset: start + i, Length: size}
		switch {
		case r == '\n' || r == '\r':
			e.Message, e.Hint = "a line break inside the expression", "write each expression by itself, on one line"
		case r == utf8.RuneError && size == 1:
			e.Message = fmt.Sprintf("the byte 0x%02x is not ASCII text", text[i])
		case r < ' ' || r == 0x7f:
			e.Message = fmt.Sprintf("the control character %U is not allowed", r)
		default:
			e.Message = fmt.Sprintf("the character %q (%U) is not ASCII text", r, r)
			if plain, ok := lookalikes[r]; ok {
				e.Hint = fmt.Sprintf("write %s", plain)
			}
		}
		return e
	}
	return nil
}

// lookalikes are characters that word processors and web pages put in the place
// of plain ones.
var lookalikes = map[rune]string{
	'\u00a0': "an ordinary space", '\u2009': "an ordinary space", '\u202f': "an ordinary space", '\u3000': "an ordinary space",
	'\u2010': `"-"`, '\u2011': `"-"`, '\u2012': `"-"`, '\u2013': `"-"`, '\u2014': `"-"`, '\u2212': `"-"`,
	'\u2217': `"*"`, '\u204e': `"*"`, '\uff0a': `"*"`, '\u00d7': `"*"`, '\u2715': `"*"`,
	'\u2044': `"/"`, '\u2215': `"/"`, '\uff0c': `","`, '\u201a': `","`,
	'\ufeff': "the expression without the byte order mark before it",
}

func split(text string, start int) []word {
	var words []word
	for i := 0; i < len(text); {
		if text[i] == ' ' || text[i] == '\t' {
			i++
			continue
		}
		end := strings.IndexAny(text[i:], " \t")
		if end < 0 {
			end = len(text) - i
		}
		words = append(words, word{text: text[i : i+end], offset: start + i})
		i += end
	}
	return words
}

// refuseZone finds TZ= and CRON_TZ= in any case and place. Other programs read
// the prefix; robfig/cron panics on some forms of it.
func refuseZone(words []word) *Error {
	for i, w := range words {
		name, zone, found := strings.Cut(w.text, "=")
		end := w.offset + len(w.text)
		if !found && i+1 < len(words) && strings.HasPrefix(words[i+1].text, "=") {
			// "TZ = UTC", with blanks around the sign
			zone, found = words[i+1].text[1:], true
			end = words[i+1].offset + len(words[i+1].text)
			if zone == "" && i+2 < len(words) {
				zone = words[i+2].text
				end = words[i+2].offset + len(zone)
			}
		}
		upper := strings.ToUpper(name)
		if !found || upper != "TZ" && upper != "CRON_TZ" {
			continue
		}
		e := &Error{
			Code: CodeZone, Offset: w.offset, Length: end - w.offset,
			Message: fmt.Sprintf("%s= is not part of an expression", name),
			Hint:    "use timeZone",
		}
		if looksLikeZone(zone) {
			e.Hint = fmt.Sprintf("use timeZone: %s", zone)
		}
		return e
	}
	return nil
}

func looksLikeZone(name string) bool {
	const allowed = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_+-/"
	return name != "" && len(name) <= 40 && name[0] >= 'A' && strings.Trim(name, allowed) == ""
}
