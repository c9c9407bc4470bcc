package cli

import (
	"time"

	"github.com/rs/zerolog"

	"github.com/bide-go/bide/internal/clock"
)

func init() {
	// One form of time everywhere. The logger has it as a global only.
	zerolog.TimeFieldFormat = stampForm
	zerolog.TimestampFunc = func() time.Time { return clock.Now().UTC() }
}

// logger writes to standard error: JSON lines for machines, or words for people.
func (p *program) logger() zerolog.Logger {
	w := p.env.Stderr
	if !p.set.logJSON {
		w = zerolog.ConsoleWriter{Out: w, NoColor: !p.set.colorErr, TimeFormat: "15:04:05.000", TimeLocation: time.Local}
	}
	return zerolog.New(w).Level(p.set.logLevel).With().Timestamp().Logger()
}
