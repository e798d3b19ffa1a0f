package httpguard

import "net/netip"

func prefixes(list ...string) (out []netip.Prefix) {
	for _, s := range list {
		out = append(out, netip.MustParsePrefix(s))
	}
	return out
}

// reserved are the networks that are not part of the public internet (IANA's registries
// of special-purpose addresses), and addresses on which clouds answer their own machines.
var reserved = prefixes(
	"0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12", "192.0.0.0/24", "192.0.2.0/24",
	"192.88.99.0/24", "192.168.0.0/16", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/4", "240.0.0.0/4",
	"168.63.129.16/32", // Azure's services for its machines
	"2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20",
)

var (
	global6 = netip.MustParsePrefix("2000::/3")     // all of IPv6 that is given out
	nat64   = netip.MustParsePrefix("64:ff9b::/96") // IPv4 behind a translator
)

// Public reports whether an address is one of the public internet: not of this machine,
// a private network, a link, a cloud's own services, or reserved; also not by way of IPv6.
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
	for _, p := range reserved {
		if p.Contains(a) {
			return false
		}
	}
	return true
}
