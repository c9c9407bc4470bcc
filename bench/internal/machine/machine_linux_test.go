package machine

import (
	"os/exec"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

func TestParseStat(t *testing.T) {
	got := parseStat("cpu  1000 200 300 9000 50 10 40 70 5 5\ncpu0 1 2 3\n")
	if want := (Busy{All: 15.5, Steal: 0.7}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

func TestParseProcess(t *testing.T) {
	text := "42 (a name) of) S 1 42 42 0 -1 4194560 100 0 0 0 250 50 0 0 20 0 8 0 100 1000 10"
	if got := parseProcess(text); got != 3 {
		t.Errorf("got %v s, want 3", got)
	}
	if got := parseProcess("42 (gone) Z"); got != 0 {
		t.Errorf("of a torn line: got %v s, want 0", got)
	}
}

func TestStartPlacesTheChildAndNobodyElse(t *testing.T) {
	var before, after unix.CPUSet
	if err := unix.SchedGetaffinity(0, &before); err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	cmd := exec.Command("sed", "-n", "s/^Cpus_allowed_list:[[:space:]]*//p", "/proc/self/status")
	cmd.Stdout = &out
	if err := Start(cmd, 0); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Fatal(err)
	}
	if strings.ContainsAny(out.String(), ",-") {
		t.Errorf("the child may use cores %s, want one", out.String())
	}
	if err := unix.SchedGetaffinity(0, &after); err != nil || after != before {
		t.Errorf("this process was moved: %v, %v, %v", before, after, err)
	}
}
