package cli

import (
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/urfave/cli/v2"
)

// What the build says of itself. A release sets them:
//
//	-ldflags "-X github.com/bide-go/bide/internal/cli.version=1.2.3 -X …cli.revision=… -X …cli.built=…"
var (
	version  string
	revision string
	built    string
)

// nextVersion is what a build that nobody gave a version is on its way to.
const nextVersion = "0.1.0"

// buildVersion is the JSON of version.
type buildVersion struct {
	Version  string `json:"version"`
	Revision text   `json:"revision"`
	Built    text   `json:"built"`
	Go       string `json:"go"`
	OS       string `json:"os"`
	Arch     string `json:"arch"`
}

func readVersion() buildVersion {
	b := buildVersion{
		Version: version, Revision: text(revision), Built: text(built),
		Go: runtime.Version(), OS: runtime.GOOS, Arch: runtime.GOARCH,
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		info = &debug.BuildInfo{}
	}
	modified := false
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			if revision == "" {
				b.Revision = text(s.Value)
			}
		case "vcs.time":
			if built == "" {
				b.Built = text(s.Value)
			}
		case "vcs.modified":
			modified = s.Value == "true"
		}
	}
	if modified && revision == "" && b.Revision != "" {
		b.Revision += "+changes"
	}
	if b.Version == "" {
		b.Version = moduleVersion(info.Main.Version)
	}
	return b
}

// moduleVersion is the version of a tagged module, as "go install …@v1.2.3" builds
// it, and nextVersion for anything else.
func moduleVersion(main string) string {
	tag, isTag := strings.CutPrefix(main, "v")
	if !isTag || strings.ContainsAny(tag, "-+") {
		return nextVersion
	}
	return tag
}

func (p *program) versionCommand() *cli.Command {
	return &cli.Command{
		Name: "version", Usage: "show the version of this program",
		Action: func(c *cli.Context) error {
			if err := noArguments(c); err != nil {
				return err
			}
			b := readVersion()
			if p.set.json {
				return p.writeJSON(b)
			}
			return p.pairs([]pair{
				{"version", plain(b.Version)}, {"revision", plain(string(b.Revision))}, {"built", plain(string(b.Built))},
				{"go", plain(b.Go)}, {"platform", plain(b.OS + "/" + b.Arch)},
			})
		},
	}
}

// noArguments refuses arguments of a command that takes none.
func noArguments(c *cli.Context) error {
	if c.NArg() == 0 {
		return nil
	}
	return usage(c.Command.HelpName+" takes no arguments, and there is \""+c.Args().First()+"\"", "see "+c.Command.HelpName+" --help")
}
