package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/bide-go/bide/internal/redistest"
	"github.com/bide-go/bide/job"
	"github.com/bide-go/bide/scripts"
)

// kill makes dead jobs of all that wait, each second one with an error of its own.
func kill(t *testing.T, set *scripts.Set, n int) {
	t.Helper()
	ctx := context.Background()
	fill(t, set, n)
	for i := 0; i < n; {
		r, err := set.Reserve(ctx, scripts.ReserveArgs{
			Token: fmt.Sprintf("w1:%d", i), Lease: time.Minute, Limit: 100, Offers: []scripts.Offer{{Queue: "medium", Slots: 100}}, Names: []string{"mail"},
		})
		if err != nil || len(r.Jobs) == 0 {
			t.Fatalf("%d of %d reserved: %v", i, n, err)
		}
		var verdicts []scripts.Verdict
		for _, l := range r.Jobs {
			verdicts = append(verdicts, scripts.Verdict{Lease: l.Lease, Reason: job.ReasonPermanent, Kind: job.KindFailed, Error: []string{"odd", "even"}[i%2]})
			i++
		}
		if _, err := set.Fail(ctx, verdicts); err != nil {
			t.Fatal(err)
		}
	}
}

// Pages filtered by the text of an error, put together, have each job once.
func TestPagesByErrorMeet(t *testing.T) {
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		kill(t, s.Scripts(), 450)
		env := Env{Getenv: getenv(map[string]string{"REDIS_URL": s.URL()})}
		for _, limit := range []int{1000, 225, 224, 100, 40} {
			seen := map[string]bool{}
			cursor, pages := "", 0
			for {
				line := fmt.Sprintf("dead list --error odd -o json --limit %d", limit)
				if cursor != "" {
					line += " --cursor " + cursor
				}
				code, stdout, stderr := run(context.Background(), env, line)
				var page struct {
					Items []struct {
						ID        string
						LastError string
					}
					NextCursor string
				}
				if err := json.Unmarshal([]byte(stdout), &page); code != 0 || err != nil {
					t.Fatal(code, stderr, err)
				}
				for _, item := range page.Items {
					if seen[item.ID] || item.LastError != "odd" {
						t.Errorf("limit %d: %+v, seen before: %t", limit, item, seen[item.ID])
					}
					seen[item.ID] = true
				}
				pages++
				if cursor = page.NextCursor; cursor == "" {
					break
				}
			}
			if want := (225 + limit - 1) / limit; len(seen) != 225 || pages != want {
				t.Errorf("limit %d: %d jobs on %d pages, want 225 on %d", limit, len(seen), pages, want)
			}
		}
	})
}

func TestManyAtOnce(t *testing.T) {
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		set := s.Scripts()
		kill(t, set, 450)
		env := Env{Getenv: getenv(map[string]string{"REDIS_URL": s.URL()})}
		for _, tt := range []struct{ line, want string }{
			{"dead retry --error odd -y", `{"matched":225,"done":225,"failed":0,"dryRun":false}`},
			{"queues clear medium -y", `{"queue":"medium","cancelled":225}`},
			{"dead delete --all -y", `{"matched":225,"done":225,"failed":0,"dryRun":false}`},
			{"dead delete --all -y", `{"matched":0,"done":0,"failed":0,"dryRun":false}`},
		} {
			if code, stdout, stderr := run(context.Background(), env, tt.line+" -o json"); code != 0 || strings.TrimSpace(stdout) != tt.want {
				t.Errorf("%s: exit code %d, %s %s, want %s", tt.line, code, stdout, stderr, tt.want)
			}
		}
		// More than one script may cancel.
		fill(t, set, 2_500)
		if code, stdout, stderr := run(context.Background(), env, "queues clear medium --yes"); code != 0 || stdout != "medium  2,500 cancelled\n" {
			t.Errorf("exit code %d, %s %s", code, stdout, stderr)
		}
	})
}

// A Redis that takes no writes ends it at once, with what is not done counted.
func TestManyOnAFullRedis(t *testing.T) {
	s := redistest.NewReal(t)
	kill(t, s.Scripts(), 40)
	rdb := s.Client()
	ctx := context.Background()
	if err := rdb.Do(ctx, "replicaof", "127.0.0.1", "1").Err(); err != nil {
		t.Fatal(err)
	}
	env := Env{Getenv: getenv(map[string]string{"REDIS_URL": s.URL()})}
	code, stdout, stderr := run(ctx, env, "dead retry --all -y -o json")
	if code != 1 || strings.TrimSpace(stdout) != `{"matched":40,"done":0,"failed":40,"dryRun":false}` || !strings.Contains(stderr, "after 0 of 40 jobs") || strings.Count(stderr, "\n") != 1 {
		t.Errorf("exit code %d, %s %s", code, stdout, stderr)
	}
	if err := rdb.Do(ctx, "replicaof", "no", "one").Err(); err != nil {
		t.Fatal(err)
	}
}
