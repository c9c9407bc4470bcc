package schedulefile

import (
	"fmt"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v4"
)

// suggestion is the guess at what an unknown field was meant to be.
type suggestion struct {
	hint   string
	fields []string // what it would have set
}

// foreign are the words of other products, by what they mean here. They are
// compared as plainName has them.
var foreign = map[string]string{
	"cron": "schedule", "cronspec": "schedule", "spec": "schedule", "crontab": "schedule", "expression": "schedule",
	"timezone": "timeZone", "tz": "timeZone",
	"disabled": "suspend", "paused": "suspend", "suspended": "suspend",
	"concurrency": "concurrencyPolicy", "overlap": "concurrencyPolicy",
	"missed": "catchUp", "misfire": "catchUp",
	"class": "job", "type": "job", "task": "job", "handler": "job",
	"payload": "args", "kwargs": "args", "params": "args", "arguments": "args",
	"successfuljobshistorylimit": "history", "failedjobshistorylimit": "history",
	"attempts": "maxAttempts", "jobs": "schedules", "entries": "schedules",
}

// rewrites are the foreign words whose value changes too. Each gives the field
// it sets and how to write it.
var rewrites = map[string]func(v *yaml.Node) (field, text string){
	"enabled":                 enabled,
	"startingdeadlineseconds": seconds("startingDeadline"),
	"timeoutseconds":          seconds("timeout"),
	"activedeadlineseconds":   seconds("timeout"),
	"retries":                 attempts(1),
	"maxretries":              attempts(1),
	"backofflimit":            attempts(1),
	"maxattempts":             attempts(0),
	"attempts":                attempts(0),
	"minbackoff":              inRetry("minBackoff"),
	"maxbackoff":              inRetry("maxBackoff"),
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
	for _, known := range [][]string{l.now, l.later} {
		for _, name := range known {
			if plainName(name) == word {
				return didYouMean(name)
			}
		}
	}
	meant, isForeign := foreign[word]
	if isForeign && l.has(meant) {
		return didYouMean(meant)
	}
	for _, name := range []string{p.name, meant} {
		if s, ok := misplaced(l, name); ok {
			return s
		}
	}
	if name := nearest(p.name, append(append([]string{}, l.now...), l.later...)); name != "" {
		return didYouMean(name)
	}
	return suggestion{}
}

func didYouMean(name string) suggestion {
	return suggestion{fmt.Sprintf("did you mean %q?", name), []string{name}}
}

func (l level) has(name string) bool { return contains(l.now, name) || contains(l.later, name) }

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
	case l.has(field):
		return suggestion{fmt.Sprintf("did you mean %q?", text), []string{field}}, true
	case field == "retry" && l.has("maxAttempts"): // inside retry already
		text = strings.TrimSuffix(strings.TrimPrefix(text, "retry: {"), "}")
		name, _, _ := strings.Cut(text, ":")
		return suggestion{fmt.Sprintf("did you mean %q?", text), []string{name}}, true
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

func enabled(v *yaml.Node) (field, text string) {
	switch strings.ToLower(v.Value) {
	case "true", "yes", "on":
		return "suspend", "suspend: false"
	case "false", "no", "off":
		return "suspend", "suspend: true"
	}
	return "suspend", "suspend"
}

// seconds is for fields that carry their unit in their name.
func seconds(name string) func(*yaml.Node) (field, text string) {
	return func(v *yaml.Node) (string, string) {
		if n, err := strconv.Atoi(v.Value); err == nil && n >= 0 {
			return name, fmt.Sprintf("%s: %ds", name, n)
		}
		return name, name
	}
}

// attempts is for numbers of attempts; those that do not count the first one
// have it added.
func attempts(first int) func(*yaml.Node) (field, text string) {
	return func(v *yaml.Node) (string, string) {
		if n, err := strconv.Atoi(v.Value); err == nil && n >= 0 && n < 1e6 {
			return "retry", fmt.Sprintf("retry: {maxAttempts: %d}", n+first)
		}
		return "retry", "retry: {maxAttempts: 4}"
	}
}

func inRetry(name string) func(*yaml.Node) (field, text string) {
	return func(v *yaml.Node) (string, string) {
		value := "…"
		if isText(v) && v.Value != "" {
			value = shorten(v.Value)
		}
		return "retry", fmt.Sprintf("retry: {%s: %s}", name, value)
	}
}
