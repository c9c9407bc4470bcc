package bundled

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/bide-go/bide/internal/duration"
)

// field is one field of a handler's args. A field that is not required and not
// given keeps the value its target had before.
type field struct {
	name     string
	required bool
	aka      []string // what people call it elsewhere, for the hint
	read     reader
}

type fields []field

// reader stores the value of field f, which is valid JSON, or says what is wrong
// with it.
type reader func(f string, raw json.RawMessage) *Problem

// maxHints is after how many problems unknown fields get no hint: args of the
// largest size have room for 100,000 of them, and guessing takes time.
const maxHints = 100

// decode reads an object into the targets of the fields and returns all problems
// at once: those of what is there in its order, then what is missing. It is
// stricter than encoding/json: names are compared exactly, none may stand twice,
// and none may be unknown. Null is an object without fields. The targets
// count only if there are no problems.
func decode(raw json.RawMessage, fs fields) []Problem {
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 {
		raw = json.RawMessage("null")
	}
	if p := checkJSON(raw); p != nil {
		return []Problem{*p}
	}
	if kind := kindOf(raw); kind != kindObject && kind != kindNull {
		return []Problem{{Message: fmt.Sprintf("args must be an object, not %s", kind), Hint: fs.hint()}}
	}

	var problems []Problem
	times := make(map[string]int)
	for name, value := range members(raw) {
		times[name]++
		if times[name] > 1 {
			if times[name] == 2 {
				problems = append(problems, Problem{Path: name, Message: fmt.Sprintf("field %s is given more than once", quote(name))})
			}
			continue
		}
		i := slices.IndexFunc(fs, func(f field) bool { return f.name == name })
		if i < 0 {
			p := Problem{Path: name, Message: "unknown field " + quote(name)}
			if len(problems) < maxHints {
				p.Hint = fs.hintFor(name)
			}
			problems = append(problems, p)
		} else if p := fs[i].read(name, value); p != nil {
			problems = append(problems, *p)
		}
	}
	for _, f := range fs {
		if f.required && times[f.name] == 0 {
			problems = append(problems, Problem{Path: f.name, Message: fmt.Sprintf("field %q is missing", f.name)})
		}
	}
	return problems
}

// checkJSON refuses what is not exactly one JSON value in valid UTF-8; the
// decoder would replace bad bytes in silence.
func checkJSON(raw json.RawMessage) *Problem {
	if !utf8.Valid(raw) {
		return &Problem{Message: "args are not valid UTF-8"}
	}
	var value json.RawMessage
	err := json.Unmarshal(raw, &value)
	if err == nil {
		return nil
	}
	p := &Problem{Message: "args are not valid JSON: " + err.Error()}
	var syntax *json.SyntaxError
	if errors.As(err, &syntax) {
		p.Hint = fmt.Sprintf("at byte %d", syntax.Offset)
	}
	return p
}

// members yields the members of an object in their order, repeated names
// included, and none of null. raw must be valid.
func members(raw json.RawMessage) iter.Seq2[string, json.RawMessage] {
	return func(yield func(string, json.RawMessage) bool) {
		dec := json.NewDecoder(bytes.NewReader(raw))
		if open, err := dec.Token(); err != nil || open != json.Delim('{') {
			return
		}
		for dec.More() {
			key, err := dec.Token()
			name, ok := key.(string)
			var value json.RawMessage
			if err != nil || !ok || dec.Decode(&value) != nil || !yield(name, value) {
				return
			}
		}
	}
}

func (fs fields) names() []string {
	names := make([]string, len(fs))
	for i, f := range fs {
		names[i] = f.name
	}
	return names
}

func (fs fields) hint() string { return "the fields are " + list(fs.names(), "and") }

// hintFor guesses which field was meant by a name that none has.
func (fs fields) hintFor(name string) string {
	other := make(map[string]string)
	for _, f := range fs {
		for _, aka := range f.aka {
			other[aka] = f.name
		}
	}
	if guess := nearest(name, fs.names(), other); guess != "" {
		return didYouMean(guess)
	}
	return fs.hint()
}

// text reads any text.
func text(to *string) reader {
	return func(f string, raw json.RawMessage) *Problem {
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
	return func(f string, raw json.RawMessage) *Problem {
		if p := text(to)(f, raw); p != nil {
			return p
		}
		if *to == "" {
			return &Problem{Path: f, Message: fmt.Sprintf("field %q must not be empty", f)}
		}
		return nil
	}
}

// word reads one of a few words. other maps what people write instead.
func word(to *string, words []string, other map[string]string) reader {
	return func(f string, raw json.RawMessage) *Problem {
		want := list(words, "or")
		kind := kindOf(raw)
		if kind != kindText {
			return wrongKind(f, want, kind, leaveOut(kind))
		}
		if p := unmarshal(f, raw, to); p != nil || slices.Contains(words, *to) {
			return p
		}
		p := &Problem{Path: f, Message: fmt.Sprintf("field %q must be %s, not %s", f, want, quote(*to))}
		if guess := nearest(*to, words, other); guess != "" {
			p.Hint = didYouMean(guess)
		}
		return p
	}
}

// span reads a duration.
func span(to *time.Duration) reader {
	return func(f string, raw json.RawMessage) *Problem {
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
			return &Problem{Path: f, Message: fmt.Sprintf("field %q: %s", f, bad.Message), Hint: bad.Hint}
		case err != nil:
			return &Problem{Path: f, Message: fmt.Sprintf("field %q: %v", f, err)}
		}
		*to = d
		return nil
	}
}

// count reads a whole number from 0, written as one: 3, not 3.0 or 3e0.
func count(to *int) reader {
	const wanted = "a whole number from 0"
	return func(f string, raw json.RawMessage) *Problem {
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
			return &Problem{Path: f, Message: fmt.Sprintf("field %q is too large: %s", f, cut(string(raw)))}
		case err != nil || n < 0:
			return &Problem{Path: f, Message: fmt.Sprintf("field %q must be %s, not %s", f, wanted, cut(string(raw)))}
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
func unmarshal(f string, raw json.RawMessage, to *string) *Problem {
	if err := json.Unmarshal(raw, to); err != nil {
		return &Problem{Path: f, Message: fmt.Sprintf("field %q: %v", f, err)}
	}
	return nil
}

func wrongKind(f, want string, got kind, hint string) *Problem {
	return &Problem{Path: f, Message: fmt.Sprintf("field %q must be %s, not %s", f, want, got), Hint: hint}
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
