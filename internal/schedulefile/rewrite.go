package schedulefile

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v4"

	"github.com/bide-go/bide/internal/cronexpr"
	"github.com/bide-go/bide/internal/duration"
)

// onOff is for switches that are one of two words here.
func onOff(field, on, off string) rewrite {
	return func(v *yaml.Node) (string, string) {
		switch strings.ToLower(v.Value) {
		case "true", "yes", "on", "enabled", "active", "1":
			return field, field + ": " + on
		case "false", "no", "off", "disabled", "paused", "inactive", "suspended", "0":
			return field, field + ": " + off
		}
		return field, ""
	}
}

// policy is for words that have another name here.
func policy(field string, words []string, foreign map[string]string) rewrite {
	return func(v *yaml.Node) (string, string) {
		if meant := meantWord(v.Value, words, foreign); meant != "" {
			return field, field + ": " + meant
		}
		return field, ""
	}
}

// instances is for the number of runs that may go on at a time.
func instances(v *yaml.Node) (field, text string) {
	switch n, ok := wholeNumberOf(v); {
	case ok && n == 1:
		return "concurrencyPolicy", "concurrencyPolicy: Forbid"
	case ok && n > 1:
		return "concurrencyPolicy", "concurrencyPolicy: Allow"
	}
	return "concurrencyPolicy", ""
}

// lasting is for durations: numbers of seconds, and texts that may need another
// form.
func lasting(field string) rewrite {
	return func(v *yaml.Node) (string, string) {
		if d := meantDuration(v); d != "" {
			return field, field + ": " + d
		}
		return field, ""
	}
}

func every(v *yaml.Node) (field, text string) {
	if d := meantDuration(v); d != "" {
		if _, err := cronexpr.Parse("@every " + d); err == nil {
			return "schedule", fmt.Sprintf("schedule: %q", "@every "+d)
		}
	}
	return "schedule", ""
}

func bound(field string) rewrite {
	return func(v *yaml.Node) (string, string) {
		if v.Kind != yaml.ScalarNode || v.Tag != "!!str" && v.Tag != "!!timestamp" {
			return field, ""
		}
		text := v.Value
		if _, err := time.Parse(time.RFC3339, text); err != nil {
			text = meantTime(text, "UTC")
		}
		if text == "" {
			return field, ""
		}
		return field, fmt.Sprintf("%s: %q", field, text)
	}
}

// attempts is for numbers of attempts; those that do not count the first one
// have it added.
func attempts(first int64) rewrite {
	return func(v *yaml.Node) (string, string) {
		if n, ok := wholeNumberOf(v); ok && n >= 0 && n+first > 0 && n < 1e6 {
			return "retry", fmt.Sprintf("retry: {maxAttempts: %d}", n+first)
		}
		return "retry", "retry: {maxAttempts: 4}"
	}
}

func inRetry(name string) rewrite {
	return func(v *yaml.Node) (string, string) {
		value := meantDuration(v)
		if value == "" {
			value = "…"
		}
		return "retry", fmt.Sprintf("retry: {%s: %s}", name, value)
	}
}

func kept(names ...string) rewrite {
	return func(v *yaml.Node) (string, string) {
		n, ok := wholeNumberOf(v)
		if !ok || n < 0 || n > maxHistory {
			return "history", ""
		}
		var parts []string
		for _, name := range names {
			parts = append(parts, fmt.Sprintf("%s: %d", name, n))
		}
		return "history", "history: {" + strings.Join(parts, ", ") + "}"
	}
}

func pauseOnFailure(v *yaml.Node) (field, text string) {
	if strings.EqualFold(v.Value, "true") {
		return "pauseAfterFailures", "pauseAfterFailures: 1"
	}
	return "pauseAfterFailures", ""
}

func pauseAfter(v *yaml.Node) (field, text string) {
	if n, ok := wholeNumberOf(v); ok && n >= 0 && n <= maxPauseAfter {
		return "pauseAfterFailures", fmt.Sprintf("pauseAfterFailures: %d", n)
	}
	return "pauseAfterFailures", ""
}

// priority is a queue if it is a word; numbers mean another thing everywhere.
func priority(v *yaml.Node) (field, text string) {
	if word := strings.ToLower(v.Value); isText(v) && (word == "high" || word == "medium" || word == "low") {
		return "queue", "queue: " + word
	}
	return "", ""
}

// shellSigns need a shell to mean what they mean.
const shellSigns = "|&;<>()$`\\\"'*?[]#~{}!\n"

// command is for a command line, or a list of its words.
func command(v *yaml.Node) (field, text string) {
	var words []string
	switch {
	case isText(v) && strings.TrimSpace(v.Value) != "" && len(v.Value) <= 200:
		words = strings.Fields(v.Value)
		if strings.ContainsAny(v.Value, shellSigns) {
			words = []string{"sh", "-c", v.Value}
		}
	case isList(v) && len(v.Content) <= 20:
		for _, c := range v.Content {
			if c = deref(c); c.Kind == yaml.ScalarNode && len(c.Value) <= 60 {
				words = append(words, c.Value)
			}
		}
		if len(words) < len(v.Content) {
			words = nil
		}
	}
	if len(words) == 0 {
		return "job", `job: exec, args: {command: […]}`
	}
	for i, w := range words {
		words[i] = strconv.Quote(w)
	}
	return "job", fmt.Sprintf("job: exec, args: {command: [%s]}", strings.Join(words, ", "))
}

func address(v *yaml.Node) (field, text string) {
	url := "…"
	if isText(v) && v.Value != "" && len(v.Value) <= 200 {
		url = v.Value
	}
	return "job", fmt.Sprintf("job: http, args: {url: %q}", url)
}

// isoDuration is the form of ISO 8601 that has fixed lengths only.
var isoDuration = regexp.MustCompile(`^P(?:(\d+)W)?(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?(?:(\d+)S)?)?$`)

// wordyDuration is how people write one duration: 5 minutes, 30 sec, 1 day.
var wordyDuration = regexp.MustCompile(`^(\d+)? *(s|sec|secs|seconds?|m|min|mins|minutes?|h|hrs?|hours?|d|days?|w|weeks?)$`)

// meantDuration writes what somebody gave for a duration as we read it: a bare
// number is one of seconds. It is empty if nothing can be made of it.
func meantDuration(v *yaml.Node) string {
	text := strings.ToLower(strings.TrimSpace(v.Value))
	if v.Kind != yaml.ScalarNode || len(text) > 40 {
		return ""
	}
	if n, err := strconv.ParseUint(text, 10, 30); err == nil && n > 0 {
		return text + "s"
	}
	if seconds, err := strconv.ParseFloat(text, 64); err == nil {
		if seconds <= 0 || seconds > 1e9 {
			return ""
		}
		return duration.Format(time.Duration(seconds * float64(time.Second)).Round(time.Millisecond))
	}
	return durationText(text)
}

func durationText(text string) string {
	if d, err := duration.Parse(text); err == nil && d > 0 {
		return text
	}
	written := ""
	if m := wordyDuration.FindStringSubmatch(text); m != nil {
		if written = m[1] + m[2][:1]; m[1] == "" {
			written = "1" + written
		}
	} else if m := isoDuration.FindStringSubmatch(strings.ToUpper(text)); m != nil {
		for i, unit := range []string{"w", "d", "h", "m", "s"} {
			if m[i+1] != "" {
				written += m[i+1] + unit
			}
		}
	}
	if d, err := duration.Parse(written); err == nil && d > 0 {
		return written
	}
	return ""
}
