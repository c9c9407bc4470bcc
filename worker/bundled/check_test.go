package bundled_test

import (
	"bytes"
	stdcmp "cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/bide-go/bide/worker/bundled"
)

func TestNames(t *testing.T) {
	if diff := cmp.Diff([]string{"exec", "http", "log", "publish"}, bundled.Names()); diff != "" {
		t.Errorf("Names (-want +got):\n%s", diff)
	}
	for _, name := range append(bundled.Names(), "", "HTTP") {
		if bundled.Later(name) {
			t.Errorf("Later(%q) = true, want false", name)
		}
	}
}

// problem is one without its code, problems are a list of those.
type (
	problem  struct{ path, message, hint string }
	problems []problem
)

func plain(list []bundled.Problem) (out problems) {
	for _, p := range list {
		out = append(out, problem{p.Path, p.Message, p.Hint})
	}
	return out
}

func TestCheckAccepts(t *testing.T) {
	for _, tt := range []struct{ handler, args string }{
		{"log", `{"message":"hello"}`},
		{"log", `{"message":""}`},
		{"log", ` { "message" : "hello", "level":"debug", "sleep" : "1h30m" , "failAttempts": 3 } `},
		{"log", `{"level":"error","message":"x","sleep":"0s","failAttempts":0}`},
		{"log", `{"mess\u0061ge":"an escaped name is the same name"}`},
		{"publish", `{"channel":"beats","message":"hello"}`},
		{"publish", `{"channel":"beats","message":""}`},
		{"publish", `{"channel":"beats","message":null}`},
		{"publish", `{"channel":"beats","message":{"a":1,"a":2}}`},
		{"publish", `{"channel":"beats","message":12345678901234567890.0e-5}`},
		{"mail", `not even JSON`},
	} {
		if got := bundled.Check(tt.handler, json.RawMessage(tt.args)); got != nil {
			t.Errorf("Check(%q, %s) = %q, want nil", tt.handler, tt.args, got)
		}
	}
}

func TestCheckRefuses(t *testing.T) {
	const logFields = "the fields are message, level, sleep and failAttempts"
	for _, tt := range []struct {
		name, handler, args string
		want                problems
	}{
		{"nothing", "log", ``, problems{{"message", `field "message" is missing`, ""}}},
		{"null", "publish", `null`, problems{
			{"channel", `field "channel" is missing`, ""},
			{"message", `field "message" is missing`, ""},
		}},
		{"no object", "log", `"hello"`, problems{{"", `args must be an object, not text`, logFields}}},
		{"a list", "publish", `[]`, problems{{"", `args must be an object, not a list`, "the fields are channel and message"}}},
		{"no JSON", "log", `{"message":x}`, problems{
			{"", `args are not valid JSON: invalid character 'x' looking for beginning of value`, "at byte 12"},
		}},
		{"more than one value", "log", `{"message":"a"} {"message":"b"}`, problems{
			{"", `args are not valid JSON: invalid character '{' after top-level value`, "at byte 17"},
		}},
		{"bad UTF-8", "log", "{\"message\":\"\xff\"}", problems{{"", `args are not valid UTF-8`, ""}}},

		{"unknown field, a slip", "log", `{"message":"x","levle":"info"}`, problems{{"levle", `unknown field "levle"`, `did you mean "level"?`}}},
		{"unknown field, other spelling", "log", `{"Message":"x","fail_attempts":1}`, problems{
			{"Message", `unknown field "Message"`, `did you mean "message"?`},
			{"fail_attempts", `unknown field "fail_attempts"`, `did you mean "failAttempts"?`},
			{"message", `field "message" is missing`, ""},
		}},
		{"unknown field, other product's word", "publish", `{"channel":"c","payload":1}`, problems{
			{"payload", `unknown field "payload"`, `did you mean "message"?`},
			{"message", `field "message" is missing`, ""},
		}},
		{"unknown field, no idea", "log", `{"message":"x","colour":"red"}`, problems{{"colour", `unknown field "colour"`, logFields}}},
		{"a field twice, or more", "log", `{"message":"x","level":"info","message":"y","message":"z"}`, problems{
			{"message", `field "message" is given more than once`, ""},
		}},

		{"message of wrong kinds", "log", `{"message":12}`, problems{{"message", `field "message" must be text, not a number`, `in quotes: "12"`}}},
		{"message null", "log", `{"message":null}`, problems{{"message", `field "message" must be text, not null`, ""}}},
		{"message an object", "log", `{"message":{}}`, problems{{"message", `field "message" must be text, not an object`, ""}}},
		{"channel empty", "publish", `{"channel":"","message":1}`, problems{{"channel", `field "channel" must not be empty`, ""}}},
		{"channel a boolean", "publish", `{"channel":true,"message":1}`, problems{
			{"channel", `field "channel" must be text, not true or false`, `in quotes: "true"`},
		}},

		{"level, other word", "log", `{"message":"x","level":"warning"}`, problems{
			{"level", `field "level" must be debug, info, warn or error, not "warning"`, `did you mean "warn"?`},
		}},
		{"level in capitals", "log", `{"message":"x","level":"INFO"}`, problems{
			{"level", `field "level" must be debug, info, warn or error, not "INFO"`, `did you mean "info"?`},
		}},
		{"level empty", "log", `{"message":"x","level":""}`, problems{{"level", `field "level" must be debug, info, warn or error, not ""`, ""}}},
		{"level null", "log", `{"message":"x","level":null}`, problems{
			{"level", `field "level" must be debug, info, warn or error, not null`, "leave it out for the default"},
		}},

		{"sleep a number", "log", `{"message":"x","sleep":5}`, problems{
			{"sleep", `field "sleep" must be a duration such as "90s", not a number`, `a number of seconds is "5s"`},
		}},
		{"sleep a list", "log", `{"message":"x","sleep":["5s"]}`, problems{
			{"sleep", `field "sleep" must be a duration such as "90s", not a list`, ""},
		}},

		{"failAttempts text", "log", `{"message":"x","failAttempts":"3"}`, problems{
			{"failAttempts", `field "failAttempts" must be a whole number from 0, not text`, "without quotes: 3"},
		}},
		{"failAttempts negative", "log", `{"message":"x","failAttempts":-1}`, problems{
			{"failAttempts", `field "failAttempts" must be a whole number from 0, not -1`, ""},
		}},
		{"failAttempts a fraction", "log", `{"message":"x","failAttempts":3.0}`, problems{
			{"failAttempts", `field "failAttempts" must be a whole number from 0, not 3.0`, ""},
		}},
		{"failAttempts an exponent", "log", `{"message":"x","failAttempts":1e2}`, problems{
			{"failAttempts", `field "failAttempts" must be a whole number from 0, not 1e2`, ""},
		}},
		{"failAttempts too large", "log", `{"message":"x","failAttempts":99999999999999999999}`, problems{
			{"failAttempts", `field "failAttempts" is too large: 99999999999999999999`, ""},
		}},

		{"all at once, as they stand", "log", `{"failAttempts":-1,"nope":1,"level":7}`, problems{
			{"failAttempts", `field "failAttempts" must be a whole number from 0, not -1`, ""},
			{"nope", `unknown field "nope"`, logFields},
			{"level", `field "level" must be debug, info, warn or error, not a number`, ""},
			{"message", `field "message" is missing`, ""},
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := plain(bundled.Check(tt.handler, json.RawMessage(tt.args)))
			if diff := cmp.Diff(tt.want, got, cmp.AllowUnexported(problem{})); diff != "" {
				t.Errorf("Check(%q, %s) (-want +got):\n%s", tt.handler, tt.args, diff)
			}
		})
	}

	// What exactly is wrong with a duration is for that package to say.
	for _, sleep := range []string{"", "5", "-5s", "1 month", "soon"} {
		args := fmt.Sprintf(`{"message":"x","sleep":%q}`, sleep)
		got := bundled.Check("log", json.RawMessage(args))
		if len(got) != 1 || got[0].Path != "sleep" || got[0].Hint == "" || !strings.HasPrefix(got[0].Message, `field "sleep": `) {
			t.Errorf("Check(log, %s) = %q, want one problem with sleep and a hint", args, got)
		}
	}
}

func TestCheckCutsForeignText(t *testing.T) {
	long := strings.Repeat("é", 100_000)
	args, err := json.Marshal(map[string]any{long: 1, "message": "x", "level": long, "sleep": long, "failAttempts": long})
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range bundled.Check("log", args) {
		if len(p.String()) > 300 || !utf8.ValidString(p.String()) {
			t.Errorf("the problem is %d bytes long: %.400q", len(p.String()), p)
		}
	}
}

// FuzzCheck holds Check to encoding/json: it must not panic, its problems must be
// fit to be shown, and what it lets pass must be what a decoder with exact names
// would take.
func FuzzCheck(f *testing.F) {
	for _, seed := range []string{
		``, `null`, `{}`, `[]`, `"x"`, `{"message":"x"}`, `{"message":"x","message":"y"}`, `{"message":"x"}}`,
		`{"message":"\ud800","level":"warn","sleep":"1d","failAttempts":12345678901234567890}`,
		`{"channel":"c","message":{"a":[1e400,-0,null]}}`, "{\"channel\":\"\xff\"}", `{"MESSAGE":1,"levle":{}}`, strings.Repeat("[", 20_000),
	} {
		for _, name := range bundled.Names() {
			f.Add(name, []byte(seed))
		}
	}
	f.Fuzz(func(t *testing.T, name string, args []byte) {
		before := bytes.Clone(args)
		problems := bundled.Check(name, args)
		if !bytes.Equal(before, args) {
			t.Fatal("Check changed the args")
		}
		for _, p := range problems {
			s := p.String()
			if p.Message == "" || !utf8.ValidString(s) || strings.ContainsAny(s, "\n\r\x00") || len(s) > 500 {
				t.Errorf("problem %q is not fit to be shown", s)
			}
		}
		if problems != nil || !slices.Contains(bundled.Names(), name) {
			return
		}
		var got map[string]json.RawMessage
		if err := json.Unmarshal(args, &got); err != nil {
			t.Fatalf("Check passed what is no object: %v", err)
		}
		allowed := map[string][]string{
			"exec":    {"command", "env", "dir", "stdin"},
			"http":    {"url", "method", "headers", "body", "json", "expectStatus"},
			"log":     {"message", "level", "sleep", "failAttempts"},
			"publish": {"channel", "message"},
		}[name]
		for key := range got {
			if !slices.Contains(allowed, key) {
				t.Errorf("Check passed the field %q", key)
			}
		}
		if required := map[string]string{"exec": "command", "http": "url"}[name]; got[stdcmp.Or(required, "message")] == nil {
			t.Errorf("Check passed args without %q", stdcmp.Or(required, "message"))
		}
	})
}
