package bundled

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/bide-go/bide/internal/secret"
	"github.com/bide-go/bide/job"
)

// value is a text that stands in the args, or the name of a secret.
type value struct {
	text string
	ref  *secret.Ref // nil for a text
}

// named is a value under a name, at a path within the args.
type named struct {
	name, path string
	value
}

// valueOf reads a text or a reference to a secret. check, if not nil, says what is
// wrong with a text, or with the prefix of a reference.
func valueOf(to *value, check func(text string) (what, hint string)) reader {
	return func(f string, raw json.RawMessage) []Problem {
		switch kind := kindOf(raw); kind {
		case kindText:
			if p := unmarshal(f, raw, &to.text); p != nil {
				return p
			}
			if check != nil {
				if what, hint := check(to.text); what != "" {
					return []Problem{problem(f, what, hint)}
				}
			}
			return nil
		case kindObject:
			to.ref = &secret.Ref{}
			return reference(to.ref)(f, raw)
		case kindNumber, kindBool:
			return wrongKind(f, "text", kind, `in quotes: "`+cut(string(raw))+`"`)
		default:
			return wrongKind(f, "text or a reference to a secret", kind, "")
		}
	}
}

// reference reads {"env": NAME} or {"file": PATH}, each with an optional prefix.
func reference(to *secret.Ref) reader {
	return func(f string, raw json.RawMessage) []Problem {
		env, file := false, false
		problems := fields{
			{name: "env", aka: []string{"variable", "environment", "var"}, read: noting(&env, nameOf(&to.Env, "=\x00"))},
			{name: "file", aka: []string{"path"}, read: noting(&file, nameOf(&to.File, "\x00"))},
			{name: "prefix", read: text(&to.Prefix)},
		}.object(f, raw)
		if env == file && problems == nil {
			what := "must name a secret by env or by file"
			if env {
				what = "names a secret both by env and by file"
			}
			problems = append(problems, problem(f, what, `such as {"env": "API_TOKEN"} or {"file": "/run/secrets/token"}`))
		}
		return problems
	}
}

// noting sets given if the field is there at all.
func noting(given *bool, read reader) reader {
	return func(f string, raw json.RawMessage) []Problem {
		*given = true
		return read(f, raw)
	}
}

// nameOf reads a text that is not empty and has none of the characters in without.
func nameOf(to *string, without string) reader {
	return func(f string, raw json.RawMessage) []Problem {
		if p := nonEmpty(to)(f, raw); p != nil {
			return p
		}
		if i := strings.IndexAny(*to, without); i >= 0 {
			return []Problem{problem(f, fmt.Sprintf("must not contain %q", (*to)[i:i+1]), "")}
		}
		return nil
	}
}

// valuesOf reads an object of texts and references. checkName says what is wrong
// with a name, same makes names equal that may not stand side by side, and
// checkText says what is wrong with a value.
func valuesOf(to *[]named, checkName func(name string) (what, hint string), same func(string) string, checkText func(string) (what, hint string)) reader {
	return func(f string, raw json.RawMessage) []Problem {
		if kind := kindOf(raw); kind != kindObject {
			return wrongKind(f, "an object of texts", kind, leaveOut(kind))
		}
		var problems []Problem
		times := make(map[string]int)
		for name, member := range members(raw) {
			path := within(f, name)
			times[same(name)]++
			if n := times[same(name)]; n > 1 {
				if n == 2 {
					problems = append(problems, problem(path, "is given more than once", ""))
				}
				continue
			}
			if what, hint := checkName(name); what != "" {
				problems = append(problems, problem(path, what, hint))
				continue
			}
			n := named{name: name, path: path}
			problems = append(problems, valueOf(&n.value, checkText)(path, member)...)
			*to = append(*to, n)
		}
		return problems
	}
}

// oneOf reads any of the kinds that readers has.
func oneOf(want string, readers map[kind]reader) reader {
	return func(f string, raw json.RawMessage) []Problem {
		if read, ok := readers[kindOf(raw)]; ok {
			return read(f, raw)
		}
		return wrongKind(f, want, kindOf(raw), leaveOut(kindOf(raw)))
	}
}

// listOf reads a list that is not empty, each of its elements by read.
func listOf(read reader) reader {
	return func(f string, raw json.RawMessage) []Problem {
		if kind := kindOf(raw); kind != kindList {
			return wrongKind(f, "a list", kind, "")
		}
		var elements []json.RawMessage
		if err := json.Unmarshal(raw, &elements); err != nil || len(elements) == 0 {
			return []Problem{problem(f, "must not be empty", "")}
		}
		var problems []Problem
		for i, element := range elements {
			problems = append(problems, read(fmt.Sprintf("%s[%d]", f, i), element)...)
		}
		return problems
	}
}

// secrets gives an attempt the values of its args, and knows what no text about
// the attempt may tell.
type secrets struct {
	job *job.Job
	secret.Redactor
}

// read returns the value at a path. References are followed only in the args that
// an operator wrote into a schedule: whoever may enqueue a job must not be able to
// have the worker's secrets sent somewhere.
func (s *secrets) read(path string, v value) (string, error) {
	if v.ref == nil {
		return v.text, nil
	}
	if !s.job.FromDefinition {
		return "", job.Permanent(fmt.Errorf("field %s refers to a secret, which only a schedule with the args of its definition may do", quote(path)))
	}
	text, err := v.ref.Read()
	if err != nil {
		return "", fmt.Errorf("field %s: %w", quote(path), err)
	}
	s.Add(text)
	return v.ref.Prefix + text, nil
}

// References lists the paths in the args of the bundled handler name that refer to
// a secret of the worker, in their order. Such args may stand in the definition of
// a schedule and nowhere else.
func References(name string, args json.RawMessage) []string {
	var paths []string
	for _, n := range referring(name, args) {
		paths = append(paths, n.path)
	}
	return paths
}

// Absent finds the secrets to which args refer and that this process does not
// have: they are wrong here, and may be right where the worker runs.
func Absent(name string, args json.RawMessage) []Problem {
	var problems []Problem
	for _, n := range referring(name, args) {
		if _, err := n.ref.Read(); err != nil {
			problems = append(problems, Problem{Path: n.path, Code: "E020", Message: fmt.Sprintf("field %s: %v", quote(n.path), err)})
		}
	}
	return problems
}

func referring(name string, args json.RawMessage) []named {
	var all []named
	switch name {
	case httpName:
		decoded, _ := decodeHTTP(args)
		all = append([]named{{path: "url", value: decoded.url}}, decoded.headers...)
	case execName:
		decoded, _ := decodeExec(args)
		all = decoded.env
	}
	return slices.DeleteFunc(all, func(n named) bool { return n.ref == nil })
}
