package sender

import (
	"crypto/x509"
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/gateway/provider"
	"github.com/hooklatch/hooklatch/gateway/provider/internal/proof"
	"github.com/hooklatch/hooklatch/gateway/provider/internal/prooftest"
	"github.com/hooklatch/hooklatch/outbox/secret"
)

// asStranger returns a request with a worthless signature. The request makes us fetch a
// certificate from rawURL.
func asStranger(p *provider.Provider, rawURL string, client netip.Prefix) *provider.Request {
	r := p.Sample("", "WH-1", prooftest.Now())
	r.Header.Set(paypalID, "1")
	r.Header.Set(paypalTime, prooftest.Now().Format(time.RFC3339))
	r.Header.Set(paypalAlgorithm, paypalSigns)
	r.Header.Set(paypalSignature, "AAAA")
	r.Header.Set(paypalCertURL, rawURL)
	r.Client = client
	return r
}

// paypalWithOwnRoot returns a provider that trusts a new authority, and the transport that returns
// a certificate of that authority at paypalTestURL.
func paypalWithOwnRoot(t *testing.T) (*provider.Provider, prooftest.Counted) {
	t.Helper()
	root := prooftest.NewIssuer(nil)
	fetched := prooftest.Counted{Fetched: map[string]int{}, Published: prooftest.Published{
		paypalTestURL: root.Leaf("messageverificationcerts.paypal.com", prooftest.Now().AddDate(1, 0, 0)),
	}}
	pool := x509.NewCertPool()
	pool.AddCert(root.Certificate)
	return declared(t, PayPal, provider.Options{Fetch: fetched, Roots: pool}), fetched
}

// TestStrangersOrderFewFetches checks that unknown senders cause few fetches and evict nothing: a
// certificate that has verified a delivery stays in use without another fetch.
func TestStrangersOrderFewFetches(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p, fetched := paypalWithOwnRoot(t)
		genuine := p.Sample("", "WH-1", prooftest.Now())
		genuine.Header.Set(paypalCertURL, paypalTestURL)
		require.NoError(t, p.Sign(genuine, secret.New(paypalTestKey()), prooftest.Now()))
		webhook := []secret.Value{secret.New("WEBHOOK_ID")}
		_, err := p.Verify(t.Context(), genuine, webhook, prooftest.Now())
		require.NoError(t, err)

		reasons := map[string]int{}
		strange := func(i int, client netip.Prefix) {
			rawURL := fmt.Sprintf("https://api.paypal.com/v1/notifications/certs/CERT-%d-x", i)
			_, err := p.Verify(t.Context(), asStranger(p, rawURL, client), webhook, prooftest.Now())
			require.Error(t, err)
			reasons[strings.SplitN(err.Error(), ":", 2)[0]]++
		}
		for i := range 500 {
			strange(i, prooftest.Client("203.0.113.7"))
		}
		require.Equal(t, map[string]int{string(provider.ReasonForeignURL): 3, proof.ErrFetchBudget.Error(): 500 - 3}, reasons)
		require.Equal(t, 1+3, fetched.Total())
		for i := range 500 {
			strange(1000+i, prooftest.Client(fmt.Sprintf("198.51.%d.%d", 100+i/250, i%250)))
		}
		require.Equal(t, 1+3+2*15, fetched.Total(), "two networks, the first address and the genuine sender")
		for i := range 500 {
			strange(2000+i, prooftest.Client(fmt.Sprintf("198.%d.%d.1", 52+i/250, i%250)))
		}
		require.Equal(t, 45, fetched.Total(), "all unknown senders and the genuine sender together")
		known := asStranger(p, "https://api.paypal.com/v1/notifications/certs/CERT-3000-x", prooftest.Client("198.51.100.1"))
		known.Client, known.Known = prooftest.Client("192.0.2.1"), true
		_, err = p.Verify(t.Context(), known, webhook, prooftest.Now())
		require.Error(t, err)
		require.Equal(t, 45+1, fetched.Total(), "the rest is for known senders")
		for minute := range 10 {
			time.Sleep(time.Minute) //nolint:forbidigo // synctest's clock
			for i := range 200 {
				strange(10_000+1000*minute+i, prooftest.Client(fmt.Sprintf("198.51.100.%d", i)))
			}
		}
		_, err = p.Verify(t.Context(), genuine, webhook, prooftest.Now())
		require.NoError(t, err)
		require.Equal(t, 1, fetched.Fetched[paypalTestURL], "the certificate stayed in the cache")

		// A proxy does not count as one client, and neither does an unknown address.
		p, fetched = paypalWithOwnRoot(t)
		for i := range 10 {
			strange(i, prooftest.Client("10.0.0.1"))
			strange(10+i, netip.Prefix{})
		}
		require.Equal(t, 20, fetched.Total())
	})
}

// TestRequestsOfTwoMinutesShareABudget checks that an unknown sender gains no fetches by
// alternating between requests that arrived in two different minutes.
func TestRequestsOfTwoMinutesShareABudget(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p, fetched := paypalWithOwnRoot(t)
		for i := range 100 {
			rawURL := fmt.Sprintf("https://api.paypal.com/v1/notifications/certs/CERT-%d-x", i)
			arrived := prooftest.Now().Add(-time.Duration(i%2) * time.Minute)
			_, err := p.Verify(t.Context(), asStranger(p, rawURL, prooftest.Client("203.0.113.7")), []secret.Value{secret.New("WEBHOOK_ID")}, arrived)
			require.Error(t, err)
		}
		require.Equal(t, 3, fetched.Total())
	})
}

// TestCertificateURLsHaveOneSpelling checks that each URL has one spelling, so that no
// certificate is fetched under many URLs.
func TestCertificateURLsHaveOneSpelling(t *testing.T) {
	t.Parallel()
	p, fetched := paypalWithOwnRoot(t)
	for _, rawURL := range []string{
		paypalTestURL + "?a=1", paypalTestURL + "?", paypalTestURL + "#a", paypalTestURL + "/", paypalTestURL + ";a",
		"https://api.paypal.com/v1/notifications/certs/../certs/CERT-1", "https://api.paypal.com/v1/notifications/certs/CERT%2D1",
		"https://api.paypal.com:443/v1/notifications/certs/CERT-1", "https://API.paypal.com/v1/notifications/certs/CERT-1",
		"HTTPS://api.paypal.com/v1/notifications/certs/CERT-1", "https://api.paypal.com/v1/notifications/certs/",
	} {
		_, err := p.Verify(t.Context(), asStranger(p, rawURL, netip.Prefix{}), []secret.Value{secret.New("WEBHOOK_ID")}, prooftest.Now())
		requireRefusal(t, provider.ReasonForeignURL, err)
	}
	require.Zero(t, fetched.Total())
}
