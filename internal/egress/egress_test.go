package egress

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"strings"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func prefixes(texts ...string) (list []netip.Prefix) {
	for _, text := range texts {
		list = append(list, netip.MustParsePrefix(text))
	}
	return list
}

func TestCheck(t *testing.T) {
	const yes = ""
	for _, tt := range []struct {
		name  string
		rules Rules
		addrs string
		want  string // part of the refusal
	}{
		{"the internet, inner networks and this host", Rules{},
			"1.1.1.1 8.8.8.8 10.0.0.1 172.16.3.4 192.168.0.1 100.64.0.1 127.0.0.1 127.8.8.8 ::1 2606:4700::1111 fd12:3456::1 fc00::1 64:ff9b::101:101 64:ff9b:1::808:808 2002:101:101::1 2001:0:101:101::1 ::ffff:127.0.0.1", yes},
		{"link-local", Rules{}, "169.254.169.254 169.254.0.1 169.254.170.2 fe80::1 fe80::a9fe:a9fe febf::1 fe80::1%eth0", "link-local"},
		{"metadata elsewhere", Rules{}, "fd00:ec2::254 fd00:ec2::23 fd20:ce::254 100.100.100.200 192.0.0.192 168.63.129.16", "metadata"},
		{"link-local, as an IPv6 address", Rules{},
			"::ffff:169.254.169.254 ::ffff:a9fe:a9fe ::169.254.169.254 ::ffff:0:169.254.169.254 64:ff9b::169.254.169.254 64:ff9b::a9fe:a9fe " +
				"64:ff9b:1::169.254.169.254 64:ff9b:1:a9fe:a9:fe00:: 64:ff9b:1:a9:fe:a9fe:: 64:ff9b:1:0:a9:fea9:fe00:0 2002:a9fe:a9fe:: 2002:a9fe:a9fe::1 2001:0:a9fe:a9fe::1 2001::5601:5601 " +
				"2606:4700::5efe:169.254.169.254 2606:4700::200:5efe:a9fe:a9fe ::ffff:169.254.169.254%eth0", "link-local"},
		{"multicast", Rules{}, "224.0.0.1 239.255.255.255 ff02::1 ff0e::1 ::ffff:224.0.0.1", "multicast"},
		{"broadcast", Rules{}, "255.255.255.255 ::ffff:255.255.255.255", "broadcast"},
		{"unspecified", Rules{}, "0.0.0.0 0.0.0.1 :: ::ffff:0.0.0.0", "unspecified"},

		{"denied", Rules{Deny: prefixes("127.0.0.0/8", "::1/128", "10.0.0.0/8")},
			"127.0.0.1 ::1 10.1.2.3 ::ffff:10.1.2.3 64:ff9b::10.1.2.3 2002:a01:203::1", "in the denied range"},
		{"not denied", Rules{Deny: prefixes("127.0.0.0/8", "10.0.0.0/8")}, "1.1.1.1 11.0.0.1 ::1 fd12::1", yes},
		{"denied as mapped or with host bits", Rules{Deny: prefixes("::ffff:10.0.0.0/104", "192.168.7.7/16")}, "10.1.2.3 ::ffff:10.1.2.3 192.168.200.1", "in the denied range"},
		{"all IPv6 denied", Rules{Deny: prefixes("::/0")}, "2606:4700::1111 ::1", "in the denied range ::/0"},
		{"and IPv4 with it or not", Rules{Deny: prefixes("::/0")}, "1.1.1.1 ::ffff:1.1.1.1", yes},

		{"allowed", Rules{Allow: prefixes("10.0.0.0/8", "fd12::/16")}, "10.1.2.3 ::ffff:10.1.2.3 fd12::1", yes},
		{"not allowed", Rules{Allow: prefixes("10.0.0.0/8", "fd12::/16")}, "127.0.0.1 11.0.0.1 ::1 fd13::1 64:ff9b::10.1.2.3", "none of the allowed ranges"},
		{"allowed and denied", Rules{Allow: prefixes("10.0.0.0/8"), Deny: prefixes("10.9.0.0/16")}, "10.9.1.1", "in the denied range 10.9.0.0/16"},
		{"what nothing allows", Rules{Allow: prefixes("0.0.0.0/0", "::/0")}, "169.254.169.254 fe80::1 ::ffff:169.254.169.254 fd00:ec2::254", "metadata"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for text := range strings.FieldsSeq(tt.addrs) {
				err := tt.rules.Check(netip.MustParseAddr(text))
				var refused *RefusedError
				switch {
				case tt.want == yes:
					if err != nil {
						t.Errorf("Check(%s) = %v, want nil", text, err)
					}
				case !errors.As(err, &refused) || !strings.Contains(err.Error(), tt.want):
					t.Errorf("Check(%s) = %v, want a refusal that says %q", text, err, tt.want)
				}
			}
		})
	}
}

func TestDialer(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	dial := func(r Rules, network, addr string) error {
		conn, err := r.Dialer().DialContext(context.Background(), network, addr)
		if err == nil {
			conn.Close()
		}
		return err
	}
	if err := dial(Rules{}, "tcp", listener.Addr().String()); err != nil {
		t.Errorf("dial = %v, want nil", err)
	}
	var refused *RefusedError
	if err := dial(Rules{Deny: prefixes("127.0.0.0/8")}, "tcp", listener.Addr().String()); !errors.As(err, &refused) {
		t.Errorf("dial of a denied address = %v, want a refusal", err)
	}
	_, port, _ := net.SplitHostPort(listener.Addr().String())
	for _, host := range []string{"0.0.0.0", "[::]", ""} { // all of them reach this host
		err := dial(Rules{}, "tcp", host+":"+port)
		if host != "" && !errors.As(err, &refused) {
			t.Errorf("dial of %q = %v, want a refusal", host, err)
		}
	}
	if err := dial(Rules{}, "udp", "127.0.0.1:53"); err == nil || !strings.Contains(err.Error(), "not allowed") {
		t.Errorf("dial of UDP = %v, want a refusal", err)
	}
}

func FuzzCheck(f *testing.F) {
	f.Add([]byte{169, 254, 169, 254})
	f.Add(make([]byte, 16))
	f.Fuzz(func(t *testing.T, b []byte) {
		addr, ok := netip.AddrFromSlice(b)
		if !ok {
			return
		}
		// What the standard library knows as dangerous is refused.
		ip := addr.Unmap()
		danger := ip.IsLinkLocalUnicast() || ip.IsMulticast() || ip.IsUnspecified() || ip.IsLinkLocalMulticast()
		if err := (Rules{}).Check(addr); danger && err == nil {
			t.Errorf("Check(%s) = nil", addr)
		}
	})
}
