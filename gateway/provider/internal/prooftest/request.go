package prooftest

import (
	"cmp"
	"net/netip"
	"net/url"
	"time"
)

// Now is the gateway's clock in all tests with a fixed time.
func Now() time.Time { return time.Unix(1767225600, 0).UTC() }

// Endpoint is the URL that was given to the sender, unless a test uses another.
const Endpoint = "https://hooks.example.com/webhooks/demo"

// URL parses a URL, that of the endpoint when it is empty.
func URL(rawURL string) *url.URL { return Must(url.Parse(cmp.Or(rawURL, Endpoint))) }

// Client is a client by its address.
func Client(address string) netip.Prefix { return netip.PrefixFrom(netip.MustParseAddr(address), 32) }

// Flip changes one bit of a text.
func Flip(s string, bit int) string {
	b := []byte(s)
	b[bit/8] ^= 1 << (bit % 8)
	return string(b)
}
