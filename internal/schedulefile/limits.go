package schedulefile

import (
	"fmt"

	"go.yaml.in/yaml/v4"
)

// An alias stands for a copy, so a small file can describe an enormous tree.
// maxAliased bounds what all aliases of a file add to it: the text in bytes, and
// nodeWeight for each node.
const (
	maxAliased = 8 << 20
	nodeWeight = 32
)

// extent is the size of a tree with all its aliases followed.
type extent struct{ weight, depth int }

// measure computes extents, each anchored node once. An anchor always stands
// before its aliases, so a missing extent means that the alias is inside its own
// anchor.
type measure struct {
	src     *source
	anchors map[*yaml.Node]extent
	aliased int
	ok      bool
}

// checkLimits refuses trees that are too deep or too large to walk.
func (s *source) checkLimits(root *yaml.Node) bool {
	m := measure{src: s, anchors: map[*yaml.Node]extent{}, ok: true}
	m.of(root)
	return m.ok
}

func (m *measure) of(n *yaml.Node) extent {
	if !m.ok {
		return extent{}
	}
	if n.Kind == yaml.AliasNode {
		return m.alias(n)
	}
	e := extent{weight: nodeWeight + len(n.Value)}
	for _, c := range n.Content {
		sub := m.of(c)
		e.weight += sub.weight
		e.depth = max(e.depth, sub.depth)
	}
	e.depth++
	if m.ok && e.depth > maxDepth {
		m.refuse(n, fmt.Sprintf("maps and lists are nested more than %d deep", maxDepth))
	}
	if n.Anchor != "" {
		m.anchors[n] = e
	}
	return e
}

func (m *measure) alias(n *yaml.Node) extent {
	e, known := m.anchors[n.Alias]
	if !known {
		m.refuse(n, fmt.Sprintf("the alias *%s stands inside its own anchor", shorten(n.Value)))
		return extent{}
	}
	m.aliased += e.weight
	if m.aliased > maxAliased {
		m.refuse(n, fmt.Sprintf("the aliases of this file repeat more than %d bytes", maxAliased))
	}
	return e
}

func (m *measure) refuse(n *yaml.Node, message string) {
	m.ok = false
	m.src.refuse("E023", m.src.span(n), message, "")
}
