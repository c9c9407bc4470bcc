package bundled_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bide-go/bide/job"
	"github.com/bide-go/bide/worker/bundled"
)

// patience is how long a test waits for what must happen.
const patience = 30 * time.Second

// serve runs a server until the end of the test.
func serve(t *testing.T, h http.HandlerFunc) *httptest.Server {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s
}

// httpJob is a job of http with args in which URL stands for the server's.
func httpJob(s *httptest.Server, args string) *job.Job {
	j := newJob("http", strings.ReplaceAll(args, "URL", s.URL))
	j.MaxAttempts, j.MinBackoff, j.MaxBackoff = 4, time.Second, time.Hour
	return j
}

func call(t *testing.T, j *job.Job) error {
	t.Helper()
	return registry(t, bundled.Options{Version: "1.2.3"}).Run(t.Context(), j)
}

func TestHTTPRequest(t *testing.T) {
	type request struct {
		Method, URI, Host, Body string
		Length                  int64
		Header                  http.Header
	}
	var got request
	server := serve(t, func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		got = request{r.Method, r.RequestURI, r.Host, string(body), r.ContentLength, r.Header}
	})
	host := strings.TrimPrefix(server.URL, "http://")
	own := func(more map[string]string) http.Header {
		h := http.Header{}
		for name, value := range map[string]string{
			"User-Agent": "bide/1.2.3", "Bide-Job-Id": "j1", "Bide-Attempt": "1", "Bide-Max-Attempts": "4", "Accept-Encoding": "gzip",
		} {
			h.Set(name, value)
		}
		for name, value := range more {
			h.Set(name, value)
		}
		return h
	}
	for _, tt := range []struct {
		name, args string
		change     func(*job.Job)
		want       request
	}{
		{"the least", `{"url":"URL"}`, nil, request{"POST", "/", host, "", 0, own(map[string]string{"Content-Length": "0"})}},
		{"a GET", `{"url":"URL/a%20b/?c=d#e","method":"GET"}`, nil, request{"GET", "/a%20b/?c=d", host, "", 0, own(nil)}},
		{"a text", `{"url":"URL/x","method":"PUT","body":"héllo"}`, nil,
			request{"PUT", "/x", host, "héllo", 6, own(map[string]string{"Content-Length": "6"})}},
		{"JSON, as it was written", `{"url":"URL/x","json":{ "b" : 12345678901234567, "a":[1.50,"<&>"] }}`, nil,
			request{"POST", "/x", host, `{"b":12345678901234567,"a":[1.50,"<&>"]}`, 40, own(map[string]string{"Content-Type": "application/json", "Content-Length": "40"})}},
		{"null is JSON", `{"url":"URL/x","json":null}`, nil,
			request{"POST", "/x", host, `null`, 4, own(map[string]string{"Content-Type": "application/json", "Content-Length": "4"})}},
		{"headers", `{"url":"URL/x","json":1,"headers":{"content-type":"application/ld+json","X-A":"ü, b","Host":"other.example","User-Agent":"me"}}`, nil,
			request{"POST", "/x", "other.example", `1`, 1, own(map[string]string{"Content-Type": "application/ld+json", "X-A": "ü, b", "User-Agent": "me", "Content-Length": "1"})}},
		{"user and password", `{"url":"http://user:pa%20ss@` + host + `/"}`, nil,
			request{"POST", "/", host, "", 0, own(map[string]string{"Content-Length": "0", "Authorization": "Basic dXNlcjpwYSBzcw=="})}},
		{"a schedule's run", `{"url":"URL/x","method":"DELETE"}`, func(j *job.Job) {
			j.ID, j.Attempts, j.MaxAttempts, j.Trigger = "nightly@2026-12-01T00:30:00Z", 2, 7, job.TriggerSchedule
			j.Schedule, j.Tick, j.PreviousStatus = "nightly", time.Date(2026, 12, 1, 1, 30, 0, 0, time.FixedZone("", 3600)), job.Dead
			j.Headers = map[string]string{"traceparent": "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", "other": "stays here"}
		}, request{"DELETE", "/x", host, "", 0, own(map[string]string{
			"Bide-Job-Id": "nightly@2026-12-01T00:30:00Z", "Bide-Attempt": "3", "Bide-Max-Attempts": "7", "Bide-Trigger": "schedule",
			"Bide-Schedule": "nightly", "Bide-Tick": "2026-12-01T00:30:00Z", "Bide-Previous-Status": "dead",
			"Traceparent": "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
		})}},
		{"a traceparent that is none", `{"url":"URL","method":"GET"}`, func(j *job.Job) {
			j.Headers = map[string]string{"traceparent": "a\r\nBide-Evil: 1"}
		}, request{"GET", "/", host, "", 0, own(nil)}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			j := httpJob(server, tt.args)
			if tt.change != nil {
				tt.change(j)
			}
			if err := call(t, j); err != nil {
				t.Fatalf("Run = %v, want nil", err)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("request (-want +got):\n%s", diff)
			}
		})
	}
}

// What becomes of the job: fails for good, or is tried again, after at least the
// pause if it asks for one.
func TestHTTPAnswers(t *testing.T) {
	const yes, no = true, false
	date := time.Date(2026, 12, 1, 9, 0, 0, 0, time.UTC)
	in := func(d time.Duration) http.Header {
		return http.Header{"Date": {date.Format(http.TimeFormat)}, "Retry-After": {date.Add(d).Format(http.TimeFormat)}}
	}
	for _, tt := range []struct {
		name      string
		status    int
		header    http.Header
		body      string
		more      string // args
		want      string // part of the error, empty for none
		permanent bool
		pause     time.Duration // at least, 0 for the job's own
		max       time.Duration
	}{
		{name: "200", status: 200, body: "done"},
		{name: "202", status: 202},
		{name: "204", status: 204},
		{name: "301", status: 301, header: http.Header{"Location": {"http://169.254.169.254/latest"}},
			want: "POST answered 301 Moved Permanently after 0s, and redirects are not followed (to http://169.254.169.254/latest)"},
		{name: "302 with a bad target", status: 302, header: http.Header{"Location": {"http://[::1"}}, want: "302 Found"},
		{name: "304", status: 304, want: "304 Not Modified"},
		{name: "404 with a body", status: 404, body: "\n no such\tthing\n", want: "POST answered 404 Not Found after 0s: no such\tthing"},
		{name: "410", status: 410, body: "gone for good", want: "410 Gone after 0s: gone for good", permanent: yes},
		{name: "500", status: 500, want: "POST answered 500 Internal Server Error after 0s"},
		{name: "an odd status", status: 599, want: "POST answered 599 after 0s"},
		{name: "no retry", status: 422, header: http.Header{"Bide-No-Retry": {" True"}}, want: "422 Unprocessable Entity", permanent: yes},
		{name: "no retry, but not so", status: 422, header: http.Header{"Bide-No-Retry": {"false"}}, want: "422"},
		{name: "no retry of what went well", status: 200, header: http.Header{"Bide-No-Retry": {"true"}}},
		{name: "no retry wins over a pause", status: 429, header: http.Header{"Bide-No-Retry": {"true"}, "Retry-After": {"7"}}, want: "429", permanent: yes},
		{name: "429 with seconds", status: 429, header: http.Header{"Retry-After": {"120"}}, want: "429 Too Many Requests after 0s, to be asked again in 2m0s", pause: 120 * time.Second, max: 120 * time.Second},
		{name: "429 with a date", status: 429, header: in(90 * time.Second), want: "to be asked again in 1m30s", pause: 90 * time.Second, max: 90 * time.Second},
		{name: "any other with seconds", status: 418, header: http.Header{"Retry-After": {"9"}}, want: "418", pause: 9 * time.Second, max: 9 * time.Second},
		{name: "more than the longest pause", status: 503, header: http.Header{"Retry-After": {"86400"}}, want: "503", pause: time.Hour, max: time.Hour},
		{name: "more than a number can be", status: 503, header: http.Header{"Retry-After": {"99999999999999999999999999"}}, want: "503", pause: time.Hour, max: time.Hour},
		{name: "a date far away", status: 503, header: in(100 * 24 * time.Hour), want: "503", pause: time.Hour, max: time.Hour},
		{name: "less than the job's own pause", status: 503, header: http.Header{"Retry-After": {"0"}}, want: "503", pause: time.Second, max: 4 * time.Second},
		{name: "a date that has passed", status: 503, header: in(-time.Hour), want: "503", pause: time.Second, max: 4 * time.Second},
		{name: "neither seconds nor a date", status: 503, header: http.Header{"Retry-After": {"soon"}}, want: "503 Service Unavailable after 0s"},
		{name: "negative seconds", status: 503, header: http.Header{"Retry-After": {"-5"}}, want: "503 Service Unavailable after 0s"},

		{name: "200 when it is not expected", status: 200, body: "x", more: `,"expectStatus":204`, want: "POST answered 200 OK after 0s: x"},
		{name: "404 when it is expected", status: 404, more: `,"expectStatus":["200-299",404]`},
		{name: "302 when it is expected", status: 302, header: http.Header{"Location": {"/x"}}, more: `,"expectStatus":"300-399"`},
		{name: "410 when it is expected", status: 410, more: `,"expectStatus":[410]`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			server := serve(t, func(w http.ResponseWriter, _ *http.Request) {
				for name, values := range tt.header {
					w.Header()[name] = values
				}
				w.WriteHeader(tt.status)
				io.WriteString(w, tt.body)
			})
			j := httpJob(server, `{"url":"URL"`+tt.more+`}`)
			j.Attempts = 1
			err := call(t, j)
			if tt.want == "" {
				if err != nil {
					t.Fatalf("Run = %v, want nil", err)
				}
				return
			}
			if err == nil || !strings.Contains(untimed(err), tt.want) {
				t.Fatalf("Run = %v, want an error with %q", err, tt.want)
			}
			if pauses := tt.permanent && tt.status == http.StatusGone; job.PausesSchedule(err) != pauses {
				t.Errorf("pauses its schedule = %t, want %t", !pauses, pauses)
			}
			if job.IsPermanent(err) != tt.permanent {
				t.Errorf("permanent = %t, want %t", !tt.permanent, tt.permanent)
			}
			pause, asked := job.RetryDelay(err)
			if asked != (tt.pause > 0) || pause < tt.pause || pause > tt.max {
				t.Errorf("pause = %v, %t, want %v to %v", pause, asked, tt.pause, tt.max)
			}
		})
	}

	t.Run("a date counts from this clock if the server tells none", func(t *testing.T) {
		server := serve(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header()["Date"] = nil
			w.Header().Set("Retry-After", time.Now().Add(10*time.Minute).UTC().Format(http.TimeFormat))
			w.WriteHeader(http.StatusServiceUnavailable)
		})
		pause, _ := job.RetryDelay(call(t, httpJob(server, `{"url":"URL"}`)))
		if pause < 9*time.Minute || pause > 10*time.Minute {
			t.Errorf("pause = %v, want a little less than 10m", pause)
		}
	})
}

// untimed is an error with 0s where it tells how long something took.
func untimed(err error) string {
	words := strings.Split(err.Error(), " ")
	for i := 1; i < len(words); i++ {
		span, _, _ := strings.Cut(words[i], "\n")
		span = strings.TrimRight(span, ",:;")
		if _, bad := time.ParseDuration(span); words[i-1] == "after" && bad == nil {
			words[i] = "0s" + words[i][len(span):]
		}
	}
	return strings.Join(words, " ")
}
