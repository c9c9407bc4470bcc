package bundled_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"sync/atomic"
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

func TestHTTPBodies(t *testing.T) {
	t.Run("a huge one is not read", func(t *testing.T) {
		var sent atomic.Int64
		server := serve(t, func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/bad" {
				w.WriteHeader(http.StatusInternalServerError)
			}
			chunk := []byte(strings.Repeat("x", 1<<16))
			for sent.Load() < 10<<30 && r.Context().Err() == nil {
				n, err := w.Write(chunk)
				sent.Add(int64(n))
				if err != nil {
					return
				}
			}
		})
		if err := call(t, httpJob(server, `{"url":"URL/good"}`)); err != nil {
			t.Errorf("Run = %v, want nil", err)
		}
		err := call(t, httpJob(server, `{"url":"URL/bad"}`))
		if err == nil || strings.Count(err.Error(), "x") != 4096 {
			t.Errorf("Run = %.100v, want the first 4096 bytes", err)
		}
		server.Close() // waits for what is being sent
		if got := sent.Load(); got > 64<<20 {
			t.Errorf("the server could send %d bytes", got)
		}
	})

	t.Run("one that breaks off is a failure", func(t *testing.T) {
		server := serve(t, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Length", "1000")
			if r.URL.Path == "/bad" {
				w.WriteHeader(http.StatusServiceUnavailable)
			}
			io.WriteString(w, "so far")
			http.NewResponseController(w).Flush()
			panic(http.ErrAbortHandler)
		})
		for path, want := range map[string]string{
			"good": "POST answered 200 OK after 0s, and the body broke off: unexpected EOF",
			"bad":  "POST answered 503 Service Unavailable after 0s: so far",
		} {
			err := call(t, httpJob(server, `{"url":"URL/`+path+`"}`))
			if err == nil || untimed(err) != want || job.IsPermanent(err) {
				t.Errorf("Run = %v, want %s", err, want)
			}
		}
	})

	t.Run("a slow one ends with the attempt", func(t *testing.T) {
		wrote := make(chan struct{}, 4)
		server := serve(t, func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/gone" {
				w.WriteHeader(http.StatusGone)
			}
			io.WriteString(w, "slowly")
			http.NewResponseController(w).Flush()
			wrote <- struct{}{}
			<-r.Context().Done()
		})
		for _, path := range []string{"good", "gone"} {
			ctx, cancel := context.WithCancelCause(t.Context())
			go func() { <-wrote; time.Sleep(50 * time.Millisecond); cancel(job.ErrTimeout) }()
			err := registry(t, bundled.Options{}).Run(ctx, httpJob(server, `{"url":"URL/`+path+`"}`))
			switch {
			case path == "good" && (!errors.Is(err, job.ErrTimeout) || untimed(err) != "POST answered 200 OK after 0s, and the body did not end: the attempt timed out"):
				t.Errorf("Run = %v, want the attempt timed out", err)
			case path == "gone" && (!job.IsPermanent(err) || untimed(err) != "POST answered 410 Gone after 0s: slowly"):
				t.Errorf("Run = %v, want what the status says", err)
			}
		}
	})

	t.Run("one read to its end leaves the connection for the next", func(t *testing.T) {
		seen := map[string]bool{}
		server := serve(t, func(w http.ResponseWriter, r *http.Request) {
			seen[r.RemoteAddr] = true
			w.WriteHeader(map[string]int{"/good": 200, "/bad": 500}[r.URL.Path])
			io.WriteString(w, strings.Repeat("x", 3000))
		})
		reg := registry(t, bundled.Options{})
		for i := range 6 {
			_ = reg.Run(t.Context(), httpJob(server, `{"url":"URL/`+[]string{"good", "bad"}[i%2]+`"}`))
		}
		if len(seen) != 1 {
			t.Errorf("6 requests took %d connections, want 1", len(seen))
		}
	})
}

func TestHTTPWithoutAnswer(t *testing.T) {
	for name, h := range map[string]http.HandlerFunc{
		"closed":        func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
		"closed midway": func(w http.ResponseWriter, _ *http.Request) { hijack(w, "HTTP/1.1 200 OK\r\nContent-") },
		"no HTTP":       func(w http.ResponseWriter, _ *http.Request) { hijack(w, "hello\r\n\r\n") },
		"endless head": func(w http.ResponseWriter, _ *http.Request) {
			hijack(w, "HTTP/1.1 200 OK\r\n"+strings.Repeat("X: y\r\n", 1<<18))
		},
	} {
		t.Run(name, func(t *testing.T) {
			err := call(t, httpJob(serve(t, h), `{"url":"URL/secret-place"}`))
			_, asked := job.RetryDelay(err)
			if err == nil || job.IsPermanent(err) || asked || !strings.HasPrefix(untimed(err), "POST failed after 0s: ") || strings.Contains(err.Error(), "secret-place") {
				t.Errorf("Run = %v, want a failure that is retried and does not repeat the URL", err)
			}
		})
	}

	t.Run("nobody listens", func(t *testing.T) {
		server := serve(t, nil)
		server.Close()
		err := call(t, httpJob(server, `{"url":"URL"}`))
		if err == nil || job.IsPermanent(err) || !strings.Contains(err.Error(), "connection refused") {
			t.Errorf("Run = %v, want a failure that is retried", err)
		}
	})

	t.Run("a silent server ends with the attempt", func(t *testing.T) {
		arrived := make(chan struct{})
		server := serve(t, func(_ http.ResponseWriter, r *http.Request) { close(arrived); <-r.Context().Done() })
		ctx, cancel := context.WithCancelCause(t.Context())
		go func() { <-arrived; cancel(job.ErrCancelled) }()
		err := registry(t, bundled.Options{}).Run(ctx, httpJob(server, `{"url":"URL"}`))
		if !errors.Is(err, job.ErrCancelled) || untimed(err) != "POST not answered after 0s: the job was cancelled" {
			t.Errorf("Run = %v, want %v", err, job.ErrCancelled)
		}
	})
}

func hijack(w http.ResponseWriter, text string) {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err == nil {
		io.WriteString(conn, text)
		conn.Close()
	}
}

func TestHTTPGuard(t *testing.T) {
	asked := false
	server := serve(t, func(http.ResponseWriter, *http.Request) { asked = true })
	_, port, _ := net.SplitHostPort(strings.TrimPrefix(server.URL, "http://"))
	names := map[string]string{
		"metadata.test.": "169.254.169.254", "mapped.test.": "::ffff:169.254.169.254", "here.test.": "127.0.0.1", "any.test.": "0.0.0.0", "v6.test.": "fe80::1",
	}
	private := []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}
	loopback := []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("::1/128")}
	proxy, err := url.Parse(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name, url string
		opt       bundled.Options
		want      string // part of the refusal, empty if it goes through
	}{
		{"this host", "http://127.0.0.1:" + port, bundled.Options{}, ""},
		{"a name of this host", "http://here.test.:" + port, bundled.Options{}, ""},
		{"metadata", "http://169.254.169.254/latest/meta-data/", bundled.Options{}, "link-local"},
		{"metadata over TLS", "https://169.254.169.254/", bundled.Options{}, "link-local"},
		{"metadata, mapped", "http://[::ffff:a9fe:a9fe]/", bundled.Options{}, "link-local"},
		{"a name that resolves to it", "http://metadata.test./", bundled.Options{}, "connections to 169.254.169.254 are not allowed"},
		{"a name that resolves to it, mapped", "http://mapped.test./", bundled.Options{}, "not allowed: it is a link-local"},
		{"a name that resolves to it, in IPv6", "http://v6.test./", bundled.Options{}, "not allowed: it is a link-local"},
		{"a name that resolves to nowhere", "http://any.test.:" + port, bundled.Options{}, "unspecified"},
		{"unspecified", "http://0.0.0.0:" + port, bundled.Options{}, "unspecified"},
		{"denied", "http://127.0.0.1:" + port, bundled.Options{HTTPDeny: loopback}, "denied range 127.0.0.0/8"},
		{"a name of what is denied", "http://here.test.:" + port, bundled.Options{HTTPDeny: loopback}, "denied range"},
		{"not allowed", "http://127.0.0.1:" + port, bundled.Options{HTTPAllow: private}, "none of the allowed ranges"},
		{"allowed", "http://127.0.0.1:" + port, bundled.Options{HTTPAllow: loopback}, ""},
		{"through a proxy", "http://elsewhere.test/", bundled.Options{HTTPProxy: proxy}, ""},
		{"metadata through a proxy", "http://169.254.169.254/", bundled.Options{HTTPProxy: proxy}, "link-local"},
		{"through a proxy that is denied", "http://elsewhere.test/", bundled.Options{HTTPProxy: proxy, HTTPDeny: loopback}, "denied range"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			// Not even an environment that says so sends it anywhere else.
			t.Setenv("HTTP_PROXY", server.URL)
			t.Setenv("HTTPS_PROXY", server.URL)
			asked = false
			j := newJob("http", fmt.Sprintf(`{"url":%q,"method":"GET"}`, tt.url))
			err := bundled.HTTPHandler(tt.opt, resolver(t, names))(t.Context(), j)
			if tt.want == "" {
				if err != nil || !asked {
					t.Errorf("Run = %v, the server was asked: %t; want nil and true", err, asked)
				}
				return
			}
			if err == nil || !job.IsPermanent(err) || !strings.Contains(err.Error(), tt.want) || asked {
				t.Errorf("Run = %v, the server was asked: %t; want a permanent error with %q", err, asked, tt.want)
			}
		})
	}
}

// resolver asks a name server of the test's, which knows these names.
func resolver(t *testing.T, names map[string]string) *net.Resolver {
	conn, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	t.Cleanup(func() { conn.Close(); <-ended })
	go func() {
		defer close(ended)
		buf := make([]byte, 1500)
		for {
			n, from, err := conn.ReadFrom(buf)
			if err != nil {
				return
			}
			conn.WriteTo(answerTo(buf[:n], names), from)
		}
	}()
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "udp", conn.LocalAddr().String())
	}}
}

// answerTo is the answer to a DNS query for the address of a name.
func answerTo(query []byte, names map[string]string) []byte {
	end, name := 12, ""
	for query[end] != 0 {
		name += string(query[end+1:end+1+int(query[end])]) + "."
		end += 1 + int(query[end])
	}
	end += 5 // the last label, type and class
	v6 := query[end-3] == 28
	addr, err := netip.ParseAddr(names[name])
	reply := append([]byte{query[0], query[1], 0x81, 0x80, 0, 1, 0, 0, 0, 0, 0, 0}, query[12:end]...)
	if err != nil || addr.Is6() != v6 {
		return reply
	}
	reply[7] = 1
	reply = append(reply, 0xc0, 12, 0, query[end-3], 0, 1, 0, 0, 0, 60, 0, byte(addr.BitLen()/8))
	return append(reply, addr.AsSlice()...)
}

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
