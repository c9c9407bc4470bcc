package cli

import (
	"os"
	"os/user"
	"strings"
)

// caller says who runs this command: BIDE_USER, or user@host.
func (p *program) caller() string {
	name := p.env.Getenv("BIDE_USER")
	if name == "" {
		who := p.env.Getenv("USER")
		if u, err := user.Current(); err == nil && u.Username != "" {
			who = u.Username
		}
		if who == "" {
			who = "unknown"
		}
		host, err := os.Hostname()
		if err != nil || host == "" {
			host = "unknown"
		}
		name = who + "@" + host
	}
	const most = 200
	name = strings.ToValidUTF8(name, "\uFFFD")
	if len(name) > most {
		name = strings.ToValidUTF8(name[:most], "")
	}
	return name
}
