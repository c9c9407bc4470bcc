package secret

import (
	"encoding/base64"
	"encoding/json"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// Mark stands where a secret was.
const Mark = "<secret>"

// minLine is how long a line of a secret of several lines must be to count as a
// secret by itself: a shorter one is a word like any other.
const minLine = 8

// Redactor takes secrets out of texts. The zero value knows none.
type Redactor struct{ forms []string }

// Add makes value a secret, together with the forms in which programs and servers
// repeat what they were given: quoted, escaped for JSON or URLs, in base 64, or a
// line of it.
func (r *Redactor) Add(value string) {
	r.add(value, 1)
	r.add(inner(strconv.Quote(value)), 1)
	if escaped, err := json.Marshal(value); err == nil {
		r.add(inner(string(escaped)), 1)
	}
	r.add(url.QueryEscape(value), 1)
	r.add(url.PathEscape(value), 1)
	r.add(strings.TrimRight(base64.StdEncoding.EncodeToString([]byte(value)), "="), 1)
	r.add(base64.RawURLEncoding.EncodeToString([]byte(value)), 1)
	if strings.ContainsAny(value, "\r\n") {
		for line := range strings.Lines(value) {
			r.add(strings.TrimSpace(line), minLine)
		}
	}
}

func (r *Redactor) add(form string, least int) {
	if len(form) >= least && !slices.Contains(r.forms, form) {
		r.forms = append(r.forms, form)
	}
}

func inner(quoted string) string { return quoted[1 : len(quoted)-1] }

// Clean returns text with each secret in it replaced by Mark.
func (r *Redactor) Clean(text string) string { return r.clean(text, false, false) }

// CleanStart is Clean for a text whose end was cut off, perhaps within a secret.
func (r *Redactor) CleanStart(text string) string { return r.clean(text, false, true) }

// CleanEnd is Clean for a text whose start was cut off, perhaps within a secret.
func (r *Redactor) CleanEnd(text string) string { return r.clean(text, true, false) }

// hole is a part of a text that is secret: [from, to).
type hole struct{ from, to int }

func (r *Redactor) clean(text string, noStart, noEnd bool) string {
	var holes []hole
	for _, form := range r.forms {
		for at := 0; ; {
			i := strings.Index(text[at:], form)
			if i < 0 {
				break
			}
			at += i
			holes = append(holes, hole{at, at + len(form)})
			at++ // secrets may overlap even themselves
		}
		// What a cut has left of a secret.
		for n := min(len(form)-1, len(text)); n > 0 && noStart; n-- {
			if strings.HasPrefix(text, form[len(form)-n:]) {
				holes = append(holes, hole{0, n})
				break
			}
		}
		for n := min(len(form)-1, len(text)); n > 0 && noEnd; n-- {
			if strings.HasSuffix(text, form[:n]) {
				holes = append(holes, hole{len(text) - n, len(text)})
				break
			}
		}
	}
	if holes == nil {
		return text
	}
	return fill(text, holes)
}

// fill puts one mark over each run of holes that overlap.
func fill(text string, holes []hole) string {
	slices.SortFunc(holes, func(a, b hole) int { return a.from - b.from })
	var b strings.Builder
	done, open := 0, -1 // up to where text is dealt with; where the last hole ends
	for _, h := range holes {
		if h.from >= open {
			b.WriteString(text[done:h.from])
			b.WriteString(Mark)
		}
		open = max(open, h.to)
		done = open
	}
	b.WriteString(text[done:])
	return b.String()
}
