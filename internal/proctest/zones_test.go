package proctest

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// The program brings its own time zones: it knows them where there are no files but
// itself.
func TestNoZoneFiles(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	text, err := os.ReadFile(program(t))
	if err != nil {
		t.Fatal(err)
	}
	// A process that another test starts meanwhile must not have the file open for
	// writing: while it has, nobody can execute it.
	syscall.ForkLock.RLock()
	err = os.WriteFile(filepath.Join(root, "bide"), text, 0o700) //nolint:gosec // a program
	syscall.ForkLock.RUnlock()
	if err != nil {
		t.Fatal(err)
	}
	const entry = `
  s: { schedule: "30 1 * * *", timeZone: %s, job: log, args: { message: hi } }
`
	for _, test := range []struct {
		zone string
		code int
		says string
	}{{"Europe/Berlin", 0, ""}, {"Mars/Base", 3, "error E014"}} {
		write(t, filepath.Join(root, "schedules.yaml"), fmt.Sprintf(entry, test.zone))
		cmd := exec.Command("/bide", "check", "/schedules.yaml")
		cmd.Env = []string{"ZONEINFO="}
		cmd.SysProcAttr = &syscall.SysProcAttr{Chroot: root, Pdeathsig: syscall.SIGKILL}
		if os.Geteuid() != 0 { // whoever is not root may be in a user namespace of his own
			cmd.SysProcAttr.Cloneflags = syscall.CLONE_NEWUSER
			cmd.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{HostID: os.Geteuid(), Size: 1}}
		}
		out, err := cmd.CombinedOutput()
		if errors.Is(err, syscall.EPERM) || errors.Is(err, syscall.EACCES) {
			if os.Getenv("BIDE_NEED_REDIS") != "" { // where nothing may be left out
				t.Fatalf("the root cannot be changed: %v", err)
			}
			t.Skipf("left out: this machine lets nobody change the root: %v", err)
		}
		if got := cmd.ProcessState.ExitCode(); got != test.code || !strings.Contains(string(out), test.says) {
			t.Errorf("check of %s: exit code %d, want %d that says %q (%v)\n%s", test.zone, got, test.code, test.says, err, out)
		}
	}
}
