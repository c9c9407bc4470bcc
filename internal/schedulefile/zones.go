package schedulefile

import (
	_ "embed"
	"fmt"
	"regexp"
	"sort"
	"strconv"
	"strings"
	"time"
	_ "time/tzdata" // so that every name of the list loads, also without a system's zone files

	"github.com/bide-go/bide/internal/spelling"
)

// zoneList holds the names of the zones in time/tzdata, which has no function
// that lists them: one a line, sorted. The test of this file compares it with
// the zone archive of the Go toolchain and writes it anew when run with -update.
//
//go:embed zones.txt
var zoneList string

var zoneNames = strings.Fields(zoneList)

// plainZones are the names as nearZones compares them.
var plainZones = func() (list []string) {
	for _, name := range zoneNames {
		list = append(list, plainZone(name))
	}
	return list
}()

// zone reads the name of a time zone. Only names of the list count, and only as
// they are spelt there: what a system accepts beyond that ("localtime", other
// cases) differs between the machines that must agree on a schedule's ticks.
func (s scope) zone(p pair) string {
	name, ok := s.text(p)
	if !ok {
		return ""
	}
	if isZone(name) {
		if _, err := time.LoadLocation(name); err == nil {
			return name
		}
	}
	if s.src.full(SeverityError) {
		*s.bad = true
		return ""
	}
	message, hint := zoneProblem(name)
	s.fail("E014", p.at(), s.label()+": "+message, hint)
	return ""
}

func isZone(name string) bool {
	i := sort.SearchStrings(zoneNames, name)
	return i < len(zoneNames) && zoneNames[i] == name
}

// offset matches what stands for a fixed distance from UTC, and the POSIX rules
// such as CET-1CEST.
var offset = regexp.MustCompile(`^([A-Za-z]{3,5})?([-+])(\d{1,2})(:?\d\d)?([A-Za-z]{3,5}.*)?$`)

func zoneProblem(name string) (message, hint string) {
	switch {
	case strings.TrimSpace(name) == "":
		return "the zone is empty", `write "UTC", a name such as "Europe/Berlin", or leave the field out`
	case strings.EqualFold(name, "local"):
		return fmt.Sprintf("%s is another zone on each machine", quote(name)), `give its name, such as "Europe/Berlin"`
	}
	if m := offset.FindStringSubmatch(name); m != nil {
		return fmt.Sprintf("%s is an offset, which knows no daylight saving; a zone has a name", quote(name)), offsetHint(m)
	}
	hint = `names are those of the IANA time zone database, such as "Europe/Berlin"`
	if near := nearZones(name); len(near) > 0 {
		hint = "did you mean " + strings.Join(near, " or ") + "?"
	}
	return "unknown time zone " + quote(name), hint
}

// offsetHint names the fixed zone for an offset of whole hours. Those zones
// count the other way round: Etc/GMT-2 is two hours ahead of UTC. So do POSIX
// rules.
func offsetHint(m []string) string {
	hint := `give a name, such as "Europe/Berlin"`
	hours, _ := strconv.Atoi(m[3])
	minutes := strings.Trim(m[4], ":0")
	ahead := m[2] == "+"
	fixed := fmt.Sprintf("Etc/GMT-%d", hours)
	if !ahead {
		fixed = fmt.Sprintf("Etc/GMT+%d", hours)
	}
	if m[5] == "" && minutes == "" && isZone(fixed) {
		hint += fmt.Sprintf(", or %q for exactly this offset", fixed)
	}
	return hint
}

// nearZones lists up to three quoted names: those that differ in spelling only,
// then those with the same city, then those that are nearly the same.
func nearZones(name string) []string {
	if len(name) > 60 {
		return nil
	}
	word := plainZone(name)
	tiers := make([][]string, 3)
	for i, z := range zoneNames {
		other := plainZones[i]
		switch {
		case other == word:
			tiers[0] = append(tiers[0], z)
		case other[strings.LastIndex(other, "/")+1:] == word[strings.LastIndex(word, "/")+1:]:
			tiers[1] = append(tiers[1], z)
		case nearCity(word, other):
			tiers[2] = append(tiers[2], z)
		}
	}
	var near []string
	for _, tier := range tiers {
		if len(near) == 0 {
			for _, z := range tier[:min(3, len(tier))] {
				near = append(near, strconv.Quote(z))
			}
		}
	}
	return near
}

var zoneSpelling = strings.NewReplacer(" ", "", "_", "", "-", "")

// plainZone takes the spelling out of a zone's name.
func plainZone(name string) string { return strings.ToLower(zoneSpelling.Replace(name)) }

// nearCity compares a misspelt name with a whole one, or with its city.
func nearCity(word, zone string) bool {
	if !strings.Contains(word, "/") {
		zone = zone[strings.LastIndex(zone, "/")+1:]
	}
	return len(word) > 3 && spelling.Distance(word, zone) <= min(2, slips(word))
}
