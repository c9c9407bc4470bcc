package cli

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/bide-go/bide/worker/bundled"
)

// What the flags of check say about handlers: commands have to be allowed, and
// secret references have to lead somewhere only if asked to.
func TestCheckOfHandlers(t *testing.T) {
	const secret = `
    job: http
    args:
      url: https://example.com
      headers: { Authorization: { env: BIDE_TEST_TOKEN } }
`
	const command = "\n    job: exec\n    args: { command: [ls] }\n"
	for _, tt := range []struct {
		flags, entry, token string
		want                string // the code of the only error
	}{
		{"", secret, "", ""},
		{"--strict-env", secret, "", "E020"},
		{"--strict-env", secret, "x", ""},
		{"--allow-exec", secret, "", ""},
		{"", command, "", "E022"},
		{"--allow-exec", command, "", ""},
		{"--allow-exec --strict-env", command, "", ""},
	} {
		for _, name := range []string{"http", "exec"} {
			if bundled.Later(name) && strings.Contains(tt.entry, "job: "+name+"\n") {
				tt.want = "E025" // this version does not have it
			}
		}
		t.Setenv("BIDE_TEST_TOKEN", tt.token)
		env := Env{Stdin: strings.NewReader("version: 1\nschedules:\n  a:\n    schedule: \"@daily\"" + tt.entry)}
		code, stdout, stderr := run(context.Background(), env, "check - "+tt.flags)
		wantCode, summary := 0, "1 schedule, 0 errors, 0 warnings\n"
		if tt.want != "" {
			wantCode, summary = 3, "1 schedule, 1 error, 0 warnings\n"
		}
		if code != wantCode || !strings.HasSuffix(stdout, summary) || !strings.Contains(stdout, fmt.Sprintf("error %s: ", tt.want)) && tt.want != "" || stderr != "" {
			t.Errorf("check %s: exit code %d, want %d and %q, got\n%s%s", tt.flags, code, wantCode, tt.want, stdout, stderr)
		}
	}
}
