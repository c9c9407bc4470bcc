package schedulefile

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v4"

	"github.com/bide-go/bide/internal/duration"
)

// Each reader of a value returns false after it has noted what is wrong.

// wrongType notes that a value should have been something else.
func (s scope) wrongType(p pair, want, hint string) {
	if isNull(p.value) {
		if hint == "" {
			hint = "give it one, or leave the field out"
		}
		s.fail("E004", p.at(), fmt.Sprintf("%s has no value; it must be %s", s.label(), want), hint)
		return
	}
	s.fail("E004", p.at(), fmt.Sprintf("%s must be %s, not %s", s.label(), want, describe(p.value)), hint)
}

func (s scope) text(p pair) (string, bool) {
	if isText(p.value) {
		return p.value.Value, true
	}
	s.wrongType(p, "text", quoteHint(p.value))
	return "", false
}

func (s scope) boolean(p pair) (value, ok bool) {
	word := strings.ToLower(p.value.Value)
	if p.value.Tag == "!!bool" && (word == "true" || word == "false") {
		return word == "true", true
	}
	hint := ""
	switch word {
	case "yes", "y", "on", "true":
		hint = "write true"
	case "no", "n", "off", "false":
		hint = "write false"
	}
	if hint != "" && isText(p.value) && p.value.Style == 0 {
		hint = fmt.Sprintf("%q is no boolean in YAML 1.2; %s", shorten(p.value.Value), hint)
	} else if hint != "" {
		hint += ", without quotes"
	}
	s.wrongType(p, "true or false", hint)
	return false, false
}

// integer reads a whole number from lo to hi.
func (s scope) integer(p pair, lo, hi int64) (int64, bool) {
	if p.value.Tag != "!!int" {
		hint := ""
		if _, err := strconv.Atoi(p.value.Value); err == nil && isText(p.value) {
			hint = "write it without quotes"
		}
		s.wrongType(p, "a whole number", hint)
		return 0, false
	}
	n, ok := wholeNumberOf(p.value)
	if !ok || n < lo || n > hi {
		s.fail("E008", p.at(), fmt.Sprintf("%s must be from %d to %d, not %s", s.label(), lo, hi, shorten(p.value.Value)), "")
		return 0, false
	}
	return n, true
}

// wholeNumberOf is the number that a node says, if it is a whole one that fits.
func wholeNumberOf(n *yaml.Node) (int64, bool) {
	if n.Kind != yaml.ScalarNode || n.Tag != "!!int" {
		return 0, false
	}
	v, err := strconv.ParseInt(strings.ReplaceAll(n.Value, "_", ""), 0, 64)
	return v, err == nil
}

// duration reads a duration above zero. Zero would mean "the default" to those
// who get the definition, which is not what somebody who writes it expects.
func (s scope) duration(p pair) time.Duration {
	d, ok := s.anyDuration(p)
	if ok && d <= 0 {
		s.fail("E008", p.at(), fmt.Sprintf("%s must be longer than 0s", s.label()), "leave the field out for its default")
		return 0
	}
	return d
}

// durationOrZero reads a duration where zero is a value like any other.
func (s scope) durationOrZero(p pair) time.Duration {
	d, _ := s.anyDuration(p)
	return d
}

func (s scope) anyDuration(p pair) (time.Duration, bool) {
	switch {
	case p.value.Tag == "!!int" || p.value.Tag == "!!float":
		s.wrongType(p, "a duration with a unit", durationHint(p.value.Value))
		return 0, false
	case !isText(p.value):
		s.wrongType(p, `a duration such as "5s"`, "")
		return 0, false
	}
	d, err := duration.Parse(p.value.Value)
	if err != nil {
		message, hint := err.Error(), ""
		var de *duration.Error
		if errors.As(err, &de) {
			message, hint = de.Message, de.Hint
		}
		s.fail("E016", p.at(), s.label()+": "+message, hint)
		return 0, false
	}
	return d, true
}

// durationHint suggests seconds for a bare number.
func durationHint(text string) string {
	if _, err := strconv.ParseUint(text, 10, 32); err != nil {
		return ""
	}
	return fmt.Sprintf("did you mean %q?", text+"s")
}
