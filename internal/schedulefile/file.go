package schedulefile

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/bide-go/bide/job"
)

// version is the only version of the file format there is.
const version = 1

var versionHint = "write version: " + strconv.Itoa(version)

// readFile walks a file from its root. Whatever is wrong at the top level makes
// the set unusable: a misspelt "defaults" or "schedules" must not read as none.
func (l *loader) readFile(src *source, root *yaml.Node) {
	top := scope{src: src, bad: &src.fatal}
	if !isMap(root) {
		top.fail("E004", root, fmt.Sprintf("the file must be a map with version and schedules, not %s", describe(root)), "")
		return
	}
	pairs, _ := top.pairs(root)
	if other := top.otherVersion(pairs); other {
		return
	}
	known := top.sortOut(topLevel, pairs)
	top.checkVersion(root, known)
	defs := readDefaults(src, known.get("defaults"))
	p := known.get("schedules")
	if p == nil {
		if !known.meant["schedules"] {
			top.child("schedules").fail("E005", root, "schedules is missing", `write "schedules: {}" if there are none`)
		}
		return
	}
	l.readSchedules(src, *p, defs)
}

// otherVersion reports whether the file is written for another version. Nothing
// else can be said about such a file.
func (s scope) otherVersion(pairs []pair) bool {
	for _, p := range pairs {
		if p.name == "version" && p.value.Tag == "!!int" && strings.TrimLeft(p.value.Value, "+") != strconv.Itoa(version) {
			s.child("version").fail("E008", p.value, fmt.Sprintf("this bide reads version %d, not version %s", version, shorten(p.value.Value)), versionHint)
			return true
		}
	}
	return false
}

func (s scope) checkVersion(root *yaml.Node, known fields) {
	s = s.child("version")
	p := known.get("version")
	switch {
	case p == nil && known.meant["version"]:
	case p == nil || isNull(p.value):
		at := root
		if p != nil {
			at = p.key
		}
		s.fail("E005", at, "version is missing", versionHint)
	case p.value.Tag != "!!int":
		s.wrongType(*p, "the number "+strconv.Itoa(version), versionHint)
	}
}

func (l *loader) readSchedules(src *source, p pair, defs defaults) {
	all := scope{src: src, bad: &src.fatal}.child("schedules")
	if !isMap(p.value) {
		all.wrongType(p, "a map of names", listHint(p.value))
		return
	}
	// An entry's problems are its own: they do not make the set unusable.
	var entriesBad bool
	all.bad = &entriesBad
	pairs, refused := all.pairs(p.value)
	for _, p := range pairs {
		l.readSchedule(src, p, defs)
	}
	for _, name := range refused {
		l.bad[name] = true
	}
	l.result.Schedules += len(pairs) + len(refused)
}

// listHint tells how schedules look as a map, to whoever has written a list of them.
func listHint(n *yaml.Node) string {
	if !isList(n) || len(n.Content) == 0 {
		return `write "schedules: {}" if there are none`
	}
	name := "nightly-report"
	if first := deref(n.Content[0]); isMap(first) {
		for i := 0; i+1 < len(first.Content); i += 2 {
			key, value := deref(first.Content[i]), deref(first.Content[i+1])
			if slices.Contains([]string{"name", "id", "key"}, strings.ToLower(key.Value)) && value.Kind == yaml.ScalarNode && job.CheckSchedule(value.Value) == nil {
				return fmt.Sprintf(`the name is the key: "%s:" and below it its fields, instead of "- %s: %s"`, shorten(value.Value), shorten(key.Value), shorten(value.Value))
			}
		}
	}
	return fmt.Sprintf(`the name is the key: "%s:" and below it its fields, instead of "-"`, name)
}

// readSchedule reads one entry and notes whether it is good.
func (l *loader) readSchedule(src *source, p pair, defs defaults) {
	var bad bool
	s := scope{src: src, path: "schedules." + shorten(p.name), root: "schedule " + quote(p.name), bad: &bad}
	if err := job.CheckSchedule(p.name); err != nil {
		s.fail("E007", p.key, err.Error(), "")
	}
	l.claim(s, p.name, p)
	e := entry{opt: l.opt, defaults: defs}
	e.read(s, p)
	if bad {
		l.bad[p.name] = true
		return
	}
	e.def.Name, e.def.File, e.def.Line = p.name, src.name, p.key.Line
	l.gather(&e, s)
	l.defs = append(l.defs, e.def)
}
