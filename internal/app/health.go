package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"syscall"
	"time"

	"github.com/bide-go/bide/internal/clock"
	"github.com/bide-go/bide/scripts"
)

func readAtMost(r io.Reader, limit int64) ([]byte, error) {
	return io.ReadAll(io.LimitReader(r, limit))
}

// listen binds the address of the HTTP endpoints, if there is one.
func (s *service) listen(ctx context.Context) (net.Listener, error) {
	if s.opts.Listen == "" {
		return nil, nil
	}
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", s.opts.Listen)
	if errors.Is(err, syscall.EADDRINUSE) && s.opts.AnyPort {
		host, _, _ := net.SplitHostPort(s.opts.Listen)
		l, err = lc.Listen(ctx, "tcp", net.JoinHostPort(host, "0"))
	}
	if err != nil {
		return nil, fmt.Errorf("listen: %w; give another address with --listen", err)
	}
	return l, nil
}

// serveHTTP answers on l until the returned function is called.
func (s *service) serveHTTP(l net.Listener) (stop func()) {
	if l == nil {
		return func() {}
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /-/healthy", s.healthy)
	mux.HandleFunc("GET /-/ready", s.ready)
	server := &http.Server{Handler: mux, ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 10 * time.Second, IdleTimeout: time.Minute}
	go func() {
		if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			s.opts.Log.Error().Err(err).Msg("http endpoints ended")
		}
	}()
	s.opts.Log.Info().Str("address", l.Addr().String()).Msg("listening")
	return func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		_ = server.Shutdown(ctx) // connections that linger end with the process
	}
}

type health struct {
	Live     bool     `json:"live"`
	Ready    bool     `json:"ready"`
	Problems []string `json:"problems"`
}

// healthy says that the process lives. It does not ask Redis: restarting a process
// does not bring Redis back.
func (s *service) healthy(w http.ResponseWriter, r *http.Request) {
	answer(w, health{Live: true, Ready: len(s.still()) == 0, Problems: s.still()}, true)
}

// ready says whether the process does its work: the loops of its roles move, and
// Redis takes a write.
func (s *service) ready(w http.ResponseWriter, r *http.Request) {
	problems := s.still()
	ctx, cancel := context.WithTimeout(r.Context(), 800*time.Millisecond)
	defer cancel()
	if set, err := scripts.New(s.opts.Redis, s.opts.Namespace); err != nil {
		problems = append(problems, err.Error())
	} else if err := set.Probe(ctx); err != nil {
		problems = append(problems, "redis: "+err.Error())
	}
	answer(w, health{Live: true, Ready: len(problems) == 0, Problems: problems}, len(problems) == 0)
}

// still lists the roles whose loops have not moved for a while.
func (s *service) still() []string {
	problems := []string{}
	for _, p := range s.parts {
		last := p.lastPass()
		limit := 5 * time.Second
		if p.name == "worker" {
			limit = max(limit, s.opts.Lease) // it looks around every quarter of a lease
		}
		switch {
		case last.IsZero():
			problems = append(problems, p.name+" has not worked yet")
		case clock.Since(last) > limit:
			problems = append(problems, fmt.Sprintf("%s has not worked for %v", p.name, clock.Since(last).Round(time.Second)))
		}
	}
	return problems
}

func answer(w http.ResponseWriter, h health, ok bool) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	if !ok {
		w.WriteHeader(http.StatusServiceUnavailable)
	}
	_ = json.NewEncoder(w).Encode(h) // nobody is left to tell
}
