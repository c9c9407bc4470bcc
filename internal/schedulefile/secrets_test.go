package schedulefile

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

const hidden = "hunter2-0123456789"

func TestPlainSecrets(t *testing.T) {
	tests := []struct {
		job, args string // %s is the secret
		want      string // the hint
	}{
		{"http", `{url: "https://a:%s@example.com"}`, "take the whole URL from the environment: url: {env: NAME}"},
		{"http", `{url: "https://example.com/%s"}`, ""},
		{"http", `{url: "https://example.com/a:b@c?x=%s"}`, ""},
		{"http", `{headers: {Authorization: %s}}`, "write Authorization: {env: API_TOKEN}"},
		{"http", `{headers: {authorization: Bearer %s}}`, `write authorization: {env: API_TOKEN, prefix: "Bearer "}`},
		{"http", `{headers: {Proxy-Authorization: Basic %s}}`, `write Proxy-Authorization: {env: PROXY_AUTHORIZATION, prefix: "Basic "}`},
		{"http", `{headers: {X-Api-Key: %s}}`, "write X-Api-Key: {env: X_API_KEY}"},
		{"http", `{headers: {X-Apikey: %s}}`, "write X-Apikey: {env: X_APIKEY}"},
		{"http", `{headers: {Cookie: "a=%s"}}`, "write Cookie: {env: COOKIE}"},
		{"http", `{headers: {X-Auth-Token: %s}}`, "write X-Auth-Token: {env: X_AUTH_TOKEN}"},
		{"http", `{headers: {X-Trace: "ghp_%s"}}`, "write X-Trace: {env: X_TRACE}"},
		{"http", `{headers: {X-Trace: "sk_live_%s"}}`, "write X-Trace: {env: X_TRACE}"},
		{"http", `{headers: {X-Trace: %s}}`, ""},
		{"http", `{headers: {Idempotency-Key: %s}}`, ""},
		{"http", `{headers: {Authorization: ""}}`, ""},
		{"http", `{headers: {Authorization: none}}`, ""},
		{"http", `{headers: {Authorization: {env: TOKEN}}}`, ""},
		{"http", `{body: "Authorization: %s"}`, ""},
		{"exec", `{command: [a], env: {PGPASSWORD: %s}}`, "write PGPASSWORD: {env: PGPASSWORD}"},
		{"exec", `{command: [a], env: {API_SECRET: %s}}`, "write API_SECRET: {env: API_SECRET}"},
		{"exec", `{command: [a], env: {LEVEL: %s, PASSWORD_FILE: /x}}`, ""},
		{"mail", `{headers: {Authorization: %s}}`, ""},
		{"publish", `{channel: c, message: {headers: {Authorization: %s}}}`, ""},
	}
	for _, tt := range tests {
		args := strings.ReplaceAll(tt.args, "%s", hidden)
		r := Load([]Source{{Name: "a", Data: []byte("version: 1\nschedules:\n  a: {schedule: '@yearly', job: " + tt.job + ", args: " + args + "}\n")}}, Options{AllowExec: true})
		hint := ""
		for _, p := range r.Problems {
			if p.Code == "W110" {
				hint += p.Hint
			}
			if strings.Contains(p.Message+p.Hint, hidden) {
				t.Errorf("%s: the message tells the secret: %s; %s", args, p.Message, p.Hint)
			}
		}
		if r.Errors() > 0 || hint != tt.want {
			t.Errorf("%s %s: hint %q, want %q\n%s", tt.job, args, hint, tt.want, report(r))
		}
	}
}

// References are looked up only if asked to, and only in the places that resolve them.
func TestStrictEnv(t *testing.T) {
	t.Setenv("BIDE_TEST_SET", "x")
	t.Setenv("BIDE_TEST_EMPTY", "")
	file := func(name string) string { return "{file: " + name + "}" }
	tests := []struct {
		job, args string
		want      string
	}{
		{"http", `{url: {env: BIDE_TEST_SET}}`, ""},
		{"http", `{url: {env: BIDE_TEST_UNSET}}`, `args.url of schedule "a": the environment variable "BIDE_TEST_UNSET" is not set or empty`},
		{"http", `{url: {env: BIDE_TEST_EMPTY}}`, `args.url of schedule "a": the environment variable "BIDE_TEST_EMPTY" is not set or empty`},
		{"http", `{headers: {A: ` + file("testdata/bad-secrets.yaml") + `}}`, ""},
		{"http", `{headers: {A: ` + file("testdata/none") + `}}`, `args.headers.A of schedule "a": there is no file "testdata/none"`},
		{"http", `{headers: {A: ` + file("testdata") + `}}`, `args.headers.A of schedule "a": "testdata" is a directory, not a file`},
		{"http", `{headers: {A: ` + file(`"a\0b"`) + `}}`, `args.headers.A of schedule "a": the file "a\x00b" cannot be read`},
		{"http", `{headers: {A: {prefix: x}}}`, ""}, // the handler's check refuses it
		{"http", `{headers: [5], url: [1]}`, ""},
		{"http", `[]`, ""},
		{"http", `{json: {env: BIDE_TEST_UNSET}}`, ""},
		{"exec", `{env: {A: {env: BIDE_TEST_UNSET}}}`, `args.env.A of schedule "a": the environment variable "BIDE_TEST_UNSET" is not set or empty`},
		{"exec", `{command: [{env: BIDE_TEST_UNSET}], stdin: {file: none}}`, ""},
		{"mail", `{url: {env: BIDE_TEST_UNSET}, env: {A: {env: BIDE_TEST_UNSET}}}`, ""},
	}
	for _, tt := range tests {
		text := []byte("version: 1\nschedules:\n  a: {schedule: '@yearly', job: " + tt.job + ", args: " + tt.args + "}\n")
		if r := Load([]Source{{Name: "a", Data: text}}, Options{AllowExec: true}); r.Errors() > 0 {
			t.Errorf("%s: without being asked:\n%s", tt.args, report(r))
		}
		r := Load([]Source{{Name: "a", Data: text}}, Options{AllowExec: true, StrictEnv: true})
		got := ""
		for _, p := range r.Problems {
			if p.Code == "E020" {
				got += p.Message
			}
		}
		if got != tt.want || r.Errors() > 0 != (tt.want != "") {
			t.Errorf("%s %s: %q, want %q", tt.job, tt.args, got, tt.want)
		}
	}
}

// Whatever the args are, the places found in them are inside.
func TestSecretPlacesOfAnything(t *testing.T) {
	for _, args := range []string{"", "null", "5", `"x"`, "[]", `{"headers": null}`, `{"headers": {"A": null}, "url": null}`, `{"env": 5}`, `{`, `{"url": {"env": 5}}`} {
		for _, handler := range []string{"http", "exec", "log", ""} {
			for _, place := range secretPlaces(handler, json.RawMessage(args)) {
				if what, _ := place.plainSecret(fmt.Sprint(place.value)); what != "" && place.name == "" {
					t.Errorf("%s: %+v", args, place)
				}
			}
		}
	}
}
