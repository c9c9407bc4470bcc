package schedulefile

import (
	"cmp"
	"fmt"
	"strings"

	"go.yaml.in/yaml/v4"
)

// checkArgs hands the args to the handler's own check, if they could be read.
func (e *entry) checkArgs(s scope) {
	p := e.known.get("args")
	at := e.known.get("job")
	if e.opt.CheckArgs == nil || e.def.Job == "" || at == nil || p != nil && e.def.Args == nil || e.known.meant["args"] {
		return
	}
	s = s.child("args")
	for _, problem := range e.opt.CheckArgs(e.def.Job, argsOrNull(e.def.Args)) {
		in, node := s, at.at()
		if p != nil {
			node = argNode(*p, problem.Path)
		}
		if problem.Path != "" {
			in = s.child(problem.Path)
		}
		in.fail(cmp.Or(problem.Code, "E006"), node, fmt.Sprintf("args of %q in %s: %s", e.def.Job, s.root, problem.Message), problem.Hint)
	}
}

// argNode finds the key in args that a path such as "headers.Accept" or
// "list[2]" leads to, or the last one on the way there.
func argNode(args pair, path string) *yaml.Node {
	at, n := args.key, args.value
	if path == "" {
		return args.at()
	}
	for _, step := range strings.FieldsFunc(path, func(r rune) bool { return r == '.' || r == '[' || r == ']' }) {
		next := childNode(n, step)
		if next == nil {
			break
		}
		at, n = next.key, next.value
	}
	return at
}

// childNode finds a key of a map by its name or an element of a list by its
// number.
func childNode(n *yaml.Node, step string) *pair {
	if isList(n) {
		for i, c := range n.Content {
			if fmt.Sprint(i) == step {
				return &pair{key: c, value: deref(c)}
			}
		}
		return nil
	}
	for i := 0; isMap(n) && i+1 < len(n.Content); i += 2 {
		if deref(n.Content[i]).Value == step {
			return &pair{key: n.Content[i], value: deref(n.Content[i+1])}
		}
	}
	return nil
}
