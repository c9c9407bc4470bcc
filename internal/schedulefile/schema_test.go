package schedulefile

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"

	"github.com/bide-go/bide/internal/duration"
	"github.com/bide-go/bide/job"
	"github.com/bide-go/bide/scheduler"
)

func compiled(t testing.TB) *jsonschema.Schema {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(Schema()))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft7)
	c.AssertFormat()
	if err := c.AddResource(SchemaName, doc); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile(SchemaName)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// asJSON is a file as an editor hands it to the schema. It reports false for what
// is no YAML, or YAML that JSON cannot say.
func asJSON(source Source) (any, bool) {
	src := newSource(0, source)
	root := src.parse()
	if root == nil {
		return nil, false
	}
	var bad bool
	text := scope{src: src, bad: &bad}.args(pair{key: root, value: root})
	if text == nil || bad {
		return nil, false
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	return doc, err == nil
}

// refusal is a place where the schema finds something wrong, as the path of a
// problem. If a field is missing there, parent is the map that lacks it. The library
// does not always know where a map with a bad name is, so of those only the name is
// told.
type refusal struct {
	path    string
	missing bool
	parent  string
	name    string
}

func refused(s *jsonschema.Schema, doc any) (list []refusal) {
	var ve *jsonschema.ValidationError
	if !errors.As(s.Validate(doc), &ve) {
		return nil
	}
	var walk func(e *jsonschema.ValidationError)
	walk = func(e *jsonschema.ValidationError) {
		at := pathOf(e.InstanceLocation)
		switch k := e.ErrorKind.(type) {
		case *kind.AdditionalProperties:
			for _, name := range k.Properties {
				list = append(list, refusal{path: join(at, name)})
			}
		case *kind.Required:
			for _, name := range k.Missing {
				list = append(list, refusal{path: join(at, name), missing: true, parent: at})
			}
		case *kind.PropertyNames:
			list = append(list, refusal{name: k.Property})
		default:
			if len(e.Causes) == 0 {
				list = append(list, refusal{path: at})
			}
			for _, cause := range e.Causes {
				walk(cause)
			}
		}
	}
	walk(ve)
	return list
}

func pathOf(location []string) string {
	path := ""
	for _, step := range location {
		if _, err := strconv.Atoi(step); err == nil {
			path += "[" + step + "]"
			continue
		}
		path = join(path, step)
	}
	return path
}

// under reports whether path is base or inside it.
func under(path, base string) bool {
	rest, ok := strings.CutPrefix(path, base)
	return ok && (rest == "" || rest[0] == '.' || rest[0] == '[')
}

// beyondSchema are the codes that a schema cannot find, and why.
var beyondSchema = map[string]string{
	"E003": "a map as JSON has each key once, and files are looked at one by one",
	"E010": "the pattern of an expression knows its shape, not the ranges of its fields",
	"E012": "nor the calendar",
	"E014": "the names of the 600 zones are not listed",
	"E015": "a pattern cannot calculate",
	"E017": "two fields are compared",
	"E018": "two fields are compared",
	"E020": "the environment is not part of the file",
	"E022": "a flag is not part of the file",
	"E023": "limits of the reader",
}

// beyondSchemaAt are single problems of other codes that a schema cannot find.
var beyondSchemaAt = map[string]string{
	"bad-policies.yaml schedules.too-short.startingDeadline": "a pattern cannot calculate",
	"bad-types.yaml schedules.a.owner":                       "a date is a text in JSON",
	"bad-ranges.yaml schedules.a.retry.minBackoff":           "two fields are compared",
	"bad-ranges.yaml schedules.b.retry.minBackoff":           "two fields are compared",
	"bad-ranges.yaml schedules.c.retry.maxBackoff":           "two fields are compared",
}

// notJSON are the bad fixtures that never reach a schema.
var notJSON = strings.Fields(`
	bad-alias-bomb.yaml bad-alias-cycle.yaml bad-empty-file.yaml bad-not-utf8.yaml bad-nul.yaml bad-second-document.yaml
	bad-syntax-colon.yaml bad-syntax-unclosed-quote.yaml bad-tab-indent.yaml bad-unknown-anchor.yaml bad-unquoted-at.yaml
	bad-unquoted-star-in-list.yaml bad-unquoted-star.yaml bad-args-types.yaml bad-duplicate-keys.yaml bad-key-types.yaml`)

// The schema and the code agree on every fixture: whatever the one refuses, the
// other refuses at the same place, but for what a schema cannot say.
func TestSchemaAgreesWithTheChecks(t *testing.T) {
	s := compiled(t)
	for _, path := range fixtures(t) {
		for _, source := range fixture(t, path) {
			opt := fixtureOptions(path)
			r := Load([]Source{source}, opt)
			doc, ok := asJSON(source)
			if ok == slices.Contains(notJSON, source.Name) {
				t.Errorf("%s: read as JSON: %v", source.Name, ok)
			}
			if !ok {
				continue
			}
			found := refused(s, doc)
			for _, p := range r.Problems {
				if p.Severity == SeverityWarning || beyondSchema[p.Code] != "" || beyondSchemaAt[source.Name+" "+p.Path] != "" {
					continue
				}
				// A handler's missing args are one place for the schema.
				if !slices.ContainsFunc(found, func(at refusal) bool {
					if at.name != "" {
						return strings.HasSuffix(p.Path, "."+at.name)
					}
					return under(at.path, p.Path) || at.missing && under(p.Path, at.path)
				}) {
					t.Errorf("%s: the schema does not find: %s %s\nit finds %+v", source.Name, p.Code, p.Message, found)
				}
			}
			for _, at := range found {
				if !slices.ContainsFunc(r.Problems, func(p Problem) bool { return explains(p, at) }) {
					t.Errorf("%s: the schema alone refuses %+v", source.Name, at)
				}
			}
			if strings.HasPrefix(source.Name, "good-") && len(found) > 0 {
				t.Errorf("%s: refused by the schema: %+v", source.Name, found)
			}
		}
	}
}

// explains reports whether the problem is reason enough for the schema to refuse
// that place: a misspelt field is not missing as well for the checks, and of another
// version they say nothing else.
func explains(p Problem, at refusal) bool {
	if p.Severity != SeverityError {
		return false
	}
	if at.name != "" {
		return strings.HasSuffix(p.Path, "."+at.name)
	}
	return under(at.path, p.Path) || under(p.Path, at.path) ||
		at.missing && p.Code == "E002" && strings.HasPrefix(p.Path, at.parent) || p.Path == "version" && p.Code == "E008"
}

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
			if r := Load([]Source{{"a", text}}, opt); r.Errors() > 0 {
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
