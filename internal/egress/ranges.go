package egress

import "net/netip"

// refused are the ranges that nothing allows.
var refused = []struct {
	prefix netip.Prefix
	why    string
}{
	{netip.MustParsePrefix("169.254.0.0/16"), linkLocal},
	{netip.MustParsePrefix("fe80::/10"), linkLocal},
	// Metadata and other services of a cloud's host outside of the link-local
	// range: Amazon, Google, Alibaba, Oracle, Azure.
	{netip.MustParsePrefix("fd00:ec2::/32"), metadata},
	{netip.MustParsePrefix("fd20:ce::254/128"), metadata},
	{netip.MustParsePrefix("100.100.100.200/32"), metadata},
	{netip.MustParsePrefix("192.0.0.192/32"), metadata},
	{netip.MustParsePrefix("168.63.129.16/32"), metadata},
	{netip.MustParsePrefix("224.0.0.0/4"), "it is a multicast address"},
	{netip.MustParsePrefix("ff00::/8"), "it is a multicast address"},
	{netip.MustParsePrefix("255.255.255.255/32"), "it is the broadcast address"},
	// Connecting to an unspecified address reaches this host.
	{netip.MustParsePrefix("0.0.0.0/8"), "it is an unspecified address"},
	{netip.MustParsePrefix("::/128"), "it is an unspecified address"},
}

const (
	linkLocal = "it is a link-local address, where clouds serve metadata"
	metadata  = "it is where a cloud serves metadata"
)

func never(a netip.Addr) string {
	for _, r := range refused {
		if r.prefix.Contains(a) {
			return r.why
		}
	}
	return ""
}

// carriers are the ranges of IPv6 addresses that carry IPv4 ones, and the bytes in
// which those stand. The kernel, a gateway or a tunnel may deliver to them.
var carriers = []struct {
	prefix netip.Prefix
	bytes  [][4]int
}{
	{netip.MustParsePrefix("::/96"), [][4]int{{12, 13, 14, 15}}},           // IPv4-compatible
	{netip.MustParsePrefix("::ffff:0:0:0/96"), [][4]int{{12, 13, 14, 15}}}, // IPv4-translated
	{netip.MustParsePrefix("64:ff9b::/96"), [][4]int{{12, 13, 14, 15}}},    // NAT64
	// NAT64 of a site, whose prefix may have 48, 56, 64 or 96 bits.
	{netip.MustParsePrefix("64:ff9b:1::/48"), [][4]int{{6, 7, 9, 10}, {7, 9, 10, 11}, {9, 10, 11, 12}, {12, 13, 14, 15}}},
	{netip.MustParsePrefix("2002::/16"), [][4]int{{2, 3, 4, 5}}}, // 6to4
	{netip.MustParsePrefix("2001::/32"), [][4]int{{4, 5, 6, 7}}}, // Teredo: the server
}

var teredo = netip.MustParsePrefix("2001::/32")

// embedded lists the IPv4 addresses that a may lead to if it is an IPv6 one.
func embedded(a netip.Addr) []netip.Addr {
	if !a.Is6() || a.IsLoopback() || a.IsUnspecified() {
		return nil
	}
	b := a.As16()
	var list []netip.Addr
	for _, c := range carriers {
		if c.prefix.Contains(a) {
			for _, at := range c.bytes {
				// Zeros are what the other lengths of a prefix have there.
				if b[at[0]] != 0 {
					list = append(list, netip.AddrFrom4([4]byte{b[at[0]], b[at[1]], b[at[2]], b[at[3]]}))
				}
			}
		}
	}
	if teredo.Contains(a) { // the client, with each bit turned
		list = append(list, netip.AddrFrom4([4]byte{^b[12], ^b[13], ^b[14], ^b[15]}))
	}
	if b[8]&^2 == 0 && b[9] == 0 && b[10] == 0x5e && b[11] == 0xfe { // ISATAP
		list = append(list, netip.AddrFrom4([4]byte(b[12:])))
	}
	return list
}
