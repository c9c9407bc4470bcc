package schedulefile

import (
	"bytes"
	"errors"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
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
	bad-syntax-colon.yaml bad-syntax-dedent.yaml bad-syntax-umlaut.yaml bad-syntax-unclosed-quote.yaml bad-tab-indent.yaml bad-unknown-anchor.yaml bad-unquoted-at.yaml
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
