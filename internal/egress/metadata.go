package egress

import "net/netip"

// isMetadataService reports whether a cloud serves the calling machine's credentials at the
// address. Most such addresses are link-local or private, so a wide network in allow_private can
// contain them. Azure's address is public.
func isMetadataService(ip netip.Addr) bool {
	switch ip.WithZone("").String() {
	case "169.254.169.254", // AWS, Google, Azure, Oracle, DigitalOcean, OpenStack and others
		"169.254.170.2", "169.254.170.23", // ECS tasks, EKS pods
		"169.254.0.23",                  // Tencent
		"168.63.129.16",                 // Azure's WireServer
		"100.100.100.200",               // Alibaba
		"192.0.0.192",                   // Oracle's older service
		"fd00:ec2::254", "fd00:ec2::23", // AWS, EKS pods
		"fd20:ce::254",    // Google
		"fe80::a9fe:a9fe": // OpenStack
		return true
	}
	return false
}

// translations are the IPv6 networks whose addresses contain an IPv4 address, each with the index
// of that address's first byte. A NAT64 gateway (RFC 6052, RFC 8215) or a 6to4 relay (RFC 3056)
// sends the packets to the IPv4 address.
var translations = []struct {
	network netip.Prefix
	at      int
}{
	{netip.MustParsePrefix("64:ff9b::/96"), 12},
	{netip.MustParsePrefix("64:ff9b:1::/48"), 12},
	{netip.MustParsePrefix("2002::/16"), 2},
}

// translated returns the IPv4 address to which an IPv6 address is translated, if any.
func translated(ip netip.Addr) (v4 netip.Addr, is bool) {
	for _, t := range translations {
		if t.network.Contains(ip.WithZone("")) {
			all := ip.As16()
			return netip.AddrFrom4([4]byte(all[t.at : t.at+4])), true
		}
	}
	return netip.Addr{}, false
}
