package promoter

import (
	"strings"
	"testing"

	"github.com/bide-go/bide/scripts"
)

func TestParseEntry(t *testing.T) {
	for _, c := range []struct {
		name, member, score string
		want                string // part of the reason, "" for a job
	}{
		{"a job", `["mail-42", "high", "send-email", {"to": "x"}]`, "0", ""},
		{"fractions", `["a","high","n",null]`, "1764500000.25", ""},
		{"three elements", `["a","high","n"]`, "0", "3 elements"},
		{"five elements", `["a","high","n",1,2]`, "0", "5 elements"},
		{"no array", `{"id":"a"}`, "0", "not a JSON array"},
		{"no JSON", `hello`, "0", "not valid JSON"},
		{"trailing data", `["a","high","n",1] x`, "0", "not valid JSON"},
		{"a bracket too many", `["a","high","n",1]]`, "0", "not valid JSON"},
		{"a brace too many", `["a","high","n",1]}`, "0", "not valid JSON"},
		{"id is a number", `[1,"high","n",1]`, "0", "id is not a string"},
		{"id of a tick", `["a@2026","high","n",1]`, "0", "@"},
		{"braces in the id", `["{a}","high","n",1]`, "0", "job id"},
		{"newline in the id", `["a\nb","high","n",1]`, "0", "job id"},
		{"lane as queue", `["a","high-delayed","n",1]`, "0", "-delayed"},
		{"empty name", `["a","high","",1]`, "0", "job name"},
		{"invalid UTF-8", "[\"a\",\"high\",\"n\",\"\xff\"]", "0", "UTF-8"},
		{"too long", `["a","high","n","` + strings.Repeat("x", 1<<20) + `"]`, "0", "1048576 are allowed"},
		{"infinite score", `["a","high","n",1]`, "inf", "no time"},
		{"milliseconds", `["a","high","n",1]`, "1764500000000", "not milliseconds"},
	} {
		t.Run(c.name, func(t *testing.T) {
			n, err := parseEntry(scripts.InboxEntry{Member: c.member, Score: c.score})
			switch {
			case c.want == "" && err != nil:
				t.Errorf("refused: %v", err)
			case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
				t.Errorf("error %v, want one about %q", err, c.want)
			case c.want == "" && n.Name == "":
				t.Errorf("job %+v", n)
			}
		})
	}
}

func TestParseScoreRoundsUpToTheMillisecond(t *testing.T) {
	for score, want := range map[string]int64{
		"1764500000":         1764500000000,
		"1764500000.001":     1764500000001,
		"1764500000.0010001": 1764500000001, // as a float prints .001
		"1764500000.001001":  1764500000002,
		"1764500000.999999":  1764500001000,
		"1764500000.25":      1764500000250,
		"4102444800.999":     4102444800999,
	} {
		at, err := parseScore(score)
		if err != nil || at.UnixMilli() != want {
			t.Errorf("parseScore(%s) = %d, %v; want %d", score, at.UnixMilli(), err, want)
		}
	}
	for _, score := range []string{"0", "-5", "-0"} {
		if at, err := parseScore(score); err != nil || !at.IsZero() {
			t.Errorf("parseScore(%s) = %v, %v; want now", score, at, err)
		}
	}
	if _, err := parseScore("nan"); err == nil {
		t.Error("nan is a time")
	}
}

func FuzzParseEntry(f *testing.F) {
	f.Add(`["mail-42", "high", "send-email", {"to": "x"}]`, "0")
	f.Add(`[[[[`, "1e308")
	f.Fuzz(func(t *testing.T, member, score string) {
		n, err := parseEntry(scripts.InboxEntry{Member: member, Score: score})
		if err == nil && (n.ID == "" || n.Queue == "" || n.Name == "" || len(n.Args) == 0) {
			t.Errorf("accepted %q as %+v", member, n)
		}
	})
}
