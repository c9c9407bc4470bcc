package main

import (
	"os"
	"strings"
	"testing"
)

// Every mutant still fits the code, and the page tells of all of them.
func TestMutantsFit(t *testing.T) {
	root := "../../.."
	page, err := os.ReadFile(root + "/docs/reliability.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range mutants {
		for _, e := range m.edits {
			text, err := os.ReadFile(root + "/" + e.file)
			if err != nil {
				t.Errorf("%s: %v", m.name, err)
				continue
			}
			if n := strings.Count(string(text), e.old); n != 1 {
				t.Errorf("%s: %q stands %d times in %s, want once", m.name, e.old, n, e.file)
			}
		}
		if !strings.Contains(string(page), "\n| "+m.name+" | ") {
			t.Errorf("docs/reliability.md does not tell of %q", m.name)
		}
	}
}
