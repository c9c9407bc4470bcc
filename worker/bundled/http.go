package bundled

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"github.com/bide-go/bide/internal/clock"
	"github.com/bide-go/bide/internal/egress"
	"github.com/bide-go/bide/job"
	"github.com/bide-go/bide/worker"
)

// caller makes the requests of http.
type caller struct {
	rules     egress.Rules
	proxied   bool
	agent     string
	transport *http.Transport
}

// httpHandler makes one request for each attempt. A nil resolver is the system's.
//
// It uses the transport alone, without a client: so no redirect is ever followed,
// and no error repeats the URL, which may be a secret.
func httpHandler(opt Options, resolver *net.Resolver) worker.Handler {
	c := &caller{
		rules:   egress.Rules{Allow: opt.HTTPAllow, Deny: opt.HTTPDeny},
		proxied: opt.HTTPProxy != nil,
		agent:   "bide/" + opt.Version,
	}
	if opt.Version == "" {
		c.agent = "bide"
	}
	dialer := c.rules.Dialer()
	dialer.Resolver = resolver
	c.transport = &http.Transport{
		// The environment's proxy is not heeded: the check of addresses would
		// then see the proxy's alone, and nobody had asked for that.
		DialContext:            dialer.DialContext,
		ForceAttemptHTTP2:      true,
		TLSHandshakeTimeout:    egress.ConnectTimeout,
		MaxIdleConns:           100,
		IdleConnTimeout:        30 * time.Second,
		MaxResponseHeaderBytes: 64 << 10,
	}
	if c.proxied {
		c.transport.Proxy = http.ProxyURL(opt.HTTPProxy)
	}
	return c.handle
}

func (c *caller) handle(ctx context.Context, j *job.Job) error {
	args, problems := decodeHTTP(j.Args)
	if problems != nil {
		return badArgs(httpName, problems)
	}
	s := &secrets{job: j}
	req, err := c.request(ctx, args, s)
	if err != nil {
		return err
	}
	start := clock.Now()
	resp, err := c.transport.RoundTrip(req)
	if err != nil {
		return unanswered(ctx, args.method, clock.Since(start), err, s)
	}
	defer resp.Body.Close()
	a := &answer{resp, args.method, clock.Since(start), j, s}
	if args.expects(resp.StatusCode) {
		return a.accept(ctx)
	}
	return a.refuse()
}

// request makes the request, with its secrets in place.
func (c *caller) request(ctx context.Context, args httpArgs, s *secrets) (*http.Request, error) {
	u, err := c.target(args.url, s)
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, args.method, "", bytes.NewReader(args.body))
	if err != nil {
		return nil, err
	}
	req.URL, req.Host = u, u.Host
	if args.body == nil {
		req.Body, req.GetBody, req.ContentLength = http.NoBody, nil, 0
	}
	req.Header.Set("User-Agent", c.agent)
	if args.isJSON {
		req.Header.Set("Content-Type", "application/json")
	}
	if password, ok := u.User.Password(); ok || u.User.Username() != "" {
		req.SetBasicAuth(u.User.Username(), password)
	}
	for _, h := range args.headers {
		text, err := s.read(h.path, h.value)
		switch {
		case err != nil:
			return nil, err
		case !headerValue(text):
			return nil, fmt.Errorf("field %s: the secret has characters that a header cannot have", quote(h.path))
		case http.CanonicalHeaderKey(h.name) == "Host":
			req.Host = text
		default:
			req.Header.Set(h.name, text)
		}
	}
	identify(req.Header, s.job)
	return req, nil
}

// target reads the URL. Behind a proxy nothing but an address that stands in the
// URL itself can be checked here.
func (c *caller) target(v value, s *secrets) (*url.URL, error) {
	text, err := s.read("url", v)
	if err != nil {
		return nil, err
	}
	u, what, _ := urlOf(text)
	if u == nil {
		return nil, fmt.Errorf(`field "url": the secret %s`, what)
	}
	if v.ref != nil {
		// Errors of connecting tell parts of a URL.
		for _, part := range []string{u.Host, u.Hostname(), u.EscapedPath(), u.RawQuery} {
			if part != "" && part != "/" && !strings.Contains(v.ref.Prefix, part) {
				s.Add(part)
			}
		}
	}
	if addr, err := netip.ParseAddr(u.Hostname()); err == nil && c.proxied {
		if err := c.rules.Check(addr); err != nil {
			return nil, job.Permanent(errors.New(s.Clean(err.Error())))
		}
	}
	return u, nil
}

// unanswered is the error of an attempt that got no answer.
func unanswered(ctx context.Context, method string, took time.Duration, err error, s *secrets) error {
	var refused *egress.RefusedError
	switch {
	case errors.As(err, &refused):
		return job.Permanent(errors.New(s.Clean(method + " not sent: " + refused.Error())))
	case ctx.Err() != nil:
		return fmt.Errorf("%s not answered after %s: %w", method, rounded(took), context.Cause(ctx))
	}
	return errors.New(s.Clean(fmt.Sprintf("%s failed after %s: %v", method, rounded(took), err)))
}

// rounded is a time span for people.
func rounded(d time.Duration) time.Duration {
	return max(d.Round(time.Millisecond), time.Millisecond)
}
