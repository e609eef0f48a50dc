package prooftest

import (
	"cmp"
	"net/netip"
	"net/url"
	"time"
)

// Now returns the gateway's time in all tests with a fixed time.
func Now() time.Time { return time.Unix(1767225600, 0).UTC() }

// Endpoint is the URL that senders call, unless a test uses another URL.
const Endpoint = "https://hooks.example.com/webhooks/demo"

// URL parses a URL. An empty rawURL means the endpoint's URL.
func URL(rawURL string) *url.URL { return Must(url.Parse(cmp.Or(rawURL, Endpoint))) }

// Client returns the provider.Request.Client for an IPv4 address.
func Client(address string) netip.Prefix { return netip.PrefixFrom(netip.MustParseAddr(address), 32) }

// Flip returns s with one bit changed.
func Flip(s string, bit int) string {
	b := []byte(s)
	b[bit/8] ^= 1 << (bit % 8)
	return string(b)
}
