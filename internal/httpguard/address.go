package httpguard

import (
	"net/netip"
	"slices"
)

func prefixes(list ...string) (out []netip.Prefix) {
	for _, s := range list {
		out = append(out, netip.MustParsePrefix(s))
	}
	return out
}

// reserved lists the networks that are not part of the public internet (IANA's special-purpose
// registries), and addresses on which clouds serve their own machines.
var reserved = prefixes(
	"0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12", "192.0.0.0/24", "192.0.2.0/24",
	"192.88.99.0/24", "192.168.0.0/16", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/4", "240.0.0.0/4",
	"168.63.129.16/32", // Azure's services for virtual machines
	"2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20",
)

var (
	global6 = netip.MustParsePrefix("2000::/3")     // IPv6 global unicast
	nat64   = netip.MustParsePrefix("64:ff9b::/96") // IPv4 through NAT64
)

// Public reports whether an address belongs to the public internet. Loopback, private, link-local and
// reserved addresses and those of cloud services do not, in IPv4, IPv6 or IPv4 mapped into IPv6.
func Public(a netip.Addr) bool {
	if !a.IsValid() || a.Zone() != "" {
		return false
	}
	a = a.Unmap()
	if nat64.Contains(a) {
		b := a.As16()
		a = netip.AddrFrom4([4]byte(b[12:]))
	}
	if a.Is6() && !global6.Contains(a) {
		return false
	}
	return !slices.ContainsFunc(reserved, func(p netip.Prefix) bool { return p.Contains(a) })
}
