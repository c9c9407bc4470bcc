package bundled

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/bide-go/bide/internal/duration"
)

// text reads any text.
func text(to *string) reader {
	return func(f string, raw json.RawMessage) []Problem {
		switch kind := kindOf(raw); kind {
		case kindText:
			return unmarshal(f, raw, to)
		case kindNumber, kindBool:
			return wrongKind(f, "text", kind, `in quotes: "`+cut(string(raw))+`"`)
		default:
			return wrongKind(f, "text", kind, "")
		}
	}
}

// nonEmpty reads a text that is not empty.
func nonEmpty(to *string) reader {
	return func(f string, raw json.RawMessage) []Problem {
		if p := text(to)(f, raw); p != nil {
			return p
		}
		if *to == "" {
			return []Problem{problem(f, "must not be empty", "")}
		}
		return nil
	}
}

// word reads one of a few words. other maps what people write instead.
func word(to *string, words []string, other map[string]string) reader {
	return func(f string, raw json.RawMessage) []Problem {
		want := list(words, "or")
		kind := kindOf(raw)
		if kind != kindText {
			return wrongKind(f, want, kind, leaveOut(kind))
		}
		if p := unmarshal(f, raw, to); p != nil || slices.Contains(words, *to) {
			return p
		}
		hint := ""
		if guess := nearest(*to, words, other); guess != "" {
			hint = didYouMean(guess)
		}
		return []Problem{problem(f, "must be "+want+", not "+quote(*to), hint)}
	}
}

// span reads a duration.
func span(to *time.Duration) reader {
	return func(f string, raw json.RawMessage) []Problem {
		kind := kindOf(raw)
		if kind != kindText {
			hint := leaveOut(kind)
			if isCount(string(raw)) {
				hint = `a number of seconds is "` + string(raw) + `s"`
			}
			return wrongKind(f, `a duration such as "90s"`, kind, hint)
		}
		var s string
		if p := unmarshal(f, raw, &s); p != nil {
			return p
		}
		d, err := duration.Parse(s)
		var bad *duration.Error
		switch {
		case errors.As(err, &bad):
			return []Problem{{Path: f, Message: fmt.Sprintf("field %s: %s", quote(f), bad.Message), Hint: bad.Hint}}
		case err != nil:
			return []Problem{{Path: f, Message: fmt.Sprintf("field %s: %v", quote(f), err)}}
		}
		*to = d
		return nil
	}
}

// count reads a whole number from 0, written as one: 3, not 3.0 or 3e0.
func count(to *int) reader {
	const wanted = "a whole number from 0"
	return func(f string, raw json.RawMessage) []Problem {
		kind := kindOf(raw)
		if kind != kindNumber {
			hint := leaveOut(kind)
			if bare := strings.Trim(string(raw), `"`); kind == kindText && isCount(bare) {
				hint = "without quotes: " + bare
			}
			return wrongKind(f, wanted, kind, hint)
		}
		n, err := strconv.ParseInt(string(raw), 10, 32)
		switch {
		case errors.Is(err, strconv.ErrRange) && raw[0] != '-':
			return []Problem{{Path: f, Message: fmt.Sprintf("field %s is too large: %s", quote(f), cut(string(raw)))}}
		case err != nil || n < 0:
			return []Problem{{Path: f, Message: fmt.Sprintf("field %s must be %s, not %s", quote(f), wanted, cut(string(raw)))}}
		}
		*to = int(n)
		return nil
	}
}

func isCount(s string) bool {
	_, err := strconv.ParseUint(s, 10, 31)
	return err == nil
}

// unmarshal decodes a text, which cannot fail for one that is valid JSON.
func unmarshal(f string, raw json.RawMessage, to *string) []Problem {
	if err := json.Unmarshal(raw, to); err != nil {
		return []Problem{{Path: f, Message: fmt.Sprintf("field %s: %v", quote(f), err)}}
	}
	return nil
}

func wrongKind(f, want string, got kind, hint string) []Problem {
	return []Problem{problem(f, "must be "+want+", not "+string(got), hint)}
}

func leaveOut(k kind) string {
	if k == kindNull {
		return "leave it out for the default"
	}
	return ""
}

// kind is one of JSON's kinds of values, in the words of our messages.
type kind string

const (
	kindNull   kind = "null"
	kindBool   kind = "true or false"
	kindNumber kind = "a number"
	kindText   kind = "text"
	kindList   kind = "a list"
	kindObject kind = "an object"
)

// kindOf tells the kind of a valid value without blanks before it.
func kindOf(raw json.RawMessage) kind {
	switch raw[0] {
	case 'n':
		return kindNull
	case 't', 'f':
		return kindBool
	case '"':
		return kindText
	case '[':
		return kindList
	case '{':
		return kindObject
	default:
		return kindNumber
	}
}
