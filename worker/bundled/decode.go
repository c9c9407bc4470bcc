package bundled

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"
	"unicode/utf8"
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

// reader stores the value of field f, which is valid JSON, or says all that is
// wrong with it. f leads to the field from the args: names joined by dots, list
// positions in brackets.
type reader func(f string, raw json.RawMessage) []Problem

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
	return fs.object("", raw)
}

// object reads the members of an object at a place within the args, or of null.
func (fs fields) object(at string, raw json.RawMessage) []Problem {
	var problems []Problem
	times := make(map[string]int)
	for name, value := range members(raw) {
		times[name]++
		path := within(at, name)
		if times[name] > 1 {
			if times[name] == 2 {
				problems = append(problems, problem(path, "is given more than once", ""))
			}
			continue
		}
		i := slices.IndexFunc(fs, func(f field) bool { return f.name == name })
		if i < 0 {
			p := Problem{Path: path, Message: "unknown field " + quote(path)}
			if len(problems) < maxHints {
				p.Hint = fs.hintFor(name)
			}
			problems = append(problems, p)
			continue
		}
		problems = append(problems, fs[i].read(path, value)...)
	}
	for _, f := range fs {
		if f.required && times[f.name] == 0 {
			problems = append(problems, problem(within(at, f.name), "is missing", ""))
		}
	}
	return problems
}

// within is the path of a member of what is at a path.
func within(at, name string) string {
	if at == "" {
		return name
	}
	return at + "." + name
}

// problem is one with a field, of which it says what.
func problem(path, what, hint string) Problem {
	return Problem{Path: path, Message: "field " + quote(path) + " " + what, Hint: hint}
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
