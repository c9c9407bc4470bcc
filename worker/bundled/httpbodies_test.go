package bundled_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/bide-go/bide/job"
	"github.com/bide-go/bide/worker/bundled"
)

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
