package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/dustin/go-humanize"
)

var errNotConfirmed = errors.New("not confirmed")

// confirm asks whether to do something, unless --yes says so. Where nobody can
// answer it is a mistake not to have said so.
func (p *program) confirm(ctx context.Context, what string) error {
	if p.set.yes {
		return nil
	}
	if !p.env.StdinTerminal || !p.env.StderrTerminal {
		return usage(fmt.Sprintf("this would %s, and there is no terminal to ask at", what), "add --yes to do it; nothing was done")
	}
	fmt.Fprintf(p.env.Stderr, "%s? [y/N] ", clean(what))
	answer := make(chan string, 1)
	go func() { answer <- readLine(p.env.Stdin) }()
	select {
	case text := <-answer:
		switch strings.ToLower(strings.TrimSpace(text)) {
		case "y", "yes":
			return nil
		}
		return &failure{code: exitFailed, err: errNotConfirmed, next: "nothing was done"}
	case <-ctx.Done():
		fmt.Fprintln(p.env.Stderr)
		return &failure{code: exitInterrupted, err: errInterrupted, next: "nothing was done"}
	}
}

func readLine(r io.Reader) string {
	text, _ := bufio.NewReader(r).ReadString('\n') // no answer is no
	return text
}

// many is a number of things in words.
func many(n int64, one, more string) string {
	if n == 1 {
		return "1 " + one
	}
	return humanize.Comma(n) + " " + more
}
