package bundled

import (
	"net"

	"github.com/bide-go/bide/worker"
)

// HTTPHandler is the handler of http with a resolver of the test's.
func HTTPHandler(opt Options, resolver *net.Resolver) worker.Handler {
	return httpHandler(opt, resolver)
}
