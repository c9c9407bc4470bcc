package bundled_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/bide-go/bide/job"
)

func TestHTTPSecrets(t *testing.T) {
	const token = `t0ken/with "quotes"`
	server := serve(t, func(w http.ResponseWriter, r *http.Request) {
		// A server that tells all it was told, the last time across the end of what
		// is kept.
		dump, _ := json.Marshal(r.Header)
		text := fmt.Sprintf("%s %s ", r.Header.Get("Authorization"), dump)
		w.WriteHeader(http.StatusInternalServerError)
		io.WriteString(w, text+strings.Repeat("x", 4096-len(text)-7)+strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "))
	})
	t.Setenv("BUNDLED_TEST_TOKEN", token)
	t.Setenv("BUNDLED_TEST_HOOK", server.URL+"/services/T000/B000")
	t.Setenv("BUNDLED_TEST_DEAD", "http://127.0.0.1:1/services/T000")
	t.Setenv("BUNDLED_TEST_LINES", "a\nb")
	const auth = `"headers":{"Authorization":{"env":"BUNDLED_TEST_TOKEN","prefix":"Bearer "}}`
	for _, tt := range []struct {
		name, args string
		definition bool
		want       string
		permanent  bool
	}{
		{"reach the server and no text", `{"url":"URL",` + auth + `}`, true, `: Bearer <secret> {`, false},
		{"of a job that is no schedule's", `{"url":"URL",` + auth + `}`, false, `field "headers.Authorization" refers to a secret, which only`, true},
		{"in the URL", `{"url":{"env":"BUNDLED_TEST_HOOK"}}`, true, "500 Internal", false},
		{"in the URL of nobody", `{"url":{"env":"BUNDLED_TEST_DEAD"}}`, true, "POST failed after 0s: dial tcp <secret>: connect: connection refused", false},
		{"in the URL of a job that is no schedule's", `{"url":{"env":"BUNDLED_TEST_HOOK"}}`, false, `field "url" refers to a secret`, true},
		{"that are no URL", `{"url":{"env":"BUNDLED_TEST_TOKEN"}}`, true, `field "url": the secret must be an http or https URL`, false},
		{"that are not there", `{"url":{"env":"BUNDLED_TEST_NONE"}}`, true, `field "url": the environment variable "BUNDLED_TEST_NONE" is not set`, false},
		{"that no header can have", `{"url":"URL","headers":{"X":{"env":"BUNDLED_TEST_LINES"}}}`, true, `field "headers.X": the secret has characters`, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			j := httpJob(server, tt.args)
			j.FromDefinition = tt.definition
			err := call(t, j)
			if err == nil || !strings.Contains(untimed(err), tt.want) || job.IsPermanent(err) != tt.permanent {
				t.Fatalf("Run = %v, want an error with %q, permanent %t", err, tt.want, tt.permanent)
			}
			for _, never := range []string{"t0k", "quotes", "T000"} {
				if strings.Contains(err.Error(), never) {
					t.Errorf("the error tells %q of the secret: %.300v … %s", never, err, err.Error()[max(0, len(err.Error())-30):])
				}
			}
		})
	}
}
