package job

import (
	"fmt"
	"regexp"
	"strings"
)

// The naming rules. They keep names safe inside Redis keys, delayed-set members
// and the tab-separated head of a job's body: none allows a blank, a tab, a
// newline or a brace.
var (
	nameRule      = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9:._/-]{0,199}$`)
	scheduleRule  = regexp.MustCompile(`^[a-z0-9]([a-z0-9._-]{0,98}[a-z0-9])?$`)
	queueRule     = regexp.MustCompile(`^[a-z0-9]([a-z0-9_-]{0,62}[a-z0-9])?$`)
	namespaceRule = regexp.MustCompile(`^[a-z0-9][a-z0-9-]{0,31}$`)
	idRule        = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._:-]{0,127}$`)
)

// MaxUnique is the longest allowed unique key, in bytes.
const MaxUnique = 256

// CheckName reports whether name is a legal job name: 1 to 200 letters, digits
// and :._/- beginning with a letter or digit.
func CheckName(name string) error {
	return check("job name", name, nameRule, "letters, digits and : . _ / - (at most 200), beginning with a letter or digit")
}

// CheckQueue reports whether queue is a legal queue name: 1 to 64 of a-z, 0-9, _
// and -, beginning and ending with a letter or digit, and not ending in
// "-delayed", which names the lane of due jobs.
func CheckQueue(queue string) error {
	if strings.HasSuffix(queue, "-delayed") {
		return &InvalidError{Field: "queue", Value: queue, Rule: `must not end in "-delayed": that is the lane of its due jobs`}
	}
	return check("queue", queue, queueRule, "a-z, 0-9, _ and - (at most 64), beginning and ending with a letter or digit")
}

// CheckSchedule reports whether name is a legal schedule name.
func CheckSchedule(name string) error {
	return check("schedule name", name, scheduleRule, "a-z, 0-9, . _ and - (at most 100), beginning and ending with a letter or digit")
}

// CheckNamespace reports whether ns is a legal namespace.
func CheckNamespace(ns string) error {
	return check("namespace", ns, namespaceRule, "a-z, 0-9 and - (at most 32), beginning with a letter or digit")
}

// CheckID reports whether id is a legal caller-given job id. Ids of ticks hold an
// "@" and are made by the scheduler alone.
func CheckID(id string) error {
	if strings.Contains(id, "@") {
		return &InvalidError{Field: "job id", Value: id, Rule: `must not contain "@", which only ids of schedule ticks have`}
	}
	return check("job id", id, idRule, "letters, digits and . _ : - (at most 128), beginning with a letter or digit")
}

// CheckUnique reports whether key is a legal unique key: at most MaxUnique bytes
// of printable text.
func CheckUnique(key string) error {
	if len(key) > MaxUnique {
		return &InvalidError{Field: "unique key", Value: key[:32] + "…", Rule: fmt.Sprintf("has %d bytes, %d are allowed", len(key), MaxUnique)}
	}
	if key != "" && !printable(key) {
		return &InvalidError{Field: "unique key", Value: key, Rule: "must be printable UTF-8 text without control characters"}
	}
	return nil
}

func check(field, value string, rule *regexp.Regexp, words string) error {
	if rule.MatchString(value) {
		return nil
	}
	if value == "" {
		return &InvalidError{Field: field, Rule: "is missing; give " + words}
	}
	if len(value) > 300 {
		value = value[:300] + "…"
	}
	return &InvalidError{Field: field, Value: value, Rule: "must be " + words}
}
