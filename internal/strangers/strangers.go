// Package strangers bounds the resources that senders may use before they are proven.
//
// Genuine senders and strangers share several pools that are bounded by count: places,
// connections, memory, requests to a provider. Each pool keeps a part that strangers
// cannot use: it is for addresses whose deliveries were accepted before. Strangers also
// count by address, and by the network around it, so that many addresses of one owner do
// not have many shares.
package strangers

import "net/netip"

// Part returns how much of a pool of n all strangers may use together. The last quarter
// is for known addresses.
func Part[N int | int64](n N) N { return n - n/4 }

// Address returns the unit of per-address limits: an IPv4 address, or the /64 that one
// IPv6 subscriber has.
func Address(addr netip.Addr) netip.Prefix { return around(addr, 32, 64) }

// Network returns the unit of per-network limits: the /24 around an IPv4 address, or the
// /48 that one IPv6 site has. It is not valid if address is not.
func Network(address netip.Prefix) netip.Prefix {
	if !address.IsValid() {
		return netip.Prefix{}
	}
	return around(address.Addr(), 24, 48)
}

func around(addr netip.Addr, bits4, bits6 int) netip.Prefix {
	addr = addr.Unmap().WithZone("")
	bits := bits6
	if addr.Is4() {
		bits = bits4
	}
	prefix, _ := addr.Prefix(bits) // fails for more bits than an address has only
	return prefix
}
