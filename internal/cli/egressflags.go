package cli

import (
	"fmt"
	"net/netip"
	"net/url"
	"strings"
)

// prefixes reads networks: lists, and flags given several times. A single address
// is a network of its own.
func (v *values) prefixes(flag string) []netip.Prefix {
	texts, from := v.c.StringSlice(flag), "--"+flag
	if len(texts) == 0 {
		from = variable(flag)
		if text := v.getenv(from); text != "" {
			texts = []string{text}
		}
	}
	var list []netip.Prefix
	for _, text := range texts {
		for part := range strings.SplitSeq(text, ",") {
			part = strings.TrimSpace(part)
			prefix, err := netip.ParsePrefix(part)
			if addr, addrErr := netip.ParseAddr(part); addrErr == nil && addr.Zone() == "" {
				prefix, err = netip.PrefixFrom(addr, addr.BitLen()), nil
			}
			switch {
			case err != nil:
				v.refuse(from, fmt.Sprintf("%q is not a network such as 10.0.0.0/8 or fd00::/8", part))
			case prefix != prefix.Masked():
				v.refuse(from, fmt.Sprintf("%s has bits behind its length; write %s", part, prefix.Masked()))
			default:
				list = append(list, prefix)
			}
		}
	}
	return list
}

// proxy reads the URL of the proxy for jobs of the handler http. It has no flag,
// because it may hold a password.
func (v *values) proxy(name string) *url.URL {
	text := v.getenv(name)
	if text == "" {
		return nil
	}
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" {
		v.refuse(name, "it is not an http or https URL with a host") // the text may hold a password
		return nil
	}
	return u
}
