package egress

import (
	"errors"
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestGuardAllowsGlobalAddresses(t *testing.T) {
	t.Parallel()
	g, err := New(Options{Host: "hooks.example.com", Port: "443"})
	require.NoError(t, err)
	for _, ip := range []string{"8.8.8.8", "1.1.1.1", "::ffff:9.9.9.9", "2606:4700::1111", "2a00:1450::1"} {
		require.NoError(t, g.checkAddr("x", netip.MustParseAddr(ip), false), ip)
	}
}

func TestGuardRefusesAConfigurationThatMakesNoSense(t *testing.T) {
	t.Parallel()
	_, err := New(Options{Host: "0x7f.1", Port: "80"})
	require.EqualError(t, err, `host "0x7f.1" is not a valid address`)
	_, err = New(Options{Host: "example.com", Port: "80", AllowPrivate: []netip.Prefix{netip.MustParsePrefix("::ffff:10.0.0.0/104")}})
	require.ErrorContains(t, err, "is not a prefix of IPv4 or IPv6 addresses")
}

func FuzzGuardNeverReachesPrivateAddresses(f *testing.F) {
	f.Add([]byte{127, 0, 0, 1})
	f.Add([]byte{10, 0, 0, 1})
	f.Add(netip.MustParseAddr("::ffff:192.168.1.1").AsSlice())
	f.Add(netip.MustParseAddr("fe80::1").AsSlice())
	g, err := New(Options{Host: "hooks.example.com", Port: "443"})
	require.NoError(f, err)
	f.Fuzz(func(t *testing.T, raw []byte) {
		ip, ok := netip.AddrFromSlice(raw)
		if !ok || g.checkAddr("x", ip, false) != nil {
			return
		}
		ip = ip.Unmap()
		require.True(t, ip.IsGlobalUnicast())
		require.False(t, ip.IsPrivate() || ip.IsLoopback() || ip.IsLinkLocalUnicast() || ip.IsUnspecified())
	})
}

func TestAPublicGuardDialsItsPortAndPublicAddressesOnly(t *testing.T) {
	t.Parallel()
	g := Public("443")
	for address, why := range map[string]string{
		"127.0.0.1:443":         "127.0.0.1 is not a global address",
		"[::1]:443":             "::1 is not a global address",
		"168.63.129.16:443":     "is the metadata service of a cloud",
		"8.8.8.8:8443":          "port 8443 is not 443",
		"localhost:443":         "127.0.0.1 is not a global address",
		"2130706433:443":        "it is not a valid address",
		"169.254.169.254:443":   "is the metadata service of a cloud",
		"keys.example.com:80":   "port 80 is not 443",
		"[fd00:ec2::254]:443":   "is the metadata service of a cloud",
		"sub.localhost.:443":    "127.0.0.1 is not a global address",
		"[::ffff:10.0.0.1]:443": "10.0.0.1 is not a global address",
	} {
		_, err := g.DialContext(t.Context(), "tcp", address)
		require.ErrorContains(t, err, why, address)
		_, blocked := errors.AsType[*BlockedError](err)
		require.True(t, blocked, address)
	}
}
