package proof

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/hex"
	"encoding/pem"
	"math/big"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/gateway/provider"
	"github.com/hooklatch/hooklatch/gateway/provider/internal/prooftest"
	"github.com/hooklatch/hooklatch/outbox/secret"
)

// signedByKeys returns schemes for the three kinds of keys, with the public and the private
// half in the form that a configuration contains.
func signedByKeys(t *testing.T) map[string]struct {
	scheme          *Scheme
	public, private string
} {
	t.Helper()
	spki := func(key crypto.Signer) []byte { return prooftest.Must(x509.MarshalPKIXPublicKey(key.Public())) }
	names := []HeaderNames{{Signature: "X-Sig", Timestamp: "X-Ts"}}
	return map[string]struct {
		scheme          *Scheme
		public, private string
	}{
		"ed25519": {
			&Scheme{Headers: names, Encoding: Hex, Template: Template{InTimestamp, InBody}, Unit: Seconds, Public: Ed25519Keys(KeySpelling{Encoding: Hex})},
			hex.EncodeToString(prooftest.Ed25519Key().Public().(ed25519.PublicKey)), prooftest.Ed25519Hex(),
		},
		"ecdsa": {
			&Scheme{Headers: names, Encoding: Base64, Template: Template{InTimestamp, InBody}, Unit: Seconds, Public: ECDSAKeys()},
			base64.StdEncoding.EncodeToString(spki(prooftest.ECDSAKey())), prooftest.ECDSABase64(),
		},
		"rsa": {
			&Scheme{Headers: names, Encoding: Base64, Template: Template{InTimestamp, InBody}, Unit: Seconds, Public: RSAKeys(crypto.SHA256)},
			string(pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: spki(prooftest.RSAKey())})), prooftest.RSAPEM(),
		},
	}
}

func TestKeyPairs(t *testing.T) {
	t.Parallel()
	all := signedByKeys(t)
	for name, c := range all {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := &provider.Request{Header: http.Header{}, Body: []byte(`{"id":1}`)}
			require.NoError(t, c.scheme.Sign(r, secret.New(c.private), prooftest.Now()))
			require.ErrorIs(t, c.scheme.Sign(&provider.Request{}, secret.New(c.public), prooftest.Now()), errPublicOnly)
			for _, key := range []string{c.public, c.private} {
				require.NoError(t, c.scheme.CheckSecret(secret.New(key)))
				verified, err := c.scheme.Verify(t.Context(), r, []secret.Value{{}, secret.New(key)}, prooftest.Now())
				require.NoError(t, err)
				require.Equal(t, provider.Verified{SecretIndex: 1, SignedAt: time.Unix(prooftest.Now().Unix(), 0)}, verified)
			}
			token := c.scheme.ReplayToken(r)
			require.NotEmpty(t, token)
			r.Body = []byte(`{"id":2}`)
			_, err := c.scheme.Verify(t.Context(), r, []secret.Value{secret.New(c.public)}, prooftest.Now())
			refusedFor(t, provider.ReasonWrongSignature, err)
			require.NotEqual(t, token, c.scheme.ReplayToken(r))

			for _, bad := range []string{"", "00", "!", "AAAA", "-----BEGIN X-----\nAAAA\n-----END X-----\n"} {
				err := c.scheme.CheckSecret(secret.New(bad))
				require.Error(t, err, bad)
				_, err = c.scheme.Verify(t.Context(), r, []secret.Value{secret.New(bad)}, prooftest.Now())
				require.NotErrorAs(t, err, new(*provider.VerifyError), "an unusable secret is our own fault")
			}
			for other, key := range all {
				if other != name {
					require.Error(t, c.scheme.CheckSecret(secret.New(key.public)), other)
				}
			}
			_, err = c.scheme.Verify(t.Context(), r, nil, prooftest.Now())
			require.ErrorIs(t, err, ErrNoSecret)
		})
	}
	p384 := prooftest.Must(ecdsa.GenerateKey(elliptic.P384(), rand.Reader))
	require.ErrorIs(t, ECDSAKeys().Check(secret.New(prooftest.KeyPEM(p384))), ErrNotThatKey)
}

// authority is a certificate authority for tests.
type authority struct {
	certificate *x509.Certificate
	key         crypto.Signer
}

func (a *authority) issue(t *testing.T, name string, key crypto.Signer, isAuthority bool) (*authority, []byte) {
	t.Helper()
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, DNSNames: []string{name}, IsCA: isAuthority, BasicConstraintsValid: true,
		NotBefore: prooftest.Now().Add(-time.Hour), NotAfter: prooftest.Now().Add(time.Hour),
	}
	parent := template
	signer := key
	if a != nil {
		parent, signer = a.certificate, a.key
	}
	der := prooftest.Must(x509.CreateCertificate(rand.Reader, template, parent, key.Public(), signer))
	return &authority{prooftest.Must(x509.ParseCertificate(der)), key}, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
}

func TestCertificates(t *testing.T) {
	t.Parallel()
	root, rootPEM := (*authority)(nil).issue(t, "root", prooftest.ECDSAKey(), true)
	middle, middlePEM := root.issue(t, "middle", prooftest.Must(ecdsa.GenerateKey(elliptic.P256(), rand.Reader)), true)
	_, leaf := middle.issue(t, "certs.example.com", prooftest.RSAKey(), false)
	_, notRSA := middle.issue(t, "certs.example.com", prooftest.ECDSAKey(), false)
	stranger, _ := (*authority)(nil).issue(t, "root", prooftest.Must(ecdsa.GenerateKey(elliptic.P256(), rand.Reader)), true)
	_, foreign := stranger.issue(t, "certs.example.com", prooftest.RSAKey(), false)

	c := Certificates{Roots: x509.NewCertPool(), Names: []string{"other.example.com", "certs.example.com"}}
	c.Roots.AddCert(root.certificate)
	chain := append(append([]byte{}, leaf...), middlePEM...)
	key, err := c.RSAKey(chain, prooftest.Now())
	require.NoError(t, err)
	require.Equal(t, prooftest.RSAKey().Public(), key)
	signature, err := RSAKeys(crypto.SHA1).Sign(secret.New(prooftest.RSAPEM()), []byte("text"))
	require.NoError(t, err)
	require.NoError(t, ProvesRSA(key, crypto.SHA1, []byte("text"), signature))
	require.ErrorIs(t, ProvesRSA(key, crypto.SHA256, []byte("text"), signature), rsa.ErrVerification)

	for name, refused := range map[string]struct {
		chain []byte
		now   time.Time
		names []string
	}{
		"nothing":             {nil, prooftest.Now(), nil},
		"no PEM":              {[]byte("<html>"), prooftest.Now(), nil},
		"no certificate":      {pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: []byte("x")}), prooftest.Now(), nil},
		"no intermediate":     {leaf, prooftest.Now(), nil},
		"expired":             {chain, prooftest.Now().Add(2 * time.Hour), nil},
		"not yet valid":       {chain, prooftest.Now().Add(-2 * time.Hour), nil},
		"another authority":   {foreign, prooftest.Now(), nil},
		"another name":        {chain, prooftest.Now(), []string{"elsewhere.example.com"}},
		"another kind of key": {append(append([]byte{}, notRSA...), middlePEM...), prooftest.Now(), nil},
		"the root itself":     {rootPEM, prooftest.Now(), nil},
	} {
		c := c
		if refused.names != nil {
			c.Names = refused.names
		}
		_, err := c.RSAKey(refused.chain, refused.now)
		require.Error(t, err, name)
		refusedFor(t, provider.ReasonWrongCertificate, err)
	}
	c.Names = nil
	_, err = c.RSAKey(chain, prooftest.Now())
	require.NoError(t, err, "any name")
}

// Anybody can send many signatures. Checking each hashes the whole message.
func TestFewSignaturesAreChecked(t *testing.T) {
	t.Parallel()
	for name, c := range signedByKeys(t) {
		checked := 0
		keys := *c.scheme.Public
		proves := keys.Proves
		keys.Proves = func(key crypto.PublicKey, message, signature []byte) bool {
			checked++
			return proves(key, message, signature)
		}
		secrets := []secret.Value{secret.New(c.public)}
		wrong := make([][]byte, maxSignatures+1)
		for i := range wrong {
			wrong[i] = make([]byte, ed25519.SignatureSize)
		}
		_, err := keys.Match(secrets, wrong, []byte("message"))
		refusedFor(t, provider.ReasonTooManyItems, err)
		require.Zero(t, checked, name)
		_, err = keys.Match(secrets, wrong[1:], []byte("message"))
		refusedFor(t, provider.ReasonWrongSignature, err)
		require.Equal(t, maxSignatures, checked, name)
	}
}
