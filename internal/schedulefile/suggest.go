package schedulefile

import (
	"fmt"
	"strings"

	"go.yaml.in/yaml/v4"
)

// suggestion is the guess at what an unknown field was meant to be.
type suggestion struct {
	hint   string
	fields []string // what it would have set
}

// plainName takes the spelling out of a name: case, "_" and "-".
func plainName(name string) string { return strings.ToLower(fieldSpelling.Replace(name)) }

var fieldSpelling = strings.NewReplacer("_", "", "-", "")

// suggest guesses what the unknown field p of that level was meant to be.
func suggest(l level, p pair) suggestion {
	if len(p.name) > 60 {
		return suggestion{}
	}
	word := plainName(p.name)
	if s, ok := rewritten(l, word, p.value); ok {
		return s
	}
	for _, name := range l.fields() {
		if plainName(name) == word {
			return didYouMean(name)
		}
	}
	for _, name := range l.fields() {
		if foreign[word][name] {
			return didYouMean(name)
		}
	}
	if s, ok := l.remark(word); ok {
		return s
	}
	for _, name := range append([]string{p.name}, entryLevel.meantBy(word)...) {
		if s, ok := misplaced(l, name); ok {
			return s
		}
	}
	if name := nearest(p.name, l.fields()); name != "" {
		return didYouMean(name)
	}
	return suggestion{}
}

func didYouMean(name string) suggestion {
	return suggestion{fmt.Sprintf("did you mean %q?", name), []string{name}}
}

// didYouMeanText is for a field with its value, which may have quotes of its own.
func didYouMeanText(text string, fields ...string) suggestion {
	if strings.Contains(text, `"`) && !strings.Contains(text, "`") {
		return suggestion{"did you mean `" + text + "`?", fields}
	}
	return suggestion{fmt.Sprintf("did you mean %q?", text), fields}
}

// meantBy lists the fields of the level that a foreign word may stand for.
func (l level) meantBy(word string) (names []string) {
	for _, name := range l.fields() {
		if foreign[word][name] {
			names = append(names, name)
		}
	}
	return names
}

func (l level) remark(word string) (suggestion, bool) {
	switch {
	case l.has("schedules") && contains(manifestWords, word):
		return suggestion{manifestHint, []string{"version", "schedules"}}, true
	case !l.has("job"):
		return suggestion{}, false
	}
	r, ok := remarks[word]
	if r.field == "" {
		return suggestion{hint: r.hint}, ok
	}
	return suggestion{r.hint, []string{r.field}}, ok
}

// rewritten handles words whose value changes with them, and blocks named after
// a bundled handler.
func rewritten(l level, word string, v *yaml.Node) (suggestion, bool) {
	if word == "http" || word == "exec" {
		return suggestion{fmt.Sprintf(`did you mean "job: %s" with the rest under "args"?`, word), []string{"job", "args"}}, l.has("job")
	}
	rewrite, ok := rewrites[word]
	if !ok {
		return suggestion{}, false
	}
	field, text := rewrite(v)
	switch {
	case field == "job" && l.has(field): // a handler and its args in one
		return didYouMeanText(text, "job", "args"), true
	case l.has(field) && text == "":
		return didYouMean(field), true
	case l.has(field):
		return didYouMeanText(text, field), true
	case field == "retry" && l.has("maxAttempts"): // inside retry already
		text = strings.TrimSuffix(strings.TrimPrefix(text, "retry: {"), "}")
		name, _, _ := strings.Cut(text, ":")
		return didYouMeanText(text, name), true
	}
	return suggestion{}, false
}

// misplaced knows the fields of other levels.
func misplaced(l level, name string) (suggestion, bool) {
	switch {
	case l.has("schedules") && defaultsLevel.has(name):
		return suggestion{hint: fmt.Sprintf("%s belongs into defaults or into a schedule", name)}, true
	case !l.has(name) && entryLevel.has(name):
		return suggestion{hint: fmt.Sprintf("%s belongs into each schedule", name)}, true
	}
	return suggestion{}, false
}
