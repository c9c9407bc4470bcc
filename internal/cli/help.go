package cli

import (
	"fmt"
	"strings"

	"github.com/urfave/cli/v2"
)

// help writes what there is to know about a command to standard output.
func (p *program) help(root *cli.Command, path []*cli.Command) error {
	c := root
	if len(path) > 0 {
		c = path[len(path)-1]
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s - %s\n\nusage: %s\n", pathName(path), c.Usage, usageLine(path, c))
	if c.Description != "" {
		fmt.Fprintf(&b, "\n%s\n", c.Description)
	}
	if len(c.Subcommands) > 0 {
		b.WriteString("\ncommands\n")
		for _, sub := range c.Subcommands {
			fmt.Fprintf(&b, "  %-12s %s\n", sub.Name, sub.Usage)
		}
	}
	if c != root {
		helpFlags(&b, "flags", c.Flags)
	}
	helpFlags(&b, "global flags", root.Flags)
	if c == root {
		b.WriteString("\nFlags may stand anywhere; \"--\" ends them. bide help COMMAND shows the flags of a command.\n")
	}
	_, err := p.stdout.Write([]byte(b.String()))
	return err
}

func usageLine(path []*cli.Command, c *cli.Command) string {
	text := pathName(path) + " [flags]"
	if len(c.Subcommands) > 0 {
		text += " COMMAND"
	}
	if c.ArgsUsage != "" {
		text += " " + c.ArgsUsage
	}
	return text
}

func helpFlags(b *strings.Builder, title string, flags []cli.Flag) {
	if len(flags) == 0 {
		return
	}
	fmt.Fprintf(b, "\n%s\n", title)
	for _, f := range flags {
		doc := f.(cli.DocGenerationFlag)
		name := ""
		for _, n := range f.Names()[1:] {
			name += "-" + n + ", "
		}
		name += "--" + f.Names()[0]
		words := doc.GetUsage()
		// The value's name is the part of the description in backquotes.
		if before, rest, ok := strings.Cut(words, "`"); ok {
			placeholder, after, _ := strings.Cut(rest, "`")
			name += " " + placeholder
			words = before + placeholder + after
		}
		fmt.Fprintf(b, "  %-26s %s\n", name, words)
	}
}
