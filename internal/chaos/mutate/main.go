// Command mutate breaks bide on purpose, one place at a time, in a copy of its source,
// and sees which test notices. It prints a table and exits 1 if a mutant survives.
//
// With -chaos it also lets each mutant run under faults, and tells which rule of the
// checker it breaks.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

func main() {
	only := flag.String("run", "", "only mutants whose name matches this expression")
	underChaos := flag.Duration("chaos", 0, "also run each mutant under faults for so long")
	seed := flag.Int64("seed", 1, "of those faults")
	flag.Parse()
	survivors, err := run(*only, *underChaos, *seed)
	if err != nil {
		fmt.Fprintln(os.Stderr, "mutate:", err)
		os.Exit(2)
	}
	if survivors > 0 {
		fmt.Fprintf(os.Stderr, "mutate: %d mutants survive: tests are missing\n", survivors)
		os.Exit(1)
	}
}

func run(only string, underChaos time.Duration, seed int64) (survivors int, err error) {
	pattern, err := regexp.Compile(only)
	if err != nil {
		return 0, err
	}
	dir, err := os.MkdirTemp("", "mutate")
	if err != nil {
		return 0, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	if err := copyTree(dir); err != nil {
		return 0, err
	}
	fmt.Println("| broken on purpose | noticed by | in |")
	fmt.Println("| --- | --- | --- |")
	for _, m := range mutants {
		if !pattern.MatchString(m.name) {
			continue
		}
		restore, err := m.apply(dir)
		if err != nil {
			return survivors, err
		}
		noticed, took, err := m.test(dir)
		rule := ""
		if err == nil && underChaos > 0 {
			rule, err = chaosRule(dir, underChaos, seed)
		}
		restore()
		if err != nil {
			return survivors, fmt.Errorf("%s: %w", m.name, err)
		}
		by := strings.Join(noticed, ", ")
		if len(noticed) == 0 {
			survivors++
			by = "NOTHING"
		}
		if rule != "" {
			by += "; chaos: " + rule
		}
		fmt.Printf("| %s | %s | %v |\n", m.name, by, took.Round(100*time.Millisecond))
	}
	return survivors, nil
}

// copyTree copies what git knows of, and what it would, into dir.
func copyTree(dir string) error {
	out, err := exec.CommandContext(context.Background(), "git", "ls-files", "--cached", "--others", "--exclude-standard", "-z").Output()
	if err != nil {
		return fmt.Errorf("git ls-files: %w", err)
	}
	for name := range strings.SplitSeq(strings.TrimRight(string(out), "\x00"), "\x00") {
		data, err := os.ReadFile(name)
		if os.IsNotExist(err) {
			continue // removed, and not committed yet
		}
		if err != nil {
			return err
		}
		to := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
			return err
		}
		info, err := os.Stat(name)
		if err != nil {
			return err
		}
		if err := os.WriteFile(to, data, info.Mode().Perm()); err != nil {
			return err
		}
	}
	return nil
}

// apply changes the copy in dir. restore undoes it.
func (m mutant) apply(dir string) (restore func(), err error) {
	was := map[string][]byte{}
	restore = func() {
		for path, data := range was {
			_ = os.WriteFile(path, data, 0o600)
		}
	}
	for _, e := range m.edits {
		path := filepath.Join(dir, e.file)
		data, err := os.ReadFile(path)
		if err != nil {
			restore()
			return nil, err
		}
		if n := strings.Count(string(data), e.old); n != 1 {
			restore()
			return nil, fmt.Errorf("%s: %q stands %d times in %s, want once: the code has changed, change the mutant with it", m.name, e.old, n, e.file)
		}
		if _, ok := was[path]; !ok {
			was[path] = data
		}
		if err := os.WriteFile(path, []byte(strings.Replace(string(data), e.old, e.new, 1)), 0o600); err != nil {
			restore()
			return nil, err
		}
	}
	return restore, nil
}

var failedTest = regexp.MustCompile(`(?m)^--- FAIL: (\w+)`)

// test runs the tests that ought to notice, and returns those that did.
func (m mutant) test(dir string) (noticed []string, took time.Duration, err error) {
	begun := time.Now()
	cmd := exec.CommandContext(context.Background(), "go", "test", "-trimpath", m.pkg, "-run", "^("+m.tests+")$", "-count=1", "-timeout=120s")
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	took = time.Since(begun)
	if err == nil {
		if strings.Contains(string(out), "no tests to run") {
			return nil, took, fmt.Errorf("no test is called %s", m.tests)
		}
		return nil, took, nil
	}
	for _, found := range failedTest.FindAllStringSubmatch(string(out), -1) {
		noticed = append(noticed, found[1])
	}
	switch {
	case strings.Contains(string(out), "[build failed]"):
		return nil, took, fmt.Errorf("it does not build:\n%s", out)
	case len(noticed) == 0 && strings.Contains(string(out), "panic: test timed out"):
		noticed = []string{m.tests + " (does not end)"}
	case len(noticed) == 0:
		return nil, took, fmt.Errorf("the tests did not run:\n%s", out)
	}
	return noticed, took, nil
}

// chaosRule runs the mutant under faults and returns the first rule that it breaks.
func chaosRule(dir string, d time.Duration, seed int64) (string, error) {
	build := exec.CommandContext(context.Background(), "go", "build", "-tags", "chaos", "-o", "bin/chaos", "./internal/chaos/cmd")
	build.Dir = dir
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build the harness: %w\n%s", err, out)
	}
	cmd := exec.CommandContext(context.Background(), "bin/chaos", "-duration", d.String(), "-seed", fmt.Sprint(seed))
	cmd.Dir = dir
	tmp, err := os.MkdirTemp(dir, "run") // gone with the copy
	if err != nil {
		return "", err
	}
	cmd.Env = append(os.Environ(), "TMPDIR="+tmp)
	out, err := cmd.CombinedOutput()
	if err == nil {
		return "nothing", nil
	}
	// The violations stand behind the tables, the shortest first.
	var rules []string
	for line := range strings.Lines(string(out)) {
		rule, _, ok := strings.Cut(line, ": ")
		if ok && !strings.HasPrefix(line, " ") && !strings.HasPrefix(line, "|") && known(rule) && !strings.Contains(strings.Join(rules, "; "), rule) {
			rules = append(rules, rule)
		}
	}
	if len(rules) == 0 {
		return "", fmt.Errorf("the run under faults failed: %w\n%s", err, out)
	}
	return strings.Join(rules, "; "), nil
}
