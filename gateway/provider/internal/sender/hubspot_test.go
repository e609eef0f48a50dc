package sender

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/gateway/provider"
	"github.com/hooklatch/hooklatch/gateway/provider/internal/proof"
	"github.com/hooklatch/hooklatch/gateway/provider/internal/prooftest"
)

// TestHubSpotDecode decodes the twelve escapes that HubSpot decodes, and no others.
func TestHubSpotDecode(t *testing.T) {
	t.Parallel()
	for given, want := range map[string]string{
		"":                                      "",
		"https://a.example/x?a=b":               "https://a.example/x?a=b",
		"/%3A%2F%3F%40%21%24%27%28%29%2A%2C%3B": "/:/?@!$'()*,;",
		"/%3a%2f%20%25%3D%26%2":                 "/:/%20%25%3D%26%2",
		"%253A":                                 "%253A",
		"%zz%A %2%2F":                           "%zz%A %2/",
	} {
		require.Equal(t, want, hubspotDecode(given), given)
	}
}

// TestHubSpotSpellings checks that a signature verifies if it covers the URL as HubSpot called it,
// or as HubSpot decodes it.
func TestHubSpotSpellings(t *testing.T) {
	t.Parallel()
	p := declared(t, HubSpot, provider.Options{})
	for signed, called := range map[string]string{
		"https://hooks.example.com/x?to=a@b.example":   "https://hooks.example.com/x?to=a%40b.example",
		"https://hooks.example.com/x?to=a%40b.example": "https://hooks.example.com/x?to=a%40b.example",
	} {
		r := p.Sample("", "", prooftest.Now())
		timestamp := proof.Milliseconds.Format(prooftest.Now())
		r.Header.Set("X-HubSpot-Request-Timestamp", timestamp)
		r.Header.Set("X-HubSpot-Signature-v3", proof.Base64.Encode(hubspotMAC([]byte(prooftest.Secret), r, signed, timestamp)))
		r.URL = prooftest.URL(called)
		require.NoError(t, verify(t, p, prooftest.Secret, r), signed)
		r.URL = prooftest.URL(called + "&x=1")
		require.Error(t, verify(t, p, prooftest.Secret, r), signed)
		r.URL = prooftest.URL(called)
		r.Method = http.MethodPut
		require.Error(t, verify(t, p, prooftest.Secret, r), "the method is signed")
	}
}
