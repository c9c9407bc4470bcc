package schedulefile

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"unicode"
)

func FuzzLoad(f *testing.F) {
	for _, path := range fixtures(f) {
		sources := fixture(f, path)
		f.Add(sources[0].Data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		r := Load([]Source{{Name: "a.yaml", Data: data}}, testOptions())
		if r.Fatal && (len(r.Definitions) > 0 || r.Errors() == 0) {
			t.Errorf("fatal with %d definitions and %d errors", len(r.Definitions), r.Errors())
		}
		if len(r.Bad) > 0 && r.Errors() == 0 {
			t.Errorf("bad %q without an error", r.Bad)
		}
		lines := len(splitLines(string(data)))
		for _, p := range r.Problems {
			if p.Line < 1 || p.Line > lines || p.Column < 1 || p.Code == "" || p.Message == "" {
				t.Errorf("problem %+v in a file of %d lines", p, lines)
			}
		}
		for _, d := range r.Definitions {
			if slices.Contains(r.Bad, d.Name) {
				t.Errorf("%q is defined and bad", d.Name)
			}
			if d.Job == "" || len(d.Schedule) == 0 || d.Queue == "" || d.TimeZone == "" || !json.Valid(d.Args) {
				t.Errorf("incomplete definition %+v", d)
			}
			if err := d.Validate(); err != nil {
				t.Errorf("a definition that the scheduler refuses: %v", err)
			}
		}
		checkReport(t, r)
	})
}

func checkReport(t *testing.T, r Result) {
	text := report(r)
	if n := strings.Count(text, "\n"); n != 3*len(r.Problems)+1 {
		t.Errorf("%d lines for %d problems:\n%q", n, len(r.Problems), text)
	}
	for _, c := range text {
		if c != '\n' && !unicode.IsPrint(c) {
			t.Errorf("%U in the report %q", c, text)
		}
	}
}
