package cli

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/bide-go/bide/internal/duration"
)

// values reads the flags of a command, and the environment where a flag was not
// given, and gathers everything that is wrong with them.
type values struct {
	c      *cli.Context
	getenv func(string) string // nil for flags that have no variable
	bad    several
}

// value is a text and where it came from, for messages.
type value struct{ text, from string }

// variable is the environment variable of a flag.
func variable(flag string) string {
	return "BIDE_" + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}

func (v *values) refuse(from, message string) {
	v.bad = append(v.bad, fmt.Errorf("%s: %s", from, message))
}

// err is a usage error for everything that was refused, nil if nothing was.
func (v *values) err() error {
	if len(v.bad) == 0 {
		return nil
	}
	next := "see bide --help"
	if name := v.c.Command.HelpName; name != "" {
		next = "see " + name + " --help"
	}
	return &failure{code: exitUsage, err: v.bad, next: next}
}

// find looks a flag up. An empty variable counts as none; an empty flag is most
// likely an unset shell variable, and refused.
func (v *values) find(flag string, variables ...string) (value, bool) {
	if v.c.IsSet(flag) {
		found := value{v.c.String(flag), "--" + flag}
		if found.text == "" {
			v.refuse(found.from, "the value is empty")
			return value{}, false
		}
		return found, true
	}
	if v.getenv == nil {
		return value{}, false
	}
	if len(variables) == 0 {
		variables = []string{variable(flag)}
	}
	for _, name := range variables {
		if text := v.getenv(name); text != "" {
			return value{text, name}, true
		}
	}
	return value{}, false
}

func (v *values) word(flag, unset string, words ...string) string {
	found, ok := v.find(flag)
	if !ok {
		return unset
	}
	if !slices.Contains(words, found.text) {
		v.refuse(found.from, fmt.Sprintf("%q is not one of %s", found.text, strings.Join(words, ", ")))
		return unset
	}
	return found.text
}

// yes reads a flag without a value; its variable says true or false.
func (v *values) yes(flag string) bool {
	if v.c.IsSet(flag) {
		return v.c.Bool(flag)
	}
	text := v.getenv(variable(flag))
	if text == "" {
		return false
	}
	on, err := strconv.ParseBool(text)
	if err != nil {
		v.refuse(variable(flag), fmt.Sprintf("%q is neither true nor false", text))
	}
	return on
}

// span reads a duration of at least least.
func (v *values) span(flag string, unset, least time.Duration) time.Duration {
	found, ok := v.find(flag)
	if !ok {
		return unset
	}
	d, err := duration.Parse(found.text)
	if err == nil && d < least {
		err = fmt.Errorf("%s is too short: at least %s", found.text, duration.Format(least))
	}
	if err != nil {
		v.refuse(found.from, err.Error())
		return unset
	}
	return d
}

// number reads a whole number from 1 to most.
func (v *values) number(flag string, unset, most int) int {
	found, ok := v.find(flag)
	if !ok {
		return unset
	}
	n, err := strconv.Atoi(found.text)
	if err != nil || n < 1 || n > most {
		v.refuse(found.from, fmt.Sprintf("%q is not a whole number from 1 to %d", found.text, most))
		return unset
	}
	return n
}

// when reads --in and --at, of which at most one may be given.
func (v *values) when() (in time.Duration, at time.Time, given bool) {
	after, hasIn := v.find("in")
	then, hasAt := v.find("at")
	switch {
	case hasIn && hasAt:
		v.refuse("--in, --at", "give one of them, not both")
	case hasIn:
		d, err := duration.Parse(after.text)
		if err != nil {
			v.refuse(after.from, err.Error())
		}
		in = d
	case hasAt:
		at = v.instant(then)
	}
	return in, at, hasIn || hasAt
}
