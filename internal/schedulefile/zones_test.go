package schedulefile

import (
	"archive/zip"
	"os"
	"os/exec"
	"path/filepath"
	"sort"
	"strings"
	"testing"
	"time"
)

// The list is what the toolchain's own archive holds. Another Go release may
// have other zones: run this test with -update then.
func TestZoneListIsThatOfTheToolchain(t *testing.T) {
	root, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		t.Fatalf("go env: %v", err)
	}
	archive, err := zip.OpenReader(filepath.Join(strings.TrimSpace(string(root)), "lib", "time", "zoneinfo.zip"))
	if err != nil {
		t.Fatalf("the toolchain has no zone archive: %v", err)
	}
	defer archive.Close()
	var names []string
	for _, f := range archive.File {
		// Factory is the placeholder of a machine whose zone nobody has set.
		if !strings.HasSuffix(f.Name, "/") && f.Name != "Factory" {
			names = append(names, f.Name)
		}
	}
	sort.Strings(names)
	want := strings.Join(names, "\n") + "\n"
	if *update {
		if err := os.WriteFile("zones.txt", []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		zoneList = want
	}
	if zoneList != want {
		t.Errorf("zones.txt has %d zones, the toolchain %d; run with -update", len(zoneNames), len(names))
	}
}

func TestEveryListedZoneLoads(t *testing.T) {
	if len(zoneNames) < 400 || !sort.StringsAreSorted(zoneNames) {
		t.Fatalf("zones.txt has %d names, sorted %v", len(zoneNames), sort.StringsAreSorted(zoneNames))
	}
	for _, name := range zoneNames {
		if _, err := time.LoadLocation(name); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestZoneProblem(t *testing.T) {
	tests := []struct{ name, message, hint string }{
		{"europe/berlin", `unknown time zone "europe/berlin"`, `did you mean "Europe/Berlin"?`},
		{"Berlin", `unknown time zone "Berlin"`, `did you mean "Europe/Berlin"?`},
		{"Europe/Berln", `unknown time zone "Europe/Berln"`, `did you mean "Europe/Berlin"?`},
		{"US/New York", `unknown time zone "US/New York"`, `did you mean "America/New_York"?`},
		{"utc", `unknown time zone "utc"`, `did you mean "UTC"?`},
		{"localtime", `unknown time zone "localtime"`, `names are those of the IANA time zone database, such as "Europe/Berlin"`},
		{"", "the zone is empty", `write "UTC", a name such as "Europe/Berlin", or leave the field out`},
		{"Local", `"Local" is another zone on each machine`, `give its name, such as "Europe/Berlin"`},
		{"+02:00", `"+02:00" is an offset, which knows no daylight saving; a zone has a name`, `give a name, such as "Europe/Berlin", or "Etc/GMT-2" for exactly this offset`},
		{"UTC-5", `"UTC-5" is an offset, which knows no daylight saving; a zone has a name`, `give a name, such as "Europe/Berlin", or "Etc/GMT+5" for exactly this offset`},
		{"+0530", `"+0530" is an offset, which knows no daylight saving; a zone has a name`, `give a name, such as "Europe/Berlin"`},
		{"CET-1CEST", `"CET-1CEST" is an offset, which knows no daylight saving; a zone has a name`, `give a name, such as "Europe/Berlin"`},
	}
	for _, tt := range tests {
		if isZone(tt.name) {
			t.Errorf("%q counts as a zone", tt.name)
		}
		message, hint := zoneProblem(tt.name)
		if message != tt.message || hint != tt.hint {
			t.Errorf("%q: got  %s; %s\nwant %s; %s", tt.name, message, hint, tt.message, tt.hint)
		}
	}
}
