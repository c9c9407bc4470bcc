package chaos_test

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/bide-go/bide/internal/chaos"
)

// The code in docs/reliability.md is the code that an example runs, and the rules it
// names are those that the checker knows.
func TestThePageSaysWhatIsTested(t *testing.T) {
	page, err := os.ReadFile("../../docs/reliability.md")
	if err != nil {
		t.Fatal(err)
	}
	example, err := os.ReadFile("../../worker/idempotent_example_test.go")
	if err != nil {
		t.Fatal(err)
	}
	blocks := regexp.MustCompile("(?s)```go\n(.*?)```").FindAllStringSubmatch(string(page), -1)
	if len(blocks) == 0 {
		t.Error("the page has no code")
	}
	for _, b := range blocks {
		if !strings.Contains(string(example), b[1]) {
			t.Errorf("not in the example that runs:\n%s", b[1])
		}
	}
	words := strings.Join(strings.Fields(string(page)), " ")
	for _, rule := range chaos.Rules {
		if !strings.Contains(words, rule) {
			t.Errorf("the page does not name the rule %q", rule)
		}
	}
}
