package egress

import (
	"net/netip"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// A client that reaches one of these addresses can take over the machine's identity in its cloud.
func TestGuardRefusesMetadataServicesUnlessNamedAlone(t *testing.T) {
	t.Parallel()
	wide := []netip.Prefix{
		netip.MustParsePrefix("169.254.0.0/16"), netip.MustParsePrefix("100.64.0.0/10"), netip.MustParsePrefix("192.0.0.0/24"),
		netip.MustParsePrefix("fc00::/7"), netip.MustParsePrefix("fe80::/10"), netip.MustParsePrefix("168.63.129.0/24"),
	}
	for _, address := range []string{
		"168.63.129.16", "169.254.169.254", "169.254.170.2", "100.100.100.200", "192.0.0.192", "fd00:ec2::254", "fd20:ce::254",
		"::ffff:168.63.129.16", "fe80::a9fe:a9fe",
	} {
		ip := netip.MustParseAddr(address)
		for _, allowed := range [][]netip.Prefix{nil, wide} {
			g, err := New(Options{Host: "hooks.example.com", Port: "443", AllowPrivate: allowed})
			require.NoError(t, err)
			require.ErrorContains(t, g.checkAddr("evil.example.com", ip, false), "is the metadata service of a cloud", address)
			require.Error(t, g.checkAddr("hooks.example.com", ip, true), "an attacker's name may resolve to the address")
		}
		alone := netip.PrefixFrom(ip.Unmap(), ip.Unmap().BitLen())
		g, err := New(Options{Host: "hooks.example.com", Port: "443", AllowPrivate: []netip.Prefix{alone}})
		require.NoError(t, err)
		require.NoError(t, g.checkAddr("hooks.example.com", ip, true), address)
	}
	g, err := New(Options{Host: "168.63.129.16", Port: "80"})
	require.NoError(t, err)
	require.NoError(t, g.checkAddr("168.63.129.16", netip.MustParseAddr("168.63.129.16"), true), "the configured URL names it")

	g, err = New(Options{Host: "hooks.example.com", Port: "443", AllowPrivate: wide})
	require.NoError(t, err)
	for _, neighbour := range []string{"100.100.100.201", "fd00:ec2::255", "169.254.1.1"} {
		require.NoError(t, g.checkAddr("x", netip.MustParseAddr(neighbour), false), neighbour)
	}
}

// A NAT64 gateway or a 6to4 relay sends the packets for an IPv6 address to the IPv4 address that
// the IPv6 address contains.
func TestGuardChecksTheAddressInsideAnAddress(t *testing.T) {
	t.Parallel()
	wide := []netip.Prefix{netip.MustParsePrefix("64:ff9b::/96"), netip.MustParsePrefix("64:ff9b:1::/48"), netip.MustParsePrefix("2002::/16")}
	inside := map[string][]string{ // by the IPv4 address
		"169.254.169.254": {"64:ff9b::a9fe:a9fe", "64:ff9b:1::a9fe:a9fe", "2002:a9fe:a9fe::1"},
		"10.0.0.1":        {"64:ff9b::a00:1", "64:ff9b:1::a00:1", "2002:a00:1::1"},
		"127.0.0.1":       {"64:ff9b::7f00:1", "64:ff9b:1::7f00:1", "2002:7f00:1::1"},
	}
	for v4, all := range inside {
		for _, address := range all {
			ip := netip.MustParseAddr(address)
			for _, allowed := range [][]netip.Prefix{nil, wide} {
				g, err := New(Options{Host: "hooks.example.com", Port: "443", AllowPrivate: allowed})
				require.NoError(t, err)
				require.Error(t, g.checkAddr("evil.example.com", ip, false), "%s, which is %s", address, v4)
			}
			both := append(slices.Clone(wide), netip.PrefixFrom(netip.MustParseAddr(v4), 32))
			g, err := New(Options{Host: "hooks.example.com", Port: "443", AllowPrivate: both})
			require.NoError(t, err)
			require.NoError(t, g.checkAddr("hooks.example.com", ip, true), address)
		}
	}
	g, err := New(Options{Host: "hooks.example.com", Port: "443", AllowPrivate: wide})
	require.NoError(t, err)
	for _, public := range []string{"64:ff9b::808:808", "2002:808:808::1"} {
		require.NoError(t, g.checkAddr("hooks.example.com", netip.MustParseAddr(public), true), public)
	}
}
