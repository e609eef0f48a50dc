package provider

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/outbox/secret"
)

const (
	paypalTestURL    = "https://api.paypal.com/v1/notifications/certs/CERT-1"
	paypalTestIssuer = "http://cacerts.digicert.com/hooklatch.crt"
)

// issuer is an authority of a test.
type issuer struct {
	certificate *x509.Certificate
	key         *rsa.PrivateKey
}

// newIssuer makes an authority, under another one unless that is nil.
func newIssuer(t *testing.T, above *issuer) *issuer {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	require.NoError(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "authority of a test"}, IsCA: true, BasicConstraintsValid: true,
		NotBefore: testNow.AddDate(-1, 0, 0), NotAfter: testNow.AddDate(1, 0, 0), KeyUsage: x509.KeyUsageCertSign,
	}
	parent, signer := template, key
	if above != nil {
		template.Subject.CommonName = "authority between"
		parent, signer = above.certificate, above.key
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, key.Public(), signer)
	require.NoError(t, err)
	certificate, err := x509.ParseCertificate(der)
	require.NoError(t, err)
	return &issuer{certificate, key}
}

// leaf is a certificate of the key of the tests.
func (i *issuer) leaf(t *testing.T, name string, until time.Time, issuers ...string) []byte {
	t.Helper()
	template := &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: name}, DNSNames: []string{name},
		NotBefore: testNow.AddDate(-1, 0, 0), NotAfter: until, IssuingCertificateURL: issuers,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, i.certificate, rsaKey().Public(), i.key)
	require.NoError(t, err)
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
}

func (i *issuer) pem() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: i.certificate.Raw})
}

// TestPayPalByCertificate proves deliveries as PayPal sends them: by the
// certificate at the URL in the header.
func TestPayPalByCertificate(t *testing.T) {
	t.Parallel()
	root := newIssuer(t, nil)
	between, stranger := newIssuer(t, root), newIssuer(t, nil)
	const name = "messageverificationcerts.paypal.com"
	year := testNow.AddDate(1, 0, 0)
	transport := counted{fetched: map[string]int{}, published: published{
		paypalTestURL: root.leaf(t, name, year),
		"https://api.sandbox.paypal.com/v1/notifications/certs/chain": append(
			between.leaf(t, "messageverificationcerts.sandbox.paypal.com", year), between.pem()...),
		"https://api.paypal.com/v1/notifications/certs/alone":     between.leaf(t, name, year, "ldap://elsewhere", paypalTestIssuer),
		"https://api.paypal.com/v1/notifications/certs/orphan":    between.leaf(t, name, year, "http://elsewhere.example.com/a.crt"),
		"https://api.paypal.com/v1/notifications/certs/lost":      between.leaf(t, name, year, "http://cacerts.digicert.com/none"),
		"https://api.paypal.com/v1/notifications/certs/stranger":  stranger.leaf(t, name, year),
		"https://api.paypal.com/v1/notifications/certs/expired":   root.leaf(t, name, testNow.Add(-time.Second)),
		"https://api.paypal.com/v1/notifications/certs/othername": root.leaf(t, "www.paypal.com", year),
		"https://api.paypal.com/v1/notifications/certs/text":      []byte("hello"),
		"https://cacerts.digicert.com/hooklatch.crt":              between.certificate.Raw,
	}}
	pool := x509.NewCertPool()
	pool.AddCert(root.certificate)
	p := provide(t, "paypal", Options{Fetch: transport, Roots: pool})
	verify := func(certURL string, secrets ...string) error {
		r := p.Sample("", "WH-1", testNow)
		r.Header.Set(paypalCertURL, certURL)
		require.NoError(t, p.Sign(r, keyOf(p), testNow))
		var values []secret.Value
		for _, s := range secrets {
			values = append(values, secret.New(s))
		}
		_, err := p.Verify(t.Context(), r, values, testNow)
		return err
	}
	for _, certURL := range []string{
		paypalTestURL,
		"https://api.sandbox.paypal.com/v1/notifications/certs/chain",
		"https://api.paypal.com/v1/notifications/certs/alone",
	} {
		require.NoError(t, verify(certURL, "WEBHOOK_ID"), certURL)
		require.NoError(t, verify(certURL, "OTHER", "WEBHOOK_ID"), certURL)
		refusedFor(t, ReasonWrongSignature, verify(certURL, "OTHER"))
		require.Equal(t, 1, transport.fetched[certURL], "kept")
	}
	for certURL, reason := range map[string]Reason{
		"":                                ReasonForeignURL,
		"%zz":                             ReasonForeignURL,
		"https://api.paypal.com/v1/other": ReasonForeignURL,
		"https://evil.example.com/v1/notifications/certs/CERT-1":           ReasonForeignURL,
		"https://api.paypal.com.evil.example/v1/notifications/certs/a":     ReasonForeignURL,
		"https://api.paypal.com@evil.example.com/v1/notifications/certs/a": ReasonForeignURL,
		"https://www.paypal.com/v1/notifications/certs/a":                  ReasonForeignURL,
		"http://api.paypal.com/v1/notifications/certs/CERT-1":              ReasonForeignURL,
		"https://api.paypal.com:8443/v1/notifications/certs/CERT-1":        ReasonForeignURL,
		"https://api.paypal.com/v1/notifications/certs/orphan":             ReasonWrongCertificate,
		"https://api.paypal.com/v1/notifications/certs/stranger":           ReasonWrongCertificate,
		"https://api.paypal.com/v1/notifications/certs/expired":            ReasonWrongCertificate,
		"https://api.paypal.com/v1/notifications/certs/othername":          ReasonWrongCertificate,
		"https://api.paypal.com/v1/notifications/certs/text":               ReasonWrongCertificate,
	} {
		refusedFor(t, reason, verify(certURL, "WEBHOOK_ID"))
		if reason == ReasonForeignURL {
			require.Zero(t, transport.fetched[certURL], certURL)
		}
	}
	refusedFor(t, ReasonForeignURL, verify("https://api.paypal.com/v1/notifications/certs/none", "WEBHOOK_ID"))
	err := verify("https://api.paypal.com/v1/notifications/certs/lost", "WEBHOOK_ID")
	require.ErrorContains(t, err, "fetch from the sender")
	var refused *VerifyError
	require.NotErrorAs(t, err, &refused, "PayPal is told to come back")
}

// TestPayPalSecrets reads a webhook id with or without a key, and quotes
// neither.
func TestPayPalSecrets(t *testing.T) {
	t.Parallel()
	p := provide(t, "paypal", Options{})
	for _, good := range []string{"1JE4291016473214C", " WEBHOOK_ID\n", "A " + rsaBase64(), "A\n" + rsaPEM()} {
		require.NoError(t, p.CheckSecret(secret.New(good)))
	}
	for bad, message := range map[string]string{
		" ":                                 "does not begin with a webhook id",
		"canary-1":                          "does not begin with a webhook id",
		strings.Repeat("canary", 9):         "does not begin with a webhook id",
		"CANARY canary":                     "behind the webhook id",
		"CANARY " + ecdsaBase64():           "key of another kind",
		"-----BEGIN canary-----\nAA\n-----": "does not begin with a webhook id",
	} {
		err := p.CheckSecret(secret.New(bad))
		require.ErrorContains(t, err, message)
		require.NotContains(t, strings.ToLower(err.Error()), "canary")
	}
	require.ErrorIs(t, p.Sign(p.Sample("", "", testNow), secret.New("WEBHOOK_ID"), testNow), errPayPalKey)
}
