package schedulefile

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/bide-go/bide/internal/duration"
	"github.com/bide-go/bide/job"
	"github.com/bide-go/bide/scheduler"
)

// object is a part of the schema.
type object = map[string]any

func schemaDocument(t testing.TB) object {
	t.Helper()
	var doc object
	if err := json.Unmarshal(Schema(), &doc); err != nil {
		t.Fatal(err)
	}
	return doc
}

// dig goes down into the schema, following references.
func dig(t testing.TB, doc object, steps ...string) object {
	t.Helper()
	at := doc
	for _, step := range steps {
		next, ok := at[step].(object)
		if !ok {
			t.Fatalf("the schema has no %s in %q", step, steps)
		}
		if ref, ok := next["$ref"].(string); ok {
			next = dig(t, doc, "definitions", strings.TrimPrefix(ref, "#/definitions/"))
		}
		at = next
	}
	return at
}

func TestSchemaHasTheFieldsOfEveryLevel(t *testing.T) {
	doc := schemaDocument(t)
	entry := []string{"definitions", "schedule"}
	for name, tt := range map[string]struct {
		level    level
		at       []string
		required []string
	}{
		"top level": {topLevel, nil, []string{"version", "schedules"}},
		"defaults":  {defaultsLevel, []string{"properties", "defaults"}, nil},
		"schedule":  {entryLevel, entry, []string{"schedule", "job"}},
		"retry":     {retryLevel, append(slices.Clone(entry), "properties", "retry"), nil},
		"history":   {historyLevel, append(slices.Clone(entry), "properties", "history"), nil},
	} {
		part := dig(t, doc, tt.at...)
		var have []string
		for field := range dig(t, part, "properties") {
			have = append(have, field)
		}
		want := slices.Clone(tt.level.now)
		slices.Sort(have)
		slices.Sort(want)
		if !slices.Equal(have, want) {
			t.Errorf("%s: the schema has %q, the code %q", name, have, want)
		}
		var required []string
		list, _ := part["required"].([]any)
		for _, r := range list {
			required = append(required, r.(string))
		}
		if !slices.Equal(required, tt.required) {
			t.Errorf("%s: required are %q, want %q", name, required, tt.required)
		}
	}
}

// Every field of a definition can be written in the file.
func TestSchemaHasEveryFieldOfADefinition(t *testing.T) {
	elsewhere := map[string]string{
		"name": "the key", "file": "where it stands", "line": "where it stands",
		"maxAttempts": "retry", "minBackoff": "retry", "maxBackoff": "retry",
	}
	for f := range reflect.TypeFor[scheduler.Definition]().Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if elsewhere[name] == "" && !entryLevel.has(name) {
			t.Errorf("%s of a definition is no field of the file", name)
		}
	}
}

// Editors show description, default and examples; so each property has them, and
// what is not mentioned is not allowed.
func TestSchemaExplainsEveryProperty(t *testing.T) {
	doc := schemaDocument(t)
	noDefault := strings.Fields(`version defaults schedules schedule job startAt endAt description owner runbook labels
		message channel url headers body json command env dir file`)
	var walk func(path string, v any)
	walk = func(path string, v any) {
		part, ok := v.(object)
		if !ok {
			return
		}
		if properties, ok := part["properties"].(object); ok && !strings.HasSuffix(path, ".if") && !strings.HasSuffix(path, ".then") {
			if part["additionalProperties"] != false {
				t.Errorf("%s allows more than it names", path)
			}
			for name := range properties {
				p := dig(t, doc, "definitions") // for references
				p = object{"properties": properties, "definitions": p}
				p = dig(t, p, "properties", name)
				text, _ := p["description"].(string)
				examples, _ := p["examples"].([]any)
				_, hasDefault := p["default"]
				if !strings.HasSuffix(text, ".") || len(examples) == 0 || hasDefault == slices.Contains(noDefault, name) {
					t.Errorf("%s.%s: description %q, %d examples, default %v", path, name, text, len(examples), hasDefault)
				}
			}
		}
		for key, sub := range part {
			if list, ok := sub.([]any); ok {
				for i, item := range list {
					if key != "examples" {
						walk(fmt.Sprintf("%s.%s[%d]", path, key, i), item)
					}
				}
			}
			if key != "default" {
				walk(path+"."+key, sub)
			}
		}
	}
	walk("", any(doc))
}

func TestSchemaDefaults(t *testing.T) {
	doc := schemaDocument(t)
	h := scheduler.DefaultHistory
	for path, want := range map[string]any{
		"timeZone": "UTC", "queue": job.DefaultQueue, "timeout": duration.Format(job.DefaultTimeout),
		"retry.maxAttempts": float64(job.DefaultMaxAttempts), "retry.minBackoff": duration.Format(job.DefaultMinBackoff),
		"retry.maxBackoff":  duration.Format(job.DefaultMaxBackoff),
		"concurrencyPolicy": string(scheduler.Forbid), "catchUp": string(scheduler.Latest),
		"startingDeadline": duration.Format(scheduler.DefaultStartingDeadline), "jitter": "0s",
		"history.successful": float64(h.Successful), "history.failed": float64(h.Failed),
		"pauseAfterFailures": 0.0, "suspend": false, "args": nil,
	} {
		steps := []string{"definitions", "schedule"}
		for _, s := range strings.Split(path, ".") {
			steps = append(steps, "properties", s)
		}
		if got, ok := dig(t, doc, steps...)["default"]; !ok || got != want {
			t.Errorf("the default of %s is %v, want %v", path, got, want)
		}
	}
}

// Every example and default of a field is a value that the checks take.
func TestSchemaExamplesLoad(t *testing.T) {
	doc := schemaDocument(t)
	for name := range dig(t, doc, "definitions", "schedule", "properties") {
		p := dig(t, doc, "definitions", "schedule", "properties", name)
		values, _ := p["examples"].([]any)
		if v, ok := p["default"]; ok && name != "args" {
			values = append(values, v)
		}
		for _, v := range values {
			entry := object{"schedule": "@yearly", "job": "x"}
			entry[name] = v
			if entry["job"] == "log" {
				entry["args"] = object{"message": "x"}
			}
			text, err := json.Marshal(object{"version": 1, "schedules": object{"a": entry}})
			if err != nil {
				t.Fatal(err)
			}
			opt := testOptions()
			opt.AllowExec = true
			if r := Load([]Source{{Name: "a", Data: text}}, opt); r.Errors() > 0 {
				t.Errorf("%s: %v:\n%s", name, v, report(r))
			}
		}
	}
}

// The words and the rules of names are those of the checks.
func TestSchemaNames(t *testing.T) {
	doc := schemaDocument(t)
	words := func(name string) (list []string) {
		for _, w := range dig(t, doc, "definitions", name)["enum"].([]any) {
			list = append(list, w.(string))
		}
		return list
	}
	if got := words("concurrencyPolicy"); !slices.Equal(got, concurrencyWords) {
		t.Errorf("concurrencyPolicy: %q", got)
	}
	if got := words("catchUp"); !slices.Equal(got, catchUpWords) {
		t.Errorf("catchUp: %q", got)
	}
	names, err := os.ReadFile(filepath.Join("..", "..", "job", "names.go"))
	if err != nil {
		t.Fatal(err)
	}
	for rule, pattern := range map[string]any{
		"nameRule":     dig(t, doc, "definitions", "schedule", "properties", "job")["pattern"],
		"scheduleRule": dig(t, doc, "properties", "schedules", "propertyNames")["pattern"],
		"queueRule":    dig(t, doc, "definitions", "queue")["pattern"],
	} {
		var want string
		for line := range strings.Lines(string(names)) {
			if fields := strings.Fields(line); len(fields) > 0 && fields[0] == rule {
				_, want, _ = strings.Cut(line, "`")
				want, _, _ = strings.Cut(want, "`")
			}
		}
		if want == "" || pattern != want {
			t.Errorf("%s: the schema has %v, want %v", rule, pattern, want)
		}
	}
	if got := dig(t, doc, "definitions", "schedule", "properties", "labels", "propertyNames")["pattern"]; got != labelRule.String() {
		t.Errorf("labels: the schema has %v, want %v", got, labelRule)
	}
}
