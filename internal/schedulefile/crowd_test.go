package schedulefile

import (
	"fmt"
	"strings"
	"testing"
)

// crowdOf makes n entries with the given fields.
func crowdOf(prefix string, n int, fields string) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "  %s%d: {job: x, %s}\n", prefix, i+1, fields)
	}
	return b.String()
}

func TestCrowds(t *testing.T) {
	const head = "version: 1\nschedules:\n"
	tests := []struct {
		name  string
		files []string
		want  []string // place and the beginning of each W107
	}{
		{"five are none", []string{head + crowdOf("a", 5, "schedule: '@daily'")}, nil},
		{"six are one", []string{head + crowdOf("a", 6, "schedule: '@daily'")}, []string{
			"a.yaml:8 6 schedules are due at 2026-12-01 00:00 UTC without a jitter: a1, a2, a3, a4 and 2 more",
		}},
		{"over all files, at the one too many", []string{head + crowdOf("a", 3, "schedule: '0 0 * * *'"), head + crowdOf("b", 4, "schedule: '@daily'")}, []string{
			"b.yaml:5 7 schedules are due at 2026-12-01 00:00 UTC without a jitter: a1, a2, a3, b1 and 3 more",
		}},
		{"at one instant in other zones", []string{head + crowdOf("a", 3, "schedule: '0 9 * * *', timeZone: Europe/Berlin") + crowdOf("b", 3, "schedule: '30 13 * * *', timeZone: Asia/Kolkata")}, []string{
			"a.yaml:8 6 schedules are due at 2026-12-01 08:00 UTC without a jitter: a1, a2, a3, b1 and 2 more",
		}},
		{"at one wall time in other zones", []string{head + crowdOf("a", 3, "schedule: '0 9 * * *', timeZone: Europe/Berlin") + crowdOf("b", 3, "schedule: '0 9 * * *'")}, nil},
		{"with jitter", []string{head + crowdOf("a", 5, "schedule: '@daily'") + crowdOf("b", 5, "schedule: '@daily', jitter: 5m")}, nil},
		{"with default jitter", []string{"defaults: {jitter: 5m}\n" + head + crowdOf("a", 9, "schedule: '@daily'")}, nil},
		{"suspended", []string{head + crowdOf("a", 9, "schedule: '@daily', suspend: true, description: no")}, nil},
		{"all the time", []string{head + crowdOf("a", 9, "schedule: '@every 10s'") + crowdOf("b", 9, "schedule: '*/4 * * * *'")}, nil},
		{"in other minutes", []string{head + crowdOf("a", 5, "schedule: '0 0 * * *'") + crowdOf("b", 5, "schedule: '1 0 * * *'")}, nil},
		{"within a minute", []string{head + crowdOf("a", 3, "schedule: '@daily'") + crowdOf("b", 3, "schedule: '@every 12h'")}, []string{
			"a.yaml:8 6 schedules are due at 2026-12-01 00:00 UTC",
		}},
		{"on other days", []string{head + crowdOf("a", 4, "schedule: '0 0 * * MON'") + crowdOf("b", 4, "schedule: '0 0 * * TUE'")}, nil},
		{"bad ones", []string{head + crowdOf("a", 5, "schedule: '@daily'") + crowdOf("b", 3, "schedule: '@daily', catchUp: x")}, nil},
		{"after their windows", []string{head + crowdOf("a", 9, "schedule: '@daily', endAt: 2026-11-30T12:00:00Z")}, nil},
		{"before their windows", []string{head + crowdOf("a", 6, "schedule: '@daily', startAt: 2029-12-01T00:00:00Z")}, []string{
			"a.yaml:8 6 schedules are due at 2029-12-01 00:00 UTC",
		}},
		{"two crowds", []string{head + crowdOf("a", 7, "schedule: '0 3 * * *'") + crowdOf("b", 6, "schedule: '0 2 * * *'")}, []string{
			"a.yaml:8 7 schedules are due at 2026-12-01 03:00 UTC", "a.yaml:15 6 schedules are due at 2026-12-01 02:00 UTC",
		}},
	}
	for _, tt := range tests {
		r := load(tt.files...)
		var got []string
		for _, p := range r.Problems {
			if p.Code == "W107" {
				got = append(got, fmt.Sprintf("%s:%d %s", p.File, p.Line, p.Message))
			}
		}
		ok := len(got) == len(tt.want)
		for i := range got {
			ok = ok && strings.HasPrefix(got[i], tt.want[i])
		}
		if !ok {
			t.Errorf("%s: got %q\nwant %q", tt.name, got, tt.want)
		}
	}
}
