package job

import (
	"errors"
	"strings"
	"testing"
)

func TestNames(t *testing.T) {
	x := strings.Repeat
	for _, c := range []struct {
		rule      string
		check     func(string) error
		good, bad []string
	}{
		{"name", CheckName, []string{"a", "A0", "send-email", "a:b.c_d/e-f", "0", x("n", 200)},
			[]string{"", x("n", 201), "-a", ".a", "/a", "a b", "a\tb", "a\n", "é", "a{b}", "a\x00", "a@b"}},
		{"queue", CheckQueue, []string{"a", "high", "a_b-c", "9", x("q", 64), "delayed", "a-delayed-b"},
			[]string{"", x("q", 65), "A", "a-", "-a", "_a", "a_", "a.b", "a:b", "high-delayed", "-delayed", "a b", "a\n"}},
		{"schedule", CheckSchedule, []string{"a", "a.b_c-d", "9", x("s", 100)}, []string{"", x("s", 101), "A", "a-", ".a", "a@b", "a:b", "a\n"}},
		{"namespace", CheckNamespace, []string{"a", "bide", "a-", "9-a", x("n", 32)}, []string{"", x("n", 33), "-a", "A", "a_b", "{a}", "a}", "a\n"}},
		{"id", CheckID, []string{"a", "A.b_c:d-e", "9", x("i", 128)},
			[]string{"", x("i", 129), "a@b", "-a", ":a", "a b", "a/b", "a\n", "é", "a\x00b"}},
		{"unique", CheckUnique, []string{"", "a", "two words", "é漢😀", x("u", MaxUnique), "{x}"},
			[]string{x("u", MaxUnique+1), "a\tb", "a\nb", "\x00", "\xff", "a\u0085b"}},
	} {
		for _, s := range c.good {
			if err := c.check(s); err != nil {
				t.Errorf("%s %q: %v", c.rule, s, err)
			}
		}
		for _, s := range c.bad {
			err := c.check(s)
			var invalid *InvalidError
			if !errors.As(err, &invalid) || invalid.Field == "" || invalid.Rule == "" {
				t.Errorf("%s %q: %v, want an InvalidError", c.rule, s, err)
				continue
			}
			if len(err.Error()) > 1000 {
				t.Errorf("%s: an error of %d bytes", c.rule, len(err.Error()))
			}
		}
	}
}
