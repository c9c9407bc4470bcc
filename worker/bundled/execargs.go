package bundled

import (
	"encoding/json"
	"strings"
)

// execArgs are the args of exec, which runs one command.
type execArgs struct {
	command []string
	env     []named
	dir     string // empty for the worker's own
	stdin   string // empty for none
}

func decodeExec(raw json.RawMessage) (execArgs, []Problem) {
	var args execArgs
	problems := decode(raw, fields{
		{name: "command", required: true, aka: []string{"cmd", "argv", "args", "run", "exec", "script"}, read: commandOf(&args.command)},
		{name: "env", aka: []string{"environment", "variables", "vars"}, read: valuesOf(&args.env, badVariable, same, noNUL)},
		{name: "dir", aka: []string{"cwd", "workdir", "workingdir", "workingdirectory", "directory", "chdir"}, read: nameOf(&args.dir, "\x00")},
		{name: "stdin", aka: []string{"input"}, read: text(&args.stdin)},
	})
	return args, problems
}

// commandOf reads the words of a command, the first of which is the program.
func commandOf(to *[]string) reader {
	return func(f string, raw json.RawMessage) []Problem {
		if kind := kindOf(raw); kind != kindList {
			hint := ""
			if kind == kindText {
				hint = `no shell reads it; to have one, write ["sh", "-c", …]`
			}
			return wrongKind(f, "a list of texts", kind, hint)
		}
		return listOf(func(f string, raw json.RawMessage) []Problem {
			var word string
			problems := text(&word)(f, raw)
			if what, hint := noNUL(word); problems == nil && what != "" {
				problems = []Problem{problem(f, what, hint)}
			}
			if len(*to) == 0 && problems == nil && word == "" {
				problems = []Problem{problem(f, "must not be empty", "it is the program to run")}
			}
			*to = append(*to, word)
			return problems
		})(f, raw)
	}
}

func badVariable(name string) (what, hint string) {
	switch {
	case name == "" || strings.ContainsAny(name, "=\x00"):
		return "is not the name of an environment variable", ""
	case strings.HasPrefix(name, "BIDE_"):
		return "must not begin with BIDE_", "bide tells the job's identity in those"
	}
	return "", ""
}

func noNUL(text string) (what, hint string) {
	if strings.ContainsRune(text, 0) {
		return "must not contain NUL", ""
	}
	return "", ""
}

func same(name string) string { return name }
