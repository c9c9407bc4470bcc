package scripts

import (
	"context"
	"crypto/sha1"
	"embed"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/bide-go/bide/job"
)

//go:embed *.lua lib/*.lua
var sources embed.FS

var (
	includeLine = regexp.MustCompile(`(?m)^-- include:(.*)\n`)
	atNeedLine  = regexp.MustCompile(`(?m)^-- at need:(.*)\n`)
	wholeLine   = regexp.MustCompile(`(?m)^-- whole:`)
	libFunction = regexp.MustCompile(`(?m)^local function (\w+)`)
	keyWord     = regexp.MustCompile(`\bK\.(\w+)`)
	commentLine = regexp.MustCompile(`(?m)^\s*--.*\n`)
)

// Set is the scripts of one namespace on one Redis. It is safe for concurrent use.
type Set struct {
	rdb     redis.UniversalClient
	keys    keys
	heeds   bool // the client heeds a context's deadline by itself
	patient bool // the client would wait for an answer for ever, or nearly
	scripts map[string]script
}

type script struct {
	name string
	text string
	sha  string
}

// texts caches the rendered scripts by namespace: clients are made often in tests
// and apps, namespaces are few.
var texts sync.Map

// New returns the scripts for namespace, "bide" if empty. The error says that the
// namespace is not a legal name, or that the client is a Ring, which would spread
// a namespace over servers that know nothing of each other.
func New(rdb redis.UniversalClient, namespace string) (*Set, error) {
	if namespace == "" {
		namespace = "bide"
	}
	if err := job.CheckNamespace(namespace); err != nil {
		return nil, err
	}
	s := &Set{rdb: rdb, keys: keys{namespace}}
	switch c := rdb.(type) {
	case *redis.Client:
		o := c.Options()
		s.heeds, s.patient = o.ContextTimeoutEnabled, o.ReadTimeout <= 0 || o.ReadTimeout > mostPatience
	case *redis.ClusterClient:
		o := c.Options()
		s.heeds, s.patient = o.ContextTimeoutEnabled, o.ReadTimeout <= 0 || o.ReadTimeout > mostPatience
	case *redis.Ring:
		return nil, errors.New("a redis.Ring cannot hold a bide namespace: use a single server, Sentinel or Cluster client")
	}
	rendered, ok := texts.Load(namespace)
	if !ok {
		rendered, _ = texts.LoadOrStore(namespace, render(s.keys))
	}
	s.scripts = rendered.(map[string]script)
	return s, nil
}

// Namespace is the namespace the set works on.
func (s *Set) Namespace() string { return s.keys.namespace }

// render loads every script for one namespace: its includes in place, the key
// names put in.
func render(k keys) map[string]script {
	all := make(map[string]script)
	entries, err := sources.ReadDir(".")
	if err != nil {
		panic(err)
	}
	for _, entry := range entries {
		name, isScript := strings.CutSuffix(entry.Name(), ".lua")
		if !isScript {
			continue
		}
		text := assemble(name)
		text = keyWord.ReplaceAllStringFunc(text, func(ref string) string {
			return "'" + k.name(strings.TrimPrefix(ref, "K.")) + "'"
		})
		sum := sha1.Sum([]byte(text))
		all[name] = script{name: name, text: text, sha: hex.EncodeToString(sum[:])}
	}
	return all
}

// assemble returns a script's text with the parts that it includes where it names them;
// whole is the first of every script that does not see to it itself. Making the functions
// of all parts takes longer than the usual call does without them, so the hot scripts name
// those that they rarely need late, or have them made at need: rare() returns them by
// name. Comments stay in the source files.
func assemble(name string) string {
	text := source(name + ".lua")
	if !wholeLine.MatchString(text) {
		text = source("lib/whole.lua") + text
	}
	if atNeedLine.MatchString(text) {
		text = "local rare, made\n" + text
	}
	text = includeLine.ReplaceAllStringFunc(text, func(line string) string {
		var b strings.Builder
		for _, part := range partsOf(includeLine, line) {
			b.WriteString(source("lib/" + part + ".lua"))
		}
		return b.String()
	})
	text = atNeedLine.ReplaceAllStringFunc(text, func(line string) string {
		var b, names strings.Builder
		for _, part := range partsOf(atNeedLine, line) {
			lib := source("lib/" + part + ".lua")
			b.WriteString(lib)
			for _, m := range libFunction.FindAllStringSubmatch(lib, -1) {
				fmt.Fprintf(&names, "%s = %s, ", m[1], m[1])
			}
		}
		return "function rare()\nif made then return made end\n" + b.String() + "made = { " + names.String() + "}\nreturn made\nend\n"
	})
	return commentLine.ReplaceAllString(text, "")
}

// partsOf lists the parts that a line of a script names.
func partsOf(line *regexp.Regexp, text string) []string {
	m := line.FindStringSubmatch(text)
	if m == nil {
		return nil
	}
	return strings.Fields(m[1])
}

func source(path string) string {
	data, err := sources.ReadFile(path)
	if err != nil {
		panic("scripts: " + err.Error())
	}
	return string(data)
}

// call is a command that go-redis must not send a second time by itself: with one
// reply lost it would run a state-changing script twice.
type call struct{ *redis.Cmd }

func (call) NoRetry() bool { return true }

func (s *Set) command(ctx context.Context, sc script, bySHA bool, args []any) call {
	all := make([]any, 4, 4+len(args))
	all[0], all[1], all[2], all[3] = "evalsha", sc.sha, 1, s.keys.name("counts")
	if !bySHA {
		all[0], all[1] = "eval", sc.text
	}
	return call{redis.NewCmd(ctx, append(all, args...)...)}
}

// mostPatience is how long a call without a deadline waits for a client whose own
// options would let it wait longer: a loop must notice a connection that is dead.
const mostPatience = 5 * time.Second

// run runs a script. It sends it again only on proof that it did not run.
func (s *Set) run(ctx context.Context, name string, args []any) (any, error) {
	if _, limited := ctx.Deadline(); s.patient && !limited {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, mostPatience)
		defer cancel()
	}
	sc := s.scripts[name]
	cmd := s.command(ctx, sc, true, args)
	err := s.process(ctx, cmd)
	if redis.HasErrorPrefix(err, "NOSCRIPT") {
		cmd = s.command(ctx, sc, false, args)
		err = s.process(ctx, cmd)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, classify(err))
	}
	return cmd.Val(), nil
}

// process sends one command and returns when ctx ends even if the client's own
// options make it wait for its read timeout instead.
func (s *Set) process(ctx context.Context, cmd call) error {
	if err := ctx.Err(); err != nil {
		return &notSent{err}
	}
	if s.heeds || ctx.Done() == nil {
		return s.rdb.Process(ctx, cmd)
	}
	return bounded(ctx, func() error { return s.rdb.Process(ctx, cmd) })
}

// bounded waits for f or for the end of ctx. f may go on in the background until
// the client's own timeout; what it does then is an unknown outcome.
func bounded(ctx context.Context, f func() error) error {
	done := make(chan error, 1)
	go func() { done <- f() }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// notSent marks an error that arose before anything was written to Redis.
type notSent struct{ err error }

func (e *notSent) Error() string { return e.err.Error() }
func (e *notSent) Unwrap() error { return e.err }

// classify turns an error of the driver into one a caller can act on: an answer of
// Redis stays what it is, proof that nothing ran becomes job.ErrUnavailable, and
// anything else job.ErrOutcomeUnknown.
func classify(err error) error {
	if err == nil {
		return nil
	}
	var reply redis.Error
	if errors.As(err, &reply) && !errors.Is(err, context.DeadlineExceeded) {
		if unavailableReply(err) {
			return fmt.Errorf("%w: %w", job.ErrUnavailable, err)
		}
		return err
	}
	var early *notSent
	var op *net.OpError
	switch {
	case errors.As(err, &early),
		errors.As(err, &op) && op.Op == "dial",
		errors.Is(err, redis.ErrPoolTimeout), errors.Is(err, redis.ErrPoolExhausted), errors.Is(err, redis.ErrClosed):
		return fmt.Errorf("%w: %w", job.ErrUnavailable, err)
	}
	return &job.OutcomeUnknownError{Err: err}
}

// unavailableReply tells answers that mean "not now" from those about the call.
// Redis gives them before it runs the script.
func unavailableReply(err error) bool {
	for _, prefix := range []string{"LOADING", "READONLY", "MASTERDOWN", "CLUSTERDOWN", "TRYAGAIN", "NOREPLICAS", "BUSY", "max number of clients"} {
		if redis.HasErrorPrefix(err, prefix) {
			return true
		}
	}
	// A cluster is moving the slot: see lib/whole.lua.
	return err != nil && strings.Contains(err.Error(), "access a non local key in a cluster node")
}

// Away reports whether err says that Redis could not be reached or did not answer,
// rather than that it refused.
func Away(err error) bool {
	var reply redis.Error
	if errors.As(err, &reply) && !unavailableReply(err) {
		return false
	}
	return errors.Is(err, job.ErrUnavailable) || errors.Is(err, job.ErrOutcomeUnknown) || errors.Is(err, io.EOF)
}

// TakesNoWrites reports whether err is Redis' answer that it can be read and not
// written: its memory is full, it is a replica, its replicas or its disk are missing.
func TakesNoWrites(err error) bool {
	for _, prefix := range []string{"OOM", "READONLY", "NOREPLICAS", "MISCONF"} {
		if redis.HasErrorPrefix(err, prefix) {
			return true
		}
	}
	return false
}

// Hello claims the namespace for this binary's layout of keys, or reports that a
// newer one is in use.
func (s *Set) Hello(ctx context.Context) error {
	reply, err := s.run(ctx, "hello", []any{Layout})
	if err != nil {
		return err
	}
	if layout := toInt(reply); layout > Layout {
		return fmt.Errorf("namespace %q has key layout %d and this bide knows %d: use a newer bide", s.keys.namespace, layout, Layout)
	}
	return nil
}
