package schedulefile

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
)

// secretPlace is a place in the args of a bundled handler where a secret reference
// may stand, with what does stand there.
type secretPlace struct {
	path  string // within args
	kind  string // url, header or env
	name  string // of the header or the variable
	value json.RawMessage
}

// secretPlaces lists the places in the args of http and exec that may hold a
// reference. In the args of other handlers {env: …} is plain data.
func secretPlaces(handler string, args json.RawMessage) (places []secretPlace) {
	var fields map[string]json.RawMessage
	if json.Unmarshal(args, &fields) != nil {
		return nil
	}
	one := func(field, kind string) {
		if v, ok := fields[field]; ok {
			places = append(places, secretPlace{field, kind, field, v})
		}
	}
	each := func(field, kind string) {
		var values map[string]json.RawMessage
		_ = json.Unmarshal(fields[field], &values) // what is no map has been refused
		for _, name := range slices.Sorted(maps.Keys(values)) {
			places = append(places, secretPlace{field + "." + name, kind, name, values[name]})
		}
	}
	switch handler {
	case httpHandler:
		one("url", "url")
		each("headers", "header")
	case execHandler:
		each("env", "env")
	}
	return places
}

// reference is a secret by its place: the value of an environment variable, or the
// content of a file, of the process that runs the job.
type reference struct {
	Env  string `json:"env"`
	File string `json:"file"`
}

// checkSecrets looks at the places that may hold a secret: with StrictEnv every
// reference has to lead somewhere, and what looks like a secret should be one.
func (e *entry) checkSecrets(s scope) {
	p := e.known.get("args")
	if p == nil || e.def.Args == nil {
		return
	}
	s = s.child("args")
	for _, place := range secretPlaces(e.def.Job, e.def.Args) {
		in, node := s.child(place.path), argNode(*p, place.path)
		var text string
		if json.Unmarshal(place.value, &text) == nil {
			if what, hint := place.plainSecret(text); what != "" {
				in.warn("W110", node, fmt.Sprintf("%s in args of %s looks like a secret in plain text", what, s.root), hint)
			}
			continue
		}
		var ref reference
		if !e.opt.StrictEnv || json.Unmarshal(place.value, &ref) != nil {
			continue
		}
		if problem := ref.absent(); problem != "" {
			in.fail("E020", node, fmt.Sprintf("%s: %s", in.label(), problem), "set it where the workers run, or leave --strict-env out")
		}
	}
}

// absent says what is missing, as this process sees it. An empty variable is as
// useless as none.
func (r reference) absent() string {
	if r.Env != "" && os.Getenv(r.Env) == "" {
		return fmt.Sprintf("the environment variable %s is not set or empty", quote(r.Env))
	}
	if r.File == "" {
		return ""
	}
	switch info, err := os.Stat(r.File); {
	case os.IsNotExist(err):
		return fmt.Sprintf("there is no file %s", quote(r.File))
	case err != nil:
		return fmt.Sprintf("the file %s cannot be read", quote(r.File))
	case info.IsDir():
		return fmt.Sprintf("%s is a directory, not a file", quote(r.File))
	}
	return ""
}

var (
	// secretName matches the names of headers and variables that hold secrets.
	secretName = regexp.MustCompile(`(?i)((^|[-_])(authorization|cookie|(api|access|private|secret|signing|auth|account)[-_]?key|token|secret|credentials?)|passw(or)?d)$`)
	// secretValue matches tokens that tell by their form what they are.
	secretValue = regexp.MustCompile(`^(gh[opsur]_|github_pat_|glpat-|xox[abeprs]-|sk_live_|rk_live_|sk-[A-Za-z0-9]{8}|AKIA[A-Z0-9]{12}|whsec_|eyJ[A-Za-z0-9_-]+\.eyJ)`)
	// scheme is what stands before the secret in an Authorization header.
	scheme = regexp.MustCompile(`^(?i)(basic|bearer|token|apikey|digest|bot) +`)
	// loginURL matches a URL with a password.
	loginURL = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9+.-]*://[^/?#@]*:[^/?#@]+@`)
	// notInNames is what an environment variable is not called.
	notInNames = regexp.MustCompile(`[^A-Z0-9]+`)
)

// notSecret are values that are none, whatever the name says.
var notSecret = []string{"", "none", "null", "anonymous", "disabled", "true", "false"}

// plainSecret says what looks like a secret, if anything does, and how to keep it
// out of the file. The secret itself is never part of the text.
func (p secretPlace) plainSecret(text string) (what, hint string) {
	if p.kind == "url" {
		if loginURL.MatchString(text) {
			return "the password in url", "take the whole URL from the environment: url: {env: NAME}"
		}
		return "", ""
	}
	prefix := scheme.FindString(text)
	secret := strings.TrimSpace(text[len(prefix):])
	if slices.Contains(notSecret, strings.ToLower(secret)) ||
		!secretName.MatchString(p.name) && !secretValue.MatchString(secret) {
		return "", ""
	}
	name := strings.Trim(notInNames.ReplaceAllString(strings.ToUpper(p.name), "_"), "_")
	if name == "AUTHORIZATION" || name == "" || len(name) > 60 {
		name = "API_TOKEN"
	}
	hint = fmt.Sprintf("write %s: {env: %s}", shorten(p.name), name)
	if prefix != "" {
		hint = fmt.Sprintf("write %s: {env: %s, prefix: %q}", shorten(p.name), name, prefix)
	}
	what = "the header " + quote(p.name)
	if p.kind == "env" {
		what = "the variable " + quote(p.name)
	}
	return what, hint
}
