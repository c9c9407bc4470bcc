//go:build !unix

package bundled

import (
	"context"

	"github.com/rs/zerolog"
)

// canExec is false where commands cannot be ended with all that they have started.
const canExec = false

type command struct {
	words      []string
	env        []string
	dir, stdin string
	output     tail
	log        zerolog.Logger
}

func (c *command) run(context.Context) ending {
	return ending{words: "cannot be run on this system"}
}
