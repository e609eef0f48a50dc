package destination

import (
	"net/netip"
	"slices"

	"github.com/hooklatch/hooklatch/internal/option"
)

// notPublic lists special-purpose networks (RFC 6890) and an address of Azure. Each prefix in an
// AllowPrivate must lie within one of them.
var notPublic = []netip.Prefix{
	netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("172.16.0.0/12"), netip.MustParsePrefix("192.168.0.0/16"),
	netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("169.254.0.0/16"), netip.MustParsePrefix("100.64.0.0/10"),
	netip.MustParsePrefix("192.0.0.0/24"), netip.MustParsePrefix("192.0.2.0/24"), netip.MustParsePrefix("198.18.0.0/15"),
	netip.MustParsePrefix("198.51.100.0/24"), netip.MustParsePrefix("203.0.113.0/24"), netip.MustParsePrefix("240.0.0.0/4"),
	netip.MustParsePrefix("::1/128"), netip.MustParsePrefix("fc00::/7"), netip.MustParsePrefix("fe80::/10"),
	netip.MustParsePrefix("168.63.129.16/32"), // Azure's virtual public address, refused by default
	netip.MustParsePrefix("2001:db8::/32"), netip.MustParsePrefix("64:ff9b::/96"), netip.MustParsePrefix("64:ff9b:1::/48"),
}

// CheckAllowPrivate rejects public prefixes, because public addresses need no permission. Its error
// is option.Faults.
func CheckAllowPrivate(prefixes []netip.Prefix) error {
	var c option.Check
	for i, prefix := range prefixes {
		private := slices.ContainsFunc(notPublic, func(p netip.Prefix) bool { return p.Overlaps(prefix) && p.Bits() <= prefix.Bits() })
		if prefix.IsValid() && !private {
			c.Failf(element("", i), prefix.String(), "is not within a private network; public addresses need no permission; allowed: parts of 10.0.0.0/8, 172.16.0.0/12, 192.168.0.0/16, 127.0.0.0/8, fc00::/7 and other special ranges")
		}
	}
	return c.Err()
}
