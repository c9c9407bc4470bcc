// Package egress decides where bide may connect to when a job, a channel or a ping
// names the place. Names are resolved by others and may resolve to anything, so the
// check is made on the address of each connection, after resolving and just before
// connecting.
package egress

import (
	"fmt"
	"net"
	"net/netip"
	"strings"
	"syscall"
	"time"
)

// ConnectTimeout bounds resolving a name and connecting.
const ConnectTimeout = 5 * time.Second

// Rules say which addresses are allowed beyond those that never are: link-local
// ones and the others under which clouds serve metadata, multicast, broadcast and
// unspecified ones. The zero value allows all the rest.
type Rules struct {
	// Allow, if not empty, are the only ranges allowed.
	Allow []netip.Prefix
	// Deny are ranges refused even if Allow has them.
	Deny []netip.Prefix
}

// RefusedError says that an address may not be connected to.
type RefusedError struct {
	Addr netip.Addr
	Why  string
}

func (e *RefusedError) Error() string {
	return fmt.Sprintf("connections to %s are not allowed: %s", e.Addr, e.Why)
}

// Dialer returns a dialer that refuses what the rules do not allow, with an error
// in which errors.As finds a *RefusedError.
func (r Rules) Dialer() *net.Dialer {
	return &net.Dialer{
		Timeout: ConnectTimeout,
		Control: func(network, address string, _ syscall.RawConn) error {
			to, err := netip.ParseAddrPort(address)
			if err != nil || !strings.HasPrefix(network, "tcp") {
				return fmt.Errorf("connections to %s %s are not allowed", network, address)
			}
			return r.Check(to.Addr())
		},
	}
}

// Check returns a *RefusedError unless addr may be connected to. An IPv6 address
// that leads to an IPv4 one is held to the rules for both.
func (r Rules) Check(addr netip.Addr) error {
	plain := addr.WithZone("").Unmap()
	r = r.unmapped()
	for _, a := range append(embedded(plain), plain) {
		if why := never(a); why != "" {
			return &RefusedError{addr, why}
		}
		if p, ok := find(r.Deny, a); ok {
			return &RefusedError{addr, "it is in the denied range " + p.String()}
		}
	}
	if _, ok := find(r.Allow, plain); !ok && len(r.Allow) > 0 {
		return &RefusedError{addr, "it is in none of the allowed ranges"}
	}
	return nil
}

// unmapped turns ranges of mapped IPv4 addresses into ranges of IPv4 addresses,
// since that is how addresses are compared.
func (r Rules) unmapped() Rules {
	return Rules{unmap(r.Allow), unmap(r.Deny)}
}

func unmap(list []netip.Prefix) []netip.Prefix {
	out := make([]netip.Prefix, len(list))
	for i, p := range list {
		if p.Addr().Is4In6() && p.Bits() >= 96 {
			p = netip.PrefixFrom(p.Addr().Unmap(), p.Bits()-96)
		}
		out[i] = p.Masked()
	}
	return out
}

func find(list []netip.Prefix, a netip.Addr) (netip.Prefix, bool) {
	for _, p := range list {
		if p.Contains(a) {
			return p, true
		}
	}
	return netip.Prefix{}, false
}
