package proctest

import (
	"os/exec"
	"strings"
	"testing"
)

const module = "github.com/bide-go/bide/"

// deps lists all packages that those given pull in, themselves included.
func deps(t *testing.T, packages ...string) []string {
	t.Helper()
	out, err := exec.Command("go", append([]string{"list", "-deps"}, packages...)...).Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	return strings.Fields(string(out))
}

// A library user gets the Redis driver, the logger, uuid and the cron parser, and
// nothing of what only the binary needs.
func TestWhatALibraryUserGets(t *testing.T) {
	t.Parallel()
	// Neither the driver nor the logger imports net/http, so it can be forbidden
	// outright. The logger's console writer brings two small packages that colour
	// a terminal, which nobody can help.
	forbidden := []string{
		"net/http", "html/template", "os/exec", "testing",
		"github.com/urfave/", "github.com/prometheus/", "go.yaml.in/", "gopkg.in/yaml",
		"github.com/jedib0t/", "github.com/alicebob/", "github.com/yuin/gopher-lua",
		module + "internal/app", module + "internal/cli", module + "internal/redistest", module + "internal/schedulefile", module + "worker/bundled",
	}
	for _, pkg := range []string{"job", "scripts", "scheduler", "promoter", "dispatcher", "worker"} {
		for _, dep := range deps(t, module+pkg) {
			for _, prefix := range forbidden {
				if dep == prefix || strings.HasPrefix(dep, strings.TrimSuffix(prefix, "/")+"/") {
					t.Errorf("package %s pulls in %s", pkg, dep)
				}
			}
		}
	}
}

// Roles meet in Redis: none knows another, and job knows nobody.
func TestImportsPointOneWay(t *testing.T) {
	t.Parallel()
	roles := []string{"scheduler", "promoter", "dispatcher", "worker"}
	for _, test := range []struct {
		pkg string
		not []string
	}{
		{"job", append([]string{"scripts", "internal/clock"}, roles...)},
		{"scripts", roles},
		{"scheduler", []string{"promoter", "dispatcher", "worker"}},
		{"promoter", []string{"scheduler", "dispatcher", "worker"}},
		{"dispatcher", []string{"scheduler", "promoter", "worker"}},
		{"worker", []string{"scheduler", "promoter", "dispatcher", "scripts"}},
	} {
		for _, dep := range deps(t, module+test.pkg) {
			for _, not := range test.not {
				if dep == module+not {
					t.Errorf("package %s pulls in %s", test.pkg, not)
				}
			}
		}
	}
}
