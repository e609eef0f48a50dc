package prooftest

import (
	"cmp"
	"net/netip"
	"net/url"
	"time"
)

// Now returns the gateway's time in all tests with a fixed time.
func Now() time.Time { return time.Unix(1767225600, 0).UTC() }

// Endpoint is the URL that the sender was given, unless a test uses another one.
const Endpoint = "https://hooks.example.com/webhooks/demo"

// URL parses a URL. An empty rawURL means the endpoint's URL.
func URL(rawURL string) *url.URL { return Must(url.Parse(cmp.Or(rawURL, Endpoint))) }

// Client returns the provider.Request.Client for an IPv4 address.
func Client(address string) netip.Prefix { return netip.PrefixFrom(netip.MustParseAddr(address), 32) }

// Flip changes one bit in a text.
func Flip(s string, bit int) string {
	b := []byte(s)
	b[bit/8] ^= 1 << (bit % 8)
	return string(b)
}
