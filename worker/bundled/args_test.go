package bundled_test

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bide-go/bide/worker/bundled"
)

func TestCheckCalls(t *testing.T) {
	const url = `"url":"https://example.com/x"`
	for _, tt := range []struct{ handler, args string }{
		{"http", `{` + url + `}`},
		{"http", `{"url":"http://user:pw@127.0.0.1:8080/a?b#c","method":"GET"}`},
		{"http", `{"url":"http://[::1]:80"}`},
		{"http", `{"url":{"env":"HOOK"}}`},
		{"http", `{"url":{"file":"/run/secrets/hook","prefix":"https://hooks.example.com/"}}`},
		{"http", `{` + url + `,"method":"DELETE","headers":{},"body":""}`},
		{"http", `{` + url + `,"headers":{"X-A":"","authorization":{"env":"T","prefix":"Bearer "},"Host":"x"},"json":null}`},
		{"http", `{` + url + `,"expectStatus":204}`},
		{"http", `{` + url + `,"expectStatus":"204"}`},
		{"http", `{` + url + `,"expectStatus":["200-299",304,"404"]}`},
		{"exec", `{"command":["true"]}`},
		{"exec", `{"command":["echo",""],"env":{"A":"","b c":{"env":"X"}},"dir":"/","stdin":""}`},
	} {
		if got := bundled.Check(tt.handler, json.RawMessage(tt.args)); got != nil {
			t.Errorf("Check(%q, %s) = %q, want nil", tt.handler, tt.args, got)
		}
	}

	const status = `must be a status such as 204 or a range such as "200-299"`
	for _, tt := range []struct {
		handler, args string
		want          []string // code, path: message (hint)
	}{
		{"http", ``, []string{`E006 url: field "url" is missing`}},
		{"http", `{"url":""}`, []string{`E021 url: field "url" must be an http or https URL with a host, not "" (for example "https://api.example.com/sync")`}},
		{"http", `{"url":"ftp://x/"}`, []string{`E021 url: field "url" must be an http or https URL with a host, not "ftp://x/" (for example "https://api.example.com/sync")`}},
		{"http", `{"url":"http:///x"}`, []string{`E021 url: field "url" must be an http or https URL with a host, not "http:///x" (for example "https://api.example.com/sync")`}},
		{"http", `{"url":"http://x:99999"}`, []string{`E021 url: field "url" must have a port from 1 to 65535, not "http://x:99999"`}},
		{"http", `{"url":7}`, []string{`E006 url: field "url" must be text, not a number (in quotes: "7")`}},
		{"http", `{"url":[]}`, []string{`E006 url: field "url" must be text or a reference to a secret, not a list`}},
		{"http", `{"url":{}}`, []string{`E006 url: field "url" must name a secret by env or by file (such as {"env": "API_TOKEN"} or {"file": "/run/secrets/token"})`}},
		{"http", `{"url":{"env":"A","file":"b"}}`, []string{`E006 url: field "url" names a secret both by env and by file (such as {"env": "API_TOKEN"} or {"file": "/run/secrets/token"})`}},
		{"http", `{"url":{"env":"","prefix":1,"evn":2}}`, []string{
			`E006 url.env: field "url.env" must not be empty`,
			`E006 url.prefix: field "url.prefix" must be text, not a number (in quotes: "1")`,
			`E006 url.evn: unknown field "url.evn" (did you mean "env"?)`,
		}},
		{"http", `{"url":{"env":"A=B"}}`, []string{`E006 url.env: field "url.env" must not contain "="`}},
		{"http", `{` + url + `,"method":"get"}`, []string{`E006 method: field "method" must be GET, HEAD, POST, PUT, PATCH or DELETE, not "get" (did you mean "GET"?)`}},
		{"http", `{` + url + `,"method":"GET","body":""}`, []string{`E021 body: field "body" must not be given with the method GET (use POST, or put it into the URL)`}},
		{"http", `{` + url + `,"method":"HEAD","json":{}}`, []string{`E021 json: field "json" must not be given with the method HEAD (use POST, or put it into the URL)`}},
		{"http", `{` + url + `,"body":"a","json":1}`, []string{`E006 json: field "json" must not be given together with "body" (leave one of them out)`}},
		{"http", `{` + url + `,"body":{"a":1}}`, []string{`E006 body: field "body" must be text, not an object (json sends a value encoded)`}},
		{"http", `{` + url + `,"headers":[]}`, []string{`E006 headers: field "headers" must be an object of texts, not a list`}},
		{"http", `{` + url + `,"headers":{"a b":"x","X-A":"1","x-a":"2","Bide-Job-Id":"x","Content-Length":"1","T":1,"U":"a\nb","":"x","S":{"env":1}}}`, []string{
			`E006 headers.a b: field "headers.a b" is not the name of a header (letters, digits and - are)`,
			`E006 headers.x-a: field "headers.x-a" is given more than once`,
			`E006 headers.Bide-Job-Id: field "headers.Bide-Job-Id" must not begin with Bide- (bide tells the job's identity in those)`,
			`E006 headers.Content-Length: field "headers.Content-Length" is set by bide itself (leave it out)`,
			`E006 headers.T: field "headers.T" must be text, not a number (in quotes: "1")`,
			`E006 headers.U: field "headers.U" must not contain control characters`,
			`E006 headers.: field "headers." is not the name of a header (letters, digits and - are)`,
			`E006 headers.S.env: field "headers.S.env" must be text, not a number (in quotes: "1")`,
		}},
		{"http", `{` + url + `,"expectStatus":[]}`, []string{`E006 expectStatus: field "expectStatus" must not be empty`}},
		{"http", `{` + url + `,"expectStatus":["2xx",99,"299-200",true,"200-600"]}`, []string{
			`E006 expectStatus[0]: field "expectStatus[0]" ` + status + `, not "2xx"`,
			`E006 expectStatus[1]: field "expectStatus[1]" must be within 100 to 599, the lower first, not "99"`,
			`E006 expectStatus[2]: field "expectStatus[2]" must be within 100 to 599, the lower first, not "299-200"`,
			`E006 expectStatus[3]: field "expectStatus[3]" ` + status + `, not true or false`,
			`E006 expectStatus[4]: field "expectStatus[4]" must be within 100 to 599, the lower first, not "200-600"`,
		}},
		{"http", `{` + url + `,"secret":{"env":"S"}}`, []string{`E025 secret: field "secret" is known, but not in this version (leave it out; requests are not signed yet)`}},

		{"exec", `{}`, []string{`E006 command: field "command" is missing`}},
		{"exec", `{"cmd":["ls"]}`, []string{`E006 cmd: unknown field "cmd" (did you mean "command"?)`, `E006 command: field "command" is missing`}},
		{"exec", `{"command":"ls -l"}`, []string{`E006 command: field "command" must be a list of texts, not text (no shell reads it; to have one, write ["sh", "-c", …])`}},
		{"exec", `{"command":[]}`, []string{`E006 command: field "command" must not be empty`}},
		{"exec", `{"command":["",1,"a\u0000b"]}`, []string{
			`E006 command[0]: field "command[0]" must not be empty (it is the program to run)`,
			`E006 command[1]: field "command[1]" must be text, not a number (in quotes: "1")`,
			`E006 command[2]: field "command[2]" must not contain NUL`,
		}},
		{"exec", `{"command":["x"],"env":{"BIDE_X":"1","a=b":"1","C":null,"D":"a\u0000"},"dir":"","stdin":7}`, []string{
			`E006 env.BIDE_X: field "env.BIDE_X" must not begin with BIDE_ (bide tells the job's identity in those)`,
			`E006 env.a=b: field "env.a=b" is not the name of an environment variable`,
			`E006 env.C: field "env.C" must be text or a reference to a secret, not null`,
			`E006 env.D: field "env.D" must not contain NUL`,
			`E006 dir: field "dir" must not be empty`,
			`E006 stdin: field "stdin" must be text, not a number (in quotes: "7")`,
		}},
	} {
		t.Run(tt.handler+tt.args, func(t *testing.T) {
			var got []string
			for _, p := range bundled.Check(tt.handler, json.RawMessage(tt.args)) {
				code := p.Code
				if code == "" {
					code = "E006"
				}
				got = append(got, fmt.Sprintf("%s %s: %s", code, p.Path, p))
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestReferences(t *testing.T) {
	t.Setenv("BUNDLED_TEST_TOKEN", "s3cret")
	none := filepath.Join(t.TempDir(), "none")
	const there, absent = `{"env":"BUNDLED_TEST_TOKEN"}`, `{"env":"BUNDLED_TEST_NONE"}`
	for _, tt := range []struct {
		handler, args string
		all           []string
		absent        []string
	}{
		{"http", `{"url":` + there + `,"headers":{"A":` + absent + `,"B":"x","C":{"file":"` + none + `"}},"json":{"env":"X"}}`,
			[]string{"url", "headers.A", "headers.C"}, []string{"headers.A", "headers.C"}},
		{"http", `{"url":"http://x","json":{"env":"X"}}`, nil, nil},
		{"http", `{"nope":1,"url":` + there + `}`, []string{"url"}, nil},
		{"http", `{"url":{"env":""}}`, []string{"url"}, []string{"url"}},
		{"http", `no JSON`, nil, nil},
		{"exec", `{"command":["x"],"env":{"A":` + there + `,"B":` + absent + `},"stdin":"x"}`, []string{"env.A", "env.B"}, []string{"env.B"}},
		{"log", `{"message":{"env":"X"}}`, nil, nil},
		{"publish", `{"channel":"c","message":{"env":"X"}}`, nil, nil},
		{"mail", `{"url":{"env":"X"},"headers":{"A":{"env":"X"}}}`, nil, nil},
	} {
		if diff := cmp.Diff(tt.all, bundled.References(tt.handler, json.RawMessage(tt.args))); diff != "" {
			t.Errorf("References(%s, %s) (-want +got):\n%s", tt.handler, tt.args, diff)
		}
		var got []string
		for _, p := range bundled.Absent(tt.handler, json.RawMessage(tt.args)) {
			got = append(got, p.Path)
			if p.Code != "E020" {
				t.Errorf("problem %+v has no code", p)
			}
		}
		if diff := cmp.Diff(tt.absent, got); diff != "" {
			t.Errorf("Absent(%s, %s) (-want +got):\n%s", tt.handler, tt.args, diff)
		}
	}
}
