package cli

import (
	"time"

	"github.com/rs/zerolog"
	"github.com/urfave/cli/v2"

	"github.com/bide-go/bide/job"
)

// settings are what the global flags and their variables say.
type settings struct {
	redisURL  value
	namespace string
	json      bool
	times     string // how tables show times: relative, local or utc
	color     bool   // on standard output
	colorErr  bool   // on standard error
	logLevel  zerolog.Level
	logJSON   bool
	timeout   time.Duration // 0: the command's own
	quiet     bool
	yes       bool // to every question
}

const defaultRedisURL = "redis://127.0.0.1:6379/0"

func globalFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "redis-url", Usage: "`URL` of Redis: redis://, rediss:// or unix://; several addr= for Cluster, master_name= for Sentinel (env BIDE_REDIS_URL, then REDIS_URL; default " + defaultRedisURL + ")"},
		&cli.StringFlag{Name: "namespace", Usage: "the `NAME` that all keys in Redis begin with (env BIDE_NAMESPACE; default bide)"},
		&cli.StringFlag{Name: "output", Aliases: []string{"o"}, Usage: "`FORM` of the data: table or json (env BIDE_OUTPUT; default table)"},
		&cli.StringFlag{Name: "time", Usage: "`FORM` of times in tables: relative, local or utc (env BIDE_TIME; default relative)"},
		&cli.StringFlag{Name: "color", Usage: "`WHEN` to use colour: auto, always or never (never with env NO_COLOR; default auto)"},
		&cli.StringFlag{Name: "log-level", Usage: "`LEVEL` of the log: debug, info, warn or error (env BIDE_LOG_LEVEL; default info)"},
		&cli.StringFlag{Name: "log-format", Usage: "`FORM` of the log: console or json (env BIDE_LOG_FORMAT; default json, on a terminal console)"},
		&cli.StringFlag{Name: "command-timeout", Usage: "most `TIME` a short command may take (env BIDE_COMMAND_TIMEOUT; default 30s, for later 2s)"},
		&cli.BoolFlag{Name: "yes", Aliases: []string{"y"}, Usage: "answer yes to every question"},
		&cli.BoolFlag{Name: "quiet", Aliases: []string{"q"}, Usage: "say nothing but errors on standard error"},
		&cli.BoolFlag{Name: "help", Aliases: []string{"h"}, Usage: "show help"},
		&cli.BoolFlag{Name: "version", Aliases: []string{"v"}, Usage: "show the version"},
	}
}

// readSettings checks the global flags, whatever the command needs of them. Only
// the Redis URL is left to the commands that talk to Redis.
func (p *program) readSettings(c *cli.Context) error {
	v := &values{c: c, getenv: p.env.Getenv}
	s := settings{
		json:    v.word("output", "table", "table", "json") == "json",
		times:   v.word("time", "relative", "relative", "local", "utc"),
		timeout: v.span("command-timeout", 0, time.Millisecond),
		quiet:   c.Bool("quiet"),
		yes:     c.Bool("yes"),
	}
	s.logLevel, _ = zerolog.ParseLevel(v.word("log-level", "info", "debug", "info", "warn", "error"))
	form := "json"
	if p.env.StderrTerminal {
		form = "console"
	}
	s.logJSON = v.word("log-format", form, "console", "json") == "json"
	s.color, s.colorErr = p.colors(v)

	s.redisURL = value{defaultRedisURL, "the default Redis URL"}
	if found, ok := v.find("redis-url", "BIDE_REDIS_URL", "REDIS_URL"); ok {
		s.redisURL = found
	}
	s.namespace = "bide"
	if found, ok := v.find("namespace"); ok {
		s.namespace = found.text
		if err := job.CheckNamespace(found.text); err != nil {
			v.refuse(found.from, err.Error())
		}
	}
	p.set = s
	return v.err()
}

// colors decides for standard output and standard error. NO_COLOR is the variable
// of --color: a flag beats it.
func (p *program) colors(v *values) (out, err bool) {
	unset := "auto"
	if p.env.Getenv("NO_COLOR") != "" || p.env.Getenv("TERM") == "dumb" {
		unset = "never"
	}
	flag := values{c: v.c}
	when := flag.word("color", unset, "auto", "always", "never")
	v.bad = append(v.bad, flag.bad...)
	switch when {
	case "always":
		return true, true
	case "never":
		return false, false
	}
	return p.env.Terminal, p.env.StderrTerminal
}
