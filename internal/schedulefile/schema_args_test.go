package schedulefile

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/bide-go/bide/worker/bundled"
)

// The schema knows the args of the bundled handlers as their own check does.
func TestSchemaKnowsTheArgsOfHandlers(t *testing.T) {
	s := compiled(t)
	for _, tt := range []struct {
		job, args string
		good      bool
	}{
		{"log", `{"message": "x"}`, true},
		{"log", `{"message": "", "level": "warn", "sleep": "1m30s", "failAttempts": 3}`, true},
		{"log", `{"message": "x", "sleep": "0s", "failAttempts": 0}`, true},
		{"log", `null`, false},
		{"log", `[]`, false},
		{"log", `{}`, false},
		{"log", `{"message": 5}`, false},
		{"log", `{"message": "x", "level": "WARN"}`, false},
		{"log", `{"message": "x", "sleep": 5}`, false},
		{"log", `{"message": "x", "sleep": "5 s"}`, false},
		{"log", `{"message": "x", "failAttempts": -1}`, false},
		{"log", `{"message": "x", "failAttempts": 1.5}`, false},
		{"log", `{"message": "x", "lvl": "warn"}`, false},

		{"publish", `{"channel": "c", "message": "x"}`, true},
		{"publish", `{"channel": "c", "message": {"a": [1, null]}}`, true},
		{"publish", `{"channel": "", "message": "x"}`, false},
		{"publish", `{"channel": "c"}`, false},
		{"publish", `{"channel": "c", "message": 1, "to": 2}`, false},

		{"http", `{"url": "https://example.com/x?y#z"}`, true},
		{"http", `{"url": "HTTP://localhost:8080"}`, true},
		{"http", `{"url": {"env": "URL"}}`, true},
		{"http", `{"url": "https://example.com", "method": "GET", "headers": {"A-b": "c", "D": {"file": "/x", "prefix": "Bearer "}}}`, true},
		{"http", `{"url": "https://example.com", "body": "x", "expectStatus": 204}`, true},
		{"http", `{"url": "https://example.com", "method": "PUT", "json": null, "expectStatus": [200, "300-399"]}`, true},
		{"http", `{"url": "https://example.com", "expectStatus": "200-299"}`, true},
		{"http", `{}`, false},
		{"http", `{"url": "ftp://example.com"}`, false},
		{"http", `{"url": "https://"}`, false},
		{"http", `{"url": "example.com"}`, false},
		{"http", `{"url": 5}`, false},
		{"http", `{"url": {"env": "A", "file": "/b"}}`, false},
		{"http", `{"url": {"prefix": "x"}}`, false},
		{"http", `{"url": {"env": "A", "default": "x"}}`, false},
		{"http", `{"url": {"env": ""}}`, false},
		{"http", `{"url": "https://example.com", "method": "get"}`, false},
		{"http", `{"url": "https://example.com", "method": "TRACE"}`, false},
		{"http", `{"url": "https://example.com", "headers": {"a b": "c"}}`, false},
		{"http", `{"url": "https://example.com", "headers": {"bide-job-id": "c"}}`, false},
		{"http", `{"url": "https://example.com", "headers": {"A": 5}}`, false},
		{"http", `{"url": "https://example.com", "headers": ["A"]}`, false},
		{"http", `{"url": "https://example.com", "body": "x", "json": {}}`, false},
		{"http", `{"url": "https://example.com", "method": "GET", "body": "x"}`, false},
		{"http", `{"url": "https://example.com", "method": "HEAD", "json": 1}`, false},
		{"http", `{"url": "https://example.com", "body": {"a": 1}}`, false},
		{"http", `{"url": "https://example.com", "expectStatus": 99}`, false},
		{"http", `{"url": "https://example.com", "expectStatus": "2xx"}`, false},
		{"http", `{"url": "https://example.com", "secret": {"env": "S"}}`, false}, // of a later version
		{"http", `{"url": "https://example.com", "verb": "GET"}`, false},

		{"exec", `{"command": ["ls"]}`, true},
		{"exec", `{"command": ["ls", ""], "dir": "/tmp", "stdin": "", "env": {"A": "b", "C": {"env": "D"}}}`, true},
		{"exec", `{}`, false},
		{"exec", `{"command": []}`, false},
		{"exec", `{"command": "ls"}`, false},
		{"exec", `{"command": ["ls", 5]}`, false},
		{"exec", `{"command": ["ls"], "env": {"BIDE_X": "y"}}`, false},
		{"exec", `{"command": ["ls"], "env": {"A=B": "y"}}`, false},
		{"exec", `{"command": ["ls"], "env": {"A": 5}}`, false},
		{"exec", `{"command": ["ls"], "shell": true}`, false},

		{"mail", `null`, true},
		{"mail", `{"url": {"env": 5}, "x": [1]}`, true},
	} {
		doc, err := jsonschema.UnmarshalJSON(strings.NewReader(
			`{"version": 1, "schedules": {"a": {"schedule": "@daily", "job": "` + tt.job + `", "args": ` + tt.args + `}}}`))
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Validate(doc); (err == nil) != tt.good {
			t.Errorf("%s %s: the schema says %v", tt.job, tt.args, err)
		}
		if !slices.Contains(bundled.Names(), tt.job) {
			continue // no handler of this version, or of an app
		}
		if problems := bundled.Check(tt.job, json.RawMessage(tt.args)); (len(problems) == 0) != tt.good {
			t.Errorf("%s %s: the check says %v", tt.job, tt.args, problems)
		}
	}
}
