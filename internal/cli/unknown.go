package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/bide-go/bide/internal/spelling"
)

// laterCommands are the commands that a later version has. They are refused by
// name, so that nobody takes them for a spelling mistake.
var laterCommands = []string{
	"health", "top", "events", "notify", "generate", "completion", "import",
	"jobs wait", "jobs logs",
}

// laterFlags are the flags that a later version has, with the commands that will
// take them; none means every command.
var laterFlags = map[string][]string{
	"server":           nil,
	"token-file":       nil,
	"auth-file":        {"serve", "dev"},
	"insecure-no-auth": {"serve", "dev"},
	"ui-role":          {"serve", "dev"},
	"route-prefix":     {"serve", "dev"},
	"enable-pprof":     {"serve", "dev"},
	"notify-dead":      {"serve", "dev"},
	"error":            {"jobs list"},
	"since":            {"jobs list"},
}

// otherWords are what people call a command elsewhere, with what it may be here; the
// first that fits the place counts.
var otherWords = map[string][]string{
	"enqueue": {"later"}, "push": {"later"}, "add": {"later"}, "execute": {"later"}, "run": {"schedules run", "later"},
	"job": {"jobs"}, "ls": {"list"}, "list": {"jobs list"}, "get": {"show"}, "cat": {"show"}, "rm": {"cancel"}, "delete": {"cancel"},
	"kill": {"cancel"}, "revive": {"retry"}, "postpone": {"reschedule"}, "move": {"reschedule"},
	"start": {"run", "serve"}, "server": {"serve"}, "worker": {"serve"}, "scheduler": {"serve"},
	"validate": {"check"}, "lint": {"check"}, "info": {"show", "stats"}, "status": {"show", "stats"},
	"queue": {"queues"}, "lanes": {"queues"}, "unpause": {"resume", "schedules resume"}, "purge": {"clear"}, "empty": {"clear"},
	"stop": {"pause"}, "pause": {"schedules pause"}, "resume": {"schedules resume"}, "suspend": {"pause", "schedules pause"}, "unsuspend": {"resume"},
	"disable": {"pause", "schedules pause"}, "enable": {"resume", "schedules resume"},
	"processes": {"workers"}, "busy": {"workers"}, "morgue": {"dead"}, "failed": {"dead"}, "diagnose": {"doctor"},
	"schedule": {"schedules"}, "cron": {"schedules"}, "crons": {"schedules"}, "cronjobs": {"schedules"}, "crontab": {"schedules"}, "periodic": {"schedules"},
	"trigger": {"run", "schedules run"}, "now": {"run"}, "runs": {"history"}, "log": {"history"}, "describe": {"show", "explain"},
	"catchup": {"backfill"}, "backfill": {"schedules backfill"}, "history": {"schedules history"},
	"next": {"preview"}, "upcoming": {"preview"}, "words": {"explain"}, "plan": {"diff"}, "deploy": {"apply"}, "sync": {"apply"}, "load": {"apply"},
	"new": {"init"}, "sample": {"init"}, "jsonschema": {"schema"},
}

func notYet(what string) error {
	return usage(what+" is not in this version of bide", "bide help lists what is")
}

func unknownCommand(path []*cli.Command, current *cli.Command, arg string) error {
	full := strings.TrimPrefix(pathName(path)+" "+arg, "bide ")
	if slices.Contains(laterCommands, full) {
		return notYet(fmt.Sprintf("the command %q", full))
	}
	names := make([]string, len(current.Subcommands))
	for i, c := range current.Subcommands {
		names[i] = c.Name
	}
	next := "see " + pathName(path) + " --help"
	other := nearest(arg, names)
	for _, word := range otherWords[arg] {
		if first, _, _ := strings.Cut(word, " "); slices.Contains(names, first) {
			other = word
			break
		}
	}
	if other != "" {
		next = fmt.Sprintf("did you mean %q?", strings.TrimPrefix(pathName(path)+" "+other, "bide "))
	}
	return usage(fmt.Sprintf("unknown command %q", full), next)
}

// unknownFlag is about a flag that no command of this version has.
func (h *hoister) unknownFlag(arg, name string) error {
	shown, _, _ := strings.Cut(arg, "=")
	if commands, ok := laterFlags[name]; ok && h.mayTake(commands) {
		return notYet("the flag " + shown)
	}
	if strings.Trim(name, "0123456789.eE+-") == "" {
		return usage(fmt.Sprintf("%q looks like a flag", arg), `write "-- `+arg+`" to give it as an argument`)
	}
	var names []string
	for _, c := range append([]*cli.Command{h.root}, h.line.path...) {
		for _, f := range c.Flags {
			names = append(names, f.Names()[0])
		}
	}
	next := h.seeHelp() + `, or write "--" before an argument that begins with "-"`
	if guess := nearest(name, names); guess != "" {
		next = fmt.Sprintf("did you mean --%s?", guess)
	}
	return usage("unknown flag "+shown, next)
}

func (h *hoister) mayTake(commands []string) bool {
	if len(commands) == 0 || len(h.line.path) == 0 {
		return true
	}
	return slices.Contains(commands, strings.TrimPrefix(pathName(h.line.path), "bide "))
}

// foreignFlag is about a flag that another command has.
func (h *hoister) foreignFlag(g given) error {
	if len(h.line.path) == 0 {
		return usage(fmt.Sprintf("%s needs a command", g.as), "see bide --help")
	}
	if commands := laterFlags[g.name]; len(commands) > 0 && h.mayTake(commands) {
		return notYet("the flag " + g.as)
	}
	next := h.seeHelp()
	if owners := h.owners(nil, g.name); len(owners) > 0 {
		next = "it belongs to " + strings.Join(owners, " and ")
	}
	return usage(fmt.Sprintf("%s has no flag %s", pathName(h.line.path), g.as), next)
}

func (h *hoister) owners(path []*cli.Command, name string) []string {
	c := h.root
	if len(path) > 0 {
		c = path[len(path)-1]
	}
	var found []string
	if hasFlag(c, name) {
		found = append(found, pathName(path))
	}
	for _, sub := range c.Subcommands {
		found = append(found, h.owners(append(slices.Clone(path), sub), name)...)
	}
	return found
}

// nearest is the name that text was most likely meant to be, if any is near.
func nearest(text string, names []string) string {
	best, least := "", 3
	if len(text) > 64 {
		return ""
	}
	for _, name := range names {
		if d := spelling.Distance(text, name); d < least && d*2 < max(len(text), len(name)) {
			best, least = name, d
		}
	}
	return best
}
