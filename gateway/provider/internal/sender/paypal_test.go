package sender

import (
	"crypto/x509"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/gateway/provider"
	"github.com/hooklatch/hooklatch/gateway/provider/internal/prooftest"
	"github.com/hooklatch/hooklatch/outbox/secret"
)

const (
	paypalTestURL    = "https://api.paypal.com/v1/notifications/certs/CERT-1"
	paypalTestIssuer = "http://cacerts.digicert.com/hooklatch.crt"
)

func paypalTestKey() string { return "WEBHOOK_ID " + prooftest.RSABase64() }

// TestPayPalByCertificate verifies deliveries in the form that PayPal sends: with the
// certificate at the URL in the header.
func TestPayPalByCertificate(t *testing.T) {
	t.Parallel()
	root := prooftest.NewIssuer(nil)
	between, stranger := prooftest.NewIssuer(root), prooftest.NewIssuer(nil)
	const name = "messageverificationcerts.paypal.com"
	year := prooftest.Now().AddDate(1, 0, 0)
	transport := prooftest.Counted{Fetched: map[string]int{}, Published: prooftest.Published{
		paypalTestURL: root.Leaf(name, year),
		"https://api.sandbox.paypal.com/v1/notifications/certs/chain": append(
			between.Leaf("messageverificationcerts.sandbox.paypal.com", year), between.PEM()...),
		"https://api.paypal.com/v1/notifications/certs/alone":     between.Leaf(name, year, "ldap://elsewhere", paypalTestIssuer),
		"https://api.paypal.com/v1/notifications/certs/orphan":    between.Leaf(name, year, "http://elsewhere.example.com/a.crt"),
		"https://api.paypal.com/v1/notifications/certs/lost":      between.Leaf(name, year, "http://cacerts.digicert.com/none"),
		"https://api.paypal.com/v1/notifications/certs/stranger":  stranger.Leaf(name, year),
		"https://api.paypal.com/v1/notifications/certs/expired":   root.Leaf(name, prooftest.Now().Add(-time.Second)),
		"https://api.paypal.com/v1/notifications/certs/othername": root.Leaf("www.paypal.com", year),
		"https://api.paypal.com/v1/notifications/certs/text":      []byte("hello"),
		"https://cacerts.digicert.com/hooklatch.crt":              between.Certificate.Raw,
	}}
	pool := x509.NewCertPool()
	pool.AddCert(root.Certificate)
	p := declared(t, PayPal, provider.Options{Fetch: transport, Roots: pool})
	verify := func(certURL string, secrets ...string) error {
		r := p.Sample("", "WH-1", prooftest.Now())
		r.Header.Set(paypalCertURL, certURL)
		require.NoError(t, p.Sign(r, secret.New(paypalTestKey()), prooftest.Now()))
		var values []secret.Value
		for _, s := range secrets {
			values = append(values, secret.New(s))
		}
		_, err := p.Verify(t.Context(), r, values, prooftest.Now())
		return err
	}
	for _, certURL := range []string{
		paypalTestURL,
		"https://api.sandbox.paypal.com/v1/notifications/certs/chain",
		"https://api.paypal.com/v1/notifications/certs/alone",
	} {
		require.NoError(t, verify(certURL, "WEBHOOK_ID"), certURL)
		require.NoError(t, verify(certURL, "OTHER", "WEBHOOK_ID"), certURL)
		requireRefusal(t, provider.ReasonWrongSignature, verify(certURL, "OTHER"))
		require.Equal(t, 1, transport.Fetched[certURL], "kept")
	}
	for certURL, reason := range map[string]provider.Reason{
		"":                                provider.ReasonForeignURL,
		"%zz":                             provider.ReasonForeignURL,
		"https://api.paypal.com/v1/other": provider.ReasonForeignURL,
		"https://evil.example.com/v1/notifications/certs/CERT-1":           provider.ReasonForeignURL,
		"https://api.paypal.com.evil.example/v1/notifications/certs/a":     provider.ReasonForeignURL,
		"https://api.paypal.com@evil.example.com/v1/notifications/certs/a": provider.ReasonForeignURL,
		"https://www.paypal.com/v1/notifications/certs/a":                  provider.ReasonForeignURL,
		"http://api.paypal.com/v1/notifications/certs/CERT-1":              provider.ReasonForeignURL,
		"https://api.paypal.com:8443/v1/notifications/certs/CERT-1":        provider.ReasonForeignURL,
		"https://api.paypal.com/v1/notifications/certs/orphan":             provider.ReasonWrongCertificate,
		"https://api.paypal.com/v1/notifications/certs/stranger":           provider.ReasonWrongCertificate,
		"https://api.paypal.com/v1/notifications/certs/expired":            provider.ReasonWrongCertificate,
		"https://api.paypal.com/v1/notifications/certs/othername":          provider.ReasonWrongCertificate,
		"https://api.paypal.com/v1/notifications/certs/text":               provider.ReasonWrongCertificate,
	} {
		requireRefusal(t, reason, verify(certURL, "WEBHOOK_ID"))
		if reason == provider.ReasonForeignURL {
			require.Zero(t, transport.Fetched[certURL], certURL)
		}
	}
	requireRefusal(t, provider.ReasonForeignURL, verify("https://api.paypal.com/v1/notifications/certs/none", "WEBHOOK_ID"))
	err := verify("https://api.paypal.com/v1/notifications/certs/lost", "WEBHOOK_ID")
	require.ErrorContains(t, err, "fetch from the sender")
	var refused *provider.VerifyError
	require.NotErrorAs(t, err, &refused, "PayPal is asked to retry")
}

// TestPayPalSecrets checks that a secret is a webhook id with or without a key, and that errors
// quote neither.
func TestPayPalSecrets(t *testing.T) {
	t.Parallel()
	p := declared(t, PayPal, provider.Options{})
	for _, good := range []string{"1JE4291016473214C", " WEBHOOK_ID\n", "A " + prooftest.RSABase64(), "A\n" + prooftest.RSAPEM()} {
		require.NoError(t, p.CheckSecret(secret.New(good)))
	}
	for bad, message := range map[string]string{
		" ":                                 "does not begin with a webhook id",
		"canary-1":                          "does not begin with a webhook id",
		strings.Repeat("canary", 9):         "does not begin with a webhook id",
		"CANARY canary":                     "after the webhook id",
		"CANARY " + prooftest.ECDSABase64(): "another type of key",
		"-----BEGIN canary-----\nAA\n-----": "does not begin with a webhook id",
	} {
		err := p.CheckSecret(secret.New(bad))
		require.ErrorContains(t, err, message)
		require.NotContains(t, strings.ToLower(err.Error()), "canary")
	}
	require.ErrorIs(t, p.Sign(p.Sample("", "", prooftest.Now()), secret.New("WEBHOOK_ID"), prooftest.Now()), errPayPalKey)
}
