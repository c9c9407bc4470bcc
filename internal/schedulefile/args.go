package schedulefile

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/big"
	"regexp"
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/bide-go/bide/job"
)

// args turns the field args into JSON that says the same: keys keep their order,
// numbers all their digits, and dates stay the text they were written as. It
// returns nil after it has noted what JSON cannot say.
func (s scope) args(p pair) json.RawMessage {
	enc := argsEncoder{ok: true}
	enc.value(s, p)
	if !enc.ok {
		return nil
	}
	if n := enc.buf.Len(); n > job.MaxArgs {
		s.fail("E008", p.key, fmt.Sprintf("%s have %d bytes as JSON, %d are allowed", s.label(), n, job.MaxArgs), "store the data elsewhere and pass its address")
		return nil
	}
	return enc.buf.Bytes()
}

func argsOrNull(args json.RawMessage) json.RawMessage {
	if args == nil {
		return json.RawMessage("null")
	}
	return args
}

type argsEncoder struct {
	buf bytes.Buffer
	ok  bool
}

func (enc *argsEncoder) value(s scope, p pair) {
	n := p.value
	switch {
	case isMap(n):
		enc.object(s, n)
	case isList(n):
		enc.buf.WriteByte('[')
		for i, c := range n.Content {
			if i > 0 {
				enc.buf.WriteByte(',')
			}
			enc.value(s.item(i), pair{key: c, value: deref(c)})
		}
		enc.buf.WriteByte(']')
	case isNull(n):
		enc.buf.WriteString("null")
	case n.Kind == yaml.ScalarNode:
		enc.scalar(s, p)
	default:
		enc.refuse(s, p, fmt.Sprintf("%s is %s, which JSON does not have", s.label(), describe(n)), "")
	}
}

func (enc *argsEncoder) object(s scope, n *yaml.Node) {
	pairs, refused := s.pairs(n)
	enc.ok = enc.ok && len(refused) == 0
	enc.buf.WriteByte('{')
	for i, p := range pairs {
		if i > 0 {
			enc.buf.WriteByte(',')
		}
		enc.text(p.name)
		enc.buf.WriteByte(':')
		enc.value(s.child(p.name), p)
	}
	enc.buf.WriteByte('}')
}

func (enc *argsEncoder) scalar(s scope, p pair) {
	n := p.value
	switch {
	case n.Tag == "!!int" || n.Tag == "!!float":
		text, why, hint := number(n.Value)
		if why != "" {
			enc.refuse(s, p, fmt.Sprintf("%s: %s %s", s.label(), shorten(n.Value), why), hint)
		}
		enc.buf.WriteString(text)
	case n.Tag == "!!str" && n.Style == 0 && numberParts(n.Value) != nil:
		// YAML takes a number that fits no float for text.
		enc.refuse(s, p, fmt.Sprintf("%s: %s is too large for a number", s.label(), shorten(n.Value)), quoteHint(n))
	case isText(n) || n.Tag == "!!timestamp":
		enc.text(n.Value)
	case n.Tag == "!!bool" && (strings.EqualFold(n.Value, "true") || strings.EqualFold(n.Value, "false")):
		enc.buf.WriteString(strings.ToLower(n.Value))
	default:
		enc.refuse(s, p, fmt.Sprintf("%s is %s, which JSON does not have", s.label(), describe(n)), "")
	}
}

func (enc *argsEncoder) refuse(s scope, p pair, message, hint string) {
	enc.ok = false
	s.fail("E004", p.at(), message, hint)
}

// text writes a JSON string without the escapes that only HTML needs.
func (enc *argsEncoder) text(text string) {
	w := json.NewEncoder(&enc.buf)
	w.SetEscapeHTML(false)
	_ = w.Encode(text) // neither strings nor buffers can fail
	enc.buf.Truncate(enc.buf.Len() - 1)
}

var (
	decimalNumber = regexp.MustCompile(`^([-+]?)([0-9]*)(\.[0-9]*)?([eE][-+]?[0-9]+)?$`)
	wholeNumber   = regexp.MustCompile(`^[-+]?(0[xX][0-9a-fA-F]+|0[oO][0-7]+|0[bB][01]+|[0-9]+)$`)
)

// numberParts splits a decimal number into sign, whole part, fraction with its
// point, and exponent; nil if text is none.
func numberParts(text string) []string {
	m := decimalNumber.FindStringSubmatch(text)
	if m == nil || m[2] == "" && len(m[3]) < 2 {
		return nil
	}
	return m[1:]
}

// number writes a YAML number as JSON without changing its value. A number that
// JSON cannot say, or that people read differently than YAML does, comes back
// with the reason.
func number(text string) (out, why, hint string) {
	digits := strings.ReplaceAll(text, "_", "")
	m := numberParts(digits)
	switch {
	case m == nil && wholeNumber.MatchString(digits):
		n, ok := new(big.Int).SetString(digits, 0)
		if ok {
			return n.String(), "", ""
		}
	case m != nil && len(m[1]) > 1 && m[1][0] == '0':
		return "null", "begins with 0, which some read as octal", fmt.Sprintf("quote it: %q", text)
	case m != nil:
		return decimal(m), "", ""
	}
	return "null", "is no number that JSON has", ""
}

// decimal puts the parts of a decimal number together as JSON wants them: no
// plus sign, digits on both sides of the point.
func decimal(m []string) string {
	sign, whole, fraction, exponent := strings.TrimPrefix(m[0], "+"), m[1], m[2], m[3]
	if whole == "" {
		whole = "0"
	}
	if fraction == "." {
		fraction = ""
	}
	return sign + whole + fraction + exponent
}
