package main

import (
	"bytes"
	"context"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/bide-go/bide/internal/redistest"
	"github.com/bide-go/bide/scripts"
)

var want = regexp.MustCompile(`^now: +\S{36}
in 2s: +\S{36}
at: +\S{36}
refused: +queue "HIGH" must be .*
many: +100
unique: +true true
get: +delayed \{"account":"ana","cents":250\} 1h0m0\S+
rescheduled: delayed charge-\d+
cancelled: +cancelled
get: +no such job.* true
$`)

func TestEnqueue(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		for range 2 { // it may be run again
			var out bytes.Buffer
			if err := run(context.Background(), s.URL(), &out); err != nil {
				t.Fatal(err)
			}
			if !want.MatchString(out.String()) {
				t.Errorf("it printed\n%swant\n%s", out.String(), want)
			}
		}
		sum, err := s.Scripts().Audit(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		// 101 now, of each run; later: call-partner, report and charge, and the
		// monthly report once.
		if want := (scripts.Sum{Created: 2*105 + 1, Waiting: 2 * 101, Delayed: 2*3 + 1, Cancelled: 2}); sum != want {
			t.Errorf("sum %+v, want %+v", sum, want)
		}
	})
}

func TestEnqueueWithoutRedis(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	err := run(ctx, fmt.Sprintf("redis://127.0.0.1:%d", redistest.FreePort(t)), new(bytes.Buffer))
	if err == nil || !strings.HasPrefix(err.Error(), "nothing was sent") {
		t.Errorf("%v, want it to say that nothing was sent", err)
	}
	if err := run(ctx, "http://u:secret@x", new(bytes.Buffer)); err == nil || strings.Contains(err.Error(), "secret") {
		t.Errorf("%v, want an error without the password", err)
	}
}
