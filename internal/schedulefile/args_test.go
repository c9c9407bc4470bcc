package schedulefile

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestArgs(t *testing.T) {
	tests := []struct{ yaml, want string }{
		{"", "null"}, {"~", "null"}, {"null", "null"}, {"{}", "{}"}, {"[]", "[]"}, {`""`, `""`},
		{"true", "true"}, {"False", "false"}, {"yes", `"yes"`}, {`"true"`, `"true"`},
		{"0", "0"}, {"-0", "-0"}, {"+5", "5"}, {"1_000_000", "1000000"}, {"0x1F", "31"}, {"0o17", "15"}, {"-0b101", "-5"},
		{"9007199254740993", "9007199254740993"}, {"123456789012345678901234567890", "123456789012345678901234567890"},
		{"1.10", "1.10"}, {".5", "0.5"}, {"-.5", "-0.5"}, {"1.", "1"}, {"+1.5", "1.5"}, {"1e3", "1e3"}, {"1E-7", "1E-7"}, {"0.1e+2", "0.1e+2"},
		{`!!int "7"`, "7"}, {"!!float 1", "1"}, {"!!str 7", `"7"`}, {"! 7", `"7"`},
		{"2026-01-01", `"2026-01-01"`}, {"2026-01-01T10:00:00Z", `"2026-01-01T10:00:00Z"`}, {"12:30", `"12:30"`},
		{`"a\nb\t\"\\ü\u0001"`, `"a\nb\t\"\\ü\u0001"`}, {"<a&b>", `"<a&b>"`}, {"e5", `"e5"`}, {"-", ""}, {".", `"."`},
		{"{z: 1, a: 2, m: {y: 1, b: 2}}", `{"z":1,"a":2,"m":{"y":1,"b":2}}`},
		{"[1, [2, {a: [3]}]]", `[1,[2,{"a":[3]}]]`},
		{"{<<: {b: 1, a: 2}, a: 3}", `{"a":3,"b":1}`},
		{`{"<<": 1}`, `{"<<":1}`}, {`{"1": 1, "true": 2}`, `{"1":1,"true":2}`},
		// What JSON cannot say, or two readers would read differently.
		{".inf", ""}, {"-.INF", ""}, {".nan", ""}, {"007", ""}, {"08", ""}, {"00.5", ""}, {"1e999", ""},
		{"!!binary aGk=", ""}, {"!own x", ""}, {"!!set {a}", ""}, {"!!bool yes", ""}, {"!!int x", ""}, {"!!null x", ""},
		{"{1: a}", ""}, {"{true: a}", ""}, {"{null: a}", ""}, {"{[a]: b}", ""}, {"{<<: [1]}", ""},
	}
	for _, tt := range tests {
		r := load("version: 1\nschedules:\n  a:\n    schedule: '@daily'\n    job: x\n    args: " + tt.yaml + "\n")
		if tt.want == "" {
			if len(r.Problems) != 1 || r.Problems[0].Code != "E004" && r.Problems[0].Code != "E001" {
				t.Errorf("%s: want one E004, got\n%s", tt.yaml, report(r))
			}
			continue
		}
		if len(r.Definitions) != 1 {
			t.Errorf("%s: %s", tt.yaml, report(r))
			continue
		}
		got := string(r.Definitions[0].Args)
		if got != tt.want || !json.Valid([]byte(got)) {
			t.Errorf("%s became %s, want %s", tt.yaml, got, tt.want)
		}
	}
}

func TestArgProblemsPointIntoArgs(t *testing.T) {
	text := `version: 1
schedules:
  a:
    schedule: "@daily"
    job: h
    args:
      headers: {Accept: 1}
      list: [x, y]
`
	tests := []struct {
		path         string
		line, column int
	}{
		{"", 7, 7}, {"headers", 7, 7}, {"headers.Accept", 7, 17}, {"list[1]", 8, 17}, {"list[7]", 8, 7}, {"missing", 6, 5},
	}
	for _, tt := range tests {
		opt := Options{CheckArgs: func(string, json.RawMessage) []ArgProblem { return []ArgProblem{{Path: tt.path, Message: "wrong"}} }}
		r := Load([]Source{{Name: "a", Data: []byte(text)}}, opt)
		if len(r.Problems) != 1 || r.Problems[0].Line != tt.line || r.Problems[0].Column != tt.column {
			t.Errorf("path %q: want %d:%d, got %s", tt.path, tt.line, tt.column, report(r))
		}
		if want := strings.TrimSuffix("schedules.a.args."+tt.path, "."); r.Problems[0].Path != want {
			t.Errorf("path is %q, want %q", r.Problems[0].Path, want)
		}
	}
}
