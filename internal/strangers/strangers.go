// Package strangers limits the resources that senders may use before they are verified. An
// unverified sender is called a stranger.
//
// Genuine senders and strangers share several limited pools: slots, connections, memory, requests
// to a provider. Each pool keeps a part that strangers cannot use, for addresses with accepted
// deliveries. Strangers are also limited by address and by network, so that the owner of many
// addresses does not get many shares.
package strangers

import "net/netip"

// Part returns how much of a pool of n all strangers together may use. The last quarter is for
// known addresses.
func Part[N int | int64](n N) N { return n - n/4 }

// Address returns the prefix to which the limits per address apply: an IPv4 address, or the /64
// network of one IPv6 subscriber.
func Address(addr netip.Addr) netip.Prefix { return around(addr, 32, 64) }

// Network returns the prefix to which the limits per network apply: the /24 around an IPv4 address,
// or the /48 of one IPv6 site. It is not valid if address is not.
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
	prefix, _ := addr.Prefix(bits) // fails only for more bits than an address has
	return prefix
}
