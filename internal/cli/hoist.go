package cli

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/urfave/cli/v2"
)

// line is a command line with every flag in front of the arguments, which is the
// only place where urfave/cli sees it: behind the first argument it would be
// dropped in silence.
type line struct {
	args []string       // for App.RunContext
	path []*cli.Command // the command and its parents, without the root
	help bool           // help was asked for
}

// given is a flag as it was given.
type given struct {
	name  string // the flag's first name
	as    string // as it was written, for messages
	value string
}

type hoister struct {
	root  *cli.Command
	known map[string]cli.DocGenerationFlag // every flag of every command, by all of its names
	line  line
	words []string // the arguments that are left
	flags []given
	ended bool // by "--"
}

// hoist sorts args into commands, flags and arguments. A flag may stand before the
// command it belongs to; "--" ends the flags.
func hoist(root *cli.Command, args []string) (line, error) {
	h := &hoister{root: root, known: map[string]cli.DocGenerationFlag{}}
	h.learn(root)
	for len(args) > 0 {
		arg := args[0]
		args = args[1:]
		var err error
		switch {
		case h.ended || arg == "-" || !strings.HasPrefix(arg, "-"):
			err = h.word(arg)
		case arg == "--":
			h.ended = true
		default:
			args, err = h.flag(arg, args)
		}
		if err != nil {
			return line{}, err
		}
	}
	return h.finish()
}

func (h *hoister) learn(c *cli.Command) {
	for _, f := range c.Flags {
		for _, name := range f.Names() {
			h.known[name] = f.(cli.DocGenerationFlag)
		}
	}
	for _, sub := range c.Subcommands {
		h.learn(sub)
	}
}

func (h *hoister) current() *cli.Command {
	if len(h.line.path) == 0 {
		return h.root
	}
	return h.line.path[len(h.line.path)-1]
}

// word takes the next command, or an argument once the command is complete.
func (h *hoister) word(arg string) error {
	current := h.current()
	if len(current.Subcommands) == 0 {
		h.words = append(h.words, arg)
		return nil
	}
	if current == h.root && arg == "help" && !h.line.help {
		h.line.help = true
		return nil
	}
	for _, sub := range current.Subcommands {
		if sub.HasName(arg) {
			h.line.path = append(h.line.path, sub)
			return nil
		}
	}
	return unknownCommand(h.line.path, current, arg)
}

// flag takes one flag and its value, if it has one, and returns the args behind.
func (h *hoister) flag(arg string, rest []string) ([]string, error) {
	name, value, hasValue := cutFlag(arg)
	f, ok := h.known[name]
	if !ok {
		return nil, h.unknownFlag(arg, name)
	}
	g := given{name: f.Names()[0], as: strings.TrimSuffix(arg, "="+value), value: value}
	switch {
	case f.TakesValue() && !hasValue:
		if len(rest) == 0 {
			return nil, usage(fmt.Sprintf("%s needs a value", g.as), h.seeHelp())
		}
		if next, _, _ := cutFlag(rest[0]); rest[0] == "--" || strings.HasPrefix(rest[0], "-") && h.known[next] != nil {
			return nil, usage(fmt.Sprintf("%s needs a value, and %q is a flag", g.as, rest[0]),
				fmt.Sprintf("write %s=%s if that is the value", g.as, rest[0]))
		}
		g.value, rest = rest[0], rest[1:]
	case !f.TakesValue() && hasValue:
		on, err := strconv.ParseBool(value)
		if err != nil {
			return nil, usage(fmt.Sprintf("%s: %q is neither true nor false", g.as, value), "leave the value out")
		}
		g.value = strconv.FormatBool(on)
	case !f.TakesValue():
		g.value = "true"
	}
	h.flags = append(h.flags, g)
	return rest, nil
}

// cutFlag splits --name=value.
func cutFlag(arg string) (name, value string, hasValue bool) {
	name, value, hasValue = strings.Cut(strings.TrimPrefix(strings.TrimPrefix(arg, "-"), "-"), "=")
	return name, value, hasValue
}

// finish puts the line together, flags before arguments.
func (h *hoister) finish() (line, error) {
	h.line.help = h.line.help || h.asked("help")
	if h.asked("version") && !h.line.help {
		h.line.path, h.words = []*cli.Command{find(h.root, "version")}, nil
	}
	var global, own []string
	for _, g := range h.flags {
		switch text := "--" + g.name + "=" + g.value; {
		case hasFlag(h.root, g.name):
			global = append(global, text)
		case len(h.line.path) > 0 && hasFlag(h.current(), g.name):
			own = append(own, text)
		case !h.line.help:
			return line{}, h.foreignFlag(g)
		}
	}
	if group := h.current(); group != h.root && len(group.Subcommands) > 0 && !h.line.help {
		return line{}, usage(fmt.Sprintf("%s needs a command: %s", pathName(h.line.path), listNames(group.Subcommands)), h.seeHelp())
	}
	h.line.args = append([]string{h.root.Name}, global...)
	for _, c := range h.line.path {
		h.line.args = append(h.line.args, c.Name)
	}
	h.line.args = append(h.line.args, own...)
	if len(h.line.path) > 0 {
		h.line.args = append(append(h.line.args, "--"), h.words...)
	}
	return h.line, nil
}

// asked reports whether a flag without a value was given.
func (h *hoister) asked(name string) bool {
	on := false
	for _, g := range h.flags {
		if g.name == name {
			on = g.value == "true"
		}
	}
	return on
}

func find(c *cli.Command, name string) *cli.Command {
	for _, sub := range c.Subcommands {
		if sub.Name == name {
			return sub
		}
	}
	return nil
}

func hasFlag(c *cli.Command, name string) bool {
	for _, f := range c.Flags {
		if f.Names()[0] == name {
			return true
		}
	}
	return false
}

func pathName(path []*cli.Command) string {
	name := "bide"
	for _, c := range path {
		name += " " + c.Name
	}
	return name
}

func listNames(commands []*cli.Command) string {
	names := make([]string, len(commands))
	for i, c := range commands {
		names[i] = c.Name
	}
	return strings.Join(names, ", ")
}

func (h *hoister) seeHelp() string { return "see " + pathName(h.line.path) + " --help" }
