package cli

import (
	"crypto/tls"
	"fmt"
	"net/url"
	"strings"

	"github.com/redis/go-redis/v9"
)

// target is where the Redis URL leads. Exactly one of the options is set.
type target struct {
	single   *redis.Options
	cluster  *redis.ClusterOptions
	sentinel *redis.FailoverOptions
	// shown is the URL without its secrets.
	shown string
}

// parseRedisURL reads a Redis URL in the forms of go-redis. Several addr= name the
// nodes of a Cluster; master_name= says that the addresses are Sentinels. With
// rediss://, tls_ca= names a file with the certificates to trust, tls_cert= and
// tls_key= those to show.
//
// No error says more of the URL than is safe to print: a password with a reserved
// character in it is cut in two by every URL parser, and its second half would
// turn up as a port, a path or an option.
func parseRedisURL(text string) (target, error) {
	u, err := url.Parse(text)
	if err != nil || u.Opaque != "" || u.Fragment != "" || strings.Contains(u.Path+u.RawQuery, "@") && u.Scheme != "unix" {
		return target{}, fmt.Errorf("not a Redis URL such as %s; reserved characters in a password are written as %%40 (@), %%23 (#), %%2F (/), %%3A (:), %%3F (?)", defaultRedisURL)
	}
	if u.Scheme != "redis" && u.Scheme != "rediss" && u.Scheme != "unix" {
		return target{}, fmt.Errorf("a Redis URL begins with redis://, rediss:// or unix://")
	}
	t := target{shown: showURL(u)}
	files, err := takeTLSFiles(u)
	if err != nil {
		return target{}, fmt.Errorf("%s: %w", t.shown, err)
	}
	if files != (tlsFiles{}) {
		text = u.String()
	}
	query := u.Query()
	switch {
	case query.Has("master_name"):
		t.sentinel, err = redis.ParseFailoverURL(text)
	case query.Has("addr"):
		if path := strings.Trim(u.Path, "/"); path != "" && path != "0" {
			return target{}, fmt.Errorf("a Redis Cluster has database 0 only, and the URL of %s asks for another", u.Host)
		}
		t.cluster, err = redis.ParseClusterURL(text)
	default:
		t.single, err = redis.ParseURL(text)
	}
	if err != nil {
		return target{}, fmt.Errorf("%s: %s", t.shown, redact(strings.TrimPrefix(err.Error(), "redis: "), u))
	}
	var config *tls.Config
	switch {
	case t.sentinel != nil:
		config = t.sentinel.TLSConfig
	case t.cluster != nil:
		config = t.cluster.TLSConfig
	default:
		config = t.single.TLSConfig
	}
	if config != nil {
		if err := files.apply(config); err != nil {
			return target{}, fmt.Errorf("%s: %w", t.shown, err)
		}
	}
	return t, nil
}

// showURL is u without user, password and options.
func showURL(u *url.URL) string {
	shown := url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}
	return shown.String()
}

// redact takes every secret of u out of a message about it.
func redact(message string, u *url.URL) string {
	password, _ := u.User.Password()
	for _, secret := range []string{password, u.User.Username(), u.Query().Get("password"), u.Query().Get("username")} {
		if secret != "" {
			message = strings.ReplaceAll(message, secret, "***")
		}
	}
	return message
}
