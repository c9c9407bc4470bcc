package schedulefile

import (
	"fmt"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v4"
)

// pair is a key of a map and its value, aliases followed.
type pair struct {
	name       string
	key, value *yaml.Node
}

// at is where problems with the value are shown: at the key, if there is no
// value to point at.
func (p pair) at() *yaml.Node {
	if isNull(p.value) && p.value.Value == "" {
		return p.key
	}
	return p.value
}

func deref(n *yaml.Node) *yaml.Node {
	for n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	return n
}

func isNull(n *yaml.Node) bool {
	n = deref(n)
	return n.Kind == yaml.ScalarNode && n.Tag == "!!null" && (n.Value == "" || n.Style&yaml.TaggedStyle == 0)
}

func isMap(n *yaml.Node) bool  { return n.Kind == yaml.MappingNode && n.Tag == "!!map" }
func isList(n *yaml.Node) bool { return n.Kind == yaml.SequenceNode && n.Tag == "!!seq" }

// isText is also true for the tag "!", which says: take it as it stands.
func isText(n *yaml.Node) bool {
	return n.Kind == yaml.ScalarNode && (n.Tag == "!!str" || n.Tag == "!")
}

func isMergeKey(n *yaml.Node) bool {
	return n.Kind == yaml.ScalarNode && n.Tag == "!!merge" && n.Value == "<<"
}

// pairs lists the pairs of the map n with the merge keys (<<) worked in. Keys
// that are no text and keys given twice are errors; they are left out and come
// back as refused.
func (s scope) pairs(n *yaml.Node) (list []pair, refused []string) {
	own := map[string]int{} // key → line, of this map without what it merges
	for i := 0; i+1 < len(n.Content); i += 2 {
		key := deref(n.Content[i])
		name, ok := s.keyName(n.Content[i], key, own)
		if !ok {
			refused = append(refused, name)
		} else if !isMergeKey(key) {
			list = append(list, pair{name, n.Content[i], deref(n.Content[i+1])})
		}
	}
	have := map[string]bool{}
	for name := range own {
		have[name] = true
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if isMergeKey(deref(n.Content[i])) {
			merged, more := s.merge(n.Content[i+1], have)
			list, refused = append(list, merged...), append(refused, more...)
		}
	}
	return list, refused
}

// keyName checks one key of a map and notes it in own.
func (s scope) keyName(at, key *yaml.Node, own map[string]int) (string, bool) {
	if !isText(key) && !isMergeKey(key) {
		s.fail("E004", at, fmt.Sprintf("a key %s must be text, not %s", s.where(), describe(key)), quoteHint(key))
		return key.Value, false
	}
	if line, twice := own[key.Value]; twice {
		s.child(key.Value).fail("E003", at, fmt.Sprintf("duplicate key %s %s; the first is on line %d", quote(key.Value), s.where(), line), "")
		return key.Value, false
	}
	own[key.Value] = at.Line
	return key.Value, true
}

// merge lists the pairs that a merge key adds: a map's, or those of a list of
// maps in which the earlier win.
func (s scope) merge(n *yaml.Node, have map[string]bool) (list []pair, refused []string) {
	from := []*yaml.Node{deref(n)}
	if isList(from[0]) {
		from = from[0].Content
	}
	for _, item := range from {
		m := deref(item)
		if !isMap(m) {
			s.fail("E004", item, fmt.Sprintf(`"<<" %s takes a map or a list of maps, not %s`, s.where(), describe(m)), "")
			continue
		}
		pairs, more := s.pairs(m)
		refused = append(refused, more...)
		for _, p := range pairs {
			if !have[p.name] {
				have[p.name] = true
				list = append(list, p)
			}
		}
	}
	return list, refused
}

// where says in which map a key is.
func (s scope) where() string {
	if label := s.label(); label != "" {
		return "in " + label
	}
	return "at the top level"
}

// describe names what a node is, for "must be …, not …".
func describe(n *yaml.Node) string {
	switch {
	case isNull(n):
		return "nothing"
	case isMap(n):
		return "a map"
	case isList(n):
		return "a list"
	case n.Kind != yaml.ScalarNode:
		return "a value tagged " + shorten(n.Tag)
	case isText(n):
		return "the text " + quote(n.Value)
	}
	switch n.Tag {
	case "!!int", "!!float":
		return "the number " + shorten(n.Value)
	case "!!bool":
		return "the boolean " + shorten(n.Value)
	case "!!timestamp":
		return "the date " + shorten(n.Value)
	case "!!binary":
		return "binary data"
	case "!!merge":
		return "a merge key"
	}
	return "a value tagged " + shorten(n.Tag)
}

// quoteHint tells how to make text of a scalar that YAML reads as something
// else.
func quoteHint(n *yaml.Node) string {
	if n.Kind != yaml.ScalarNode || isNull(n) && n.Value == "" || n.Style&yaml.TaggedStyle != 0 {
		return ""
	}
	return "quote it: " + strconv.Quote(strings.TrimSpace(shorten(n.Value)))
}
