package schedulefile

import (
	"fmt"
	"net/url"
	"regexp"
	"unicode/utf8"
)

const maxDescription = 500 // characters

func (s scope) description(p pair) string {
	text, ok := s.text(p)
	if n := utf8.RuneCountInString(text); ok && n > maxDescription {
		s.fail("E008", p.at(), fmt.Sprintf("%s has %d characters, %d are allowed", s.label(), n, maxDescription), "put the rest into the runbook")
	}
	return text
}

func (s scope) webURL(p pair) string {
	text, ok := s.text(p)
	if !ok {
		return ""
	}
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" {
		s.fail("E021", p.at(), fmt.Sprintf("%s must be an http or https URL with a host, not %s", s.label(), quote(text)),
			`for example "https://wiki.example.com/runbooks/invoices"`)
	}
	return text
}

// labelRule is what a label may be called: text that needs no quotes in a shell,
// in key=value or in a comma-separated list, and fits a metric or an alert.
var labelRule = regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9._/-]{0,61}[A-Za-z0-9])?$`)

func (s scope) labels(p pair) map[string]string {
	if !isMap(p.value) {
		s.wrongType(p, "a map of texts", "")
		return nil
	}
	pairs, _ := s.pairs(p.value)
	labels := map[string]string{}
	for _, p := range pairs {
		field := s.child(p.name)
		if !labelRule.MatchString(p.name) {
			field.fail("E007", p.key, fmt.Sprintf("label %s in %s must be letters, digits and . _ / - (at most 63), beginning and ending with a letter or digit", quote(p.name), s.root), "")
			continue
		}
		labels[p.name], _ = field.text(p)
	}
	if len(labels) == 0 {
		return nil
	}
	return labels
}
