package cli

import (
	"bufio"
	"bytes"
	"encoding/json"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bide-go/bide/internal/cronexpr"
)

// preview and explain name the instants that the vectors of the engine do.
func TestVectors(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile("../cronexpr/testdata/vectors.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	lines := bufio.NewScanner(bytes.NewReader(data))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var v struct {
			ID, Spec, TZ string
			From         time.Time
			Next         []string
		}
		if err := json.Unmarshal(lines.Bytes(), &v); err != nil {
			t.Fatal(err)
		}
		seen++
		previewVector(t, v.ID, []string{"bide", "preview", "--expr=" + v.Spec, "--tz", v.TZ, "--from", v.From.Format(time.RFC3339), "-o", "json"}, v.Next)
		explainVector(t, v.ID, v.Spec, v.TZ, v.From, v.Next)
	}
	if seen < 277 {
		t.Errorf("%d vectors", seen)
	}
}

func previewVector(t *testing.T, id string, args, want []string) {
	t.Helper()
	var out, words bytes.Buffer
	if want != nil {
		args = append(args, "--count", strconv.Itoa(len(want)))
	}
	code := Run(t.Context(), Env{Stdout: &out, Stderr: &words}, args)
	if want == nil {
		if code != 2 || out.Len() > 0 {
			t.Errorf("%s: %q: exit code %d, want a refusal", id, args, code)
		}
		return
	}
	var reply struct {
		Items []struct{ Tick, Local string }
	}
	if err := json.Unmarshal(out.Bytes(), &reply); err != nil || code != 0 {
		t.Fatalf("%s: %q: exit code %d, %v %s", id, args, code, err, words.String())
	}
	var got []string
	for _, item := range reply.Items {
		got = append(got, item.Local)
		if tick, err := time.Parse(time.RFC3339, item.Tick); err != nil || tick.Format(stampForm) != inUTC(t, item.Local) {
			t.Errorf("%s: tick %s and local %s differ", id, item.Tick, item.Local)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s: %q (-want +got)\n%s", id, args, diff)
	}
}

func explainVector(t *testing.T, id, spec, zone string, from time.Time, want []string) {
	t.Helper()
	e, err := cronexpr.Parse(spec)
	if err != nil {
		if want != nil {
			t.Errorf("%s: %v", id, err)
		}
		return
	}
	loc, err := time.LoadLocation(zone)
	if err != nil {
		t.Fatal(err)
	}
	doc, err := json.Marshal(explained(e, loc, from))
	if err != nil {
		t.Fatal(err)
	}
	var reply struct{ Next []struct{ UTC, Local string } }
	if err := json.Unmarshal(doc, &reply); err != nil {
		t.Fatal(err)
	}
	want = want[:min(len(want), explainNext)]
	var got []string
	for _, next := range reply.Next[:min(len(want), len(reply.Next))] {
		got = append(got, next.Local)
		if next.UTC != inUTC(t, next.Local) {
			t.Errorf("%s: utc %s and local %s differ", id, next.UTC, next.Local)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s: explain (-want +got)\n%s", id, diff)
	}
}

func inUTC(t *testing.T, local string) string {
	at, err := time.Parse(time.RFC3339, local)
	if err != nil {
		t.Fatal(err)
	}
	return stamp(at).String()
}
