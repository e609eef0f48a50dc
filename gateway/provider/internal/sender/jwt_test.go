package sender

import (
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/gateway/provider"
	"github.com/hooklatch/hooklatch/gateway/provider/internal/prooftest"
	"github.com/hooklatch/hooklatch/outbox/secret"
)

const issuerKeys = "https://issuer.example.com/keys"

// issued returns a request with a token signed by key.
func issued(t *testing.T, method jwt.SigningMethod, id string, key any, claims jwt.MapClaims) *provider.Request {
	t.Helper()
	text := prooftest.Token(method, id, key, claims)
	return &provider.Request{Header: http.Header{"Authorization": {"Bearer " + text}}, Body: []byte(`{"id":"1"}`), URL: prooftest.URL("")}
}

func forMe() jwt.MapClaims {
	return jwt.MapClaims{"aud": "me", "exp": prooftest.Now().Add(time.Minute).Unix()}
}

func TestPublishedKeys(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		id := func(key crypto.Signer) string { return prooftest.KeyID(key) }
		s := prooftest.NewAnswers(prooftest.Says(string(prooftest.KeySet(prooftest.RSAKey(), prooftest.Ed25519Key()))))
		p := declared(t, JWT, provider.Options{
			JWKSURL: issuerKeys, Audience: "me", EventID: provider.EventID{Pointer: "/id"}, Fetch: s, Algorithms: []string{"RS256", "ES256", "EdDSA"},
		})
		require.True(t, p.Keyless)
		verify := func(r *provider.Request, now time.Time) error {
			_, err := p.Verify(t.Context(), r, nil, now)
			return err
		}
		byRSA := issued(t, jwt.SigningMethodRS256, id(prooftest.RSAKey()), prooftest.RSAKey(), forMe())
		require.NoError(t, verify(byRSA, prooftest.Now()))
		require.NoError(t, verify(issued(t, jwt.SigningMethodEdDSA, id(prooftest.Ed25519Key()), prooftest.Ed25519Key(), forMe()), prooftest.Now()))
		require.NoError(t, verify(issued(t, jwt.SigningMethodRS256, "", prooftest.RSAKey(), forMe()), prooftest.Now()), "no key id: any key")
		require.EqualValues(t, 1, s.Requests.Load())

		// A missing key is looked up at most once a minute.
		byECDSA := issued(t, jwt.SigningMethodES256, id(prooftest.ECDSAKey()), prooftest.ECDSAKey(), forMe())
		for range 3 {
			requireRefusal(t, provider.ReasonUnknownKey, verify(byECDSA, prooftest.Now()))
		}
		require.EqualValues(t, 1, s.Requests.Load())
		s.Answer(prooftest.Says(string(prooftest.KeySet(prooftest.ECDSAKey()))))
		byECDSA = issued(t, jwt.SigningMethodES256, id(prooftest.ECDSAKey()), prooftest.ECDSAKey(), jwt.MapClaims{"aud": "me", "exp": prooftest.Now().Add(time.Hour).Unix()})
		time.Sleep(time.Minute) //nolint:forbidigo // synctest's clock
		require.NoError(t, verify(byECDSA, prooftest.Now().Add(time.Minute)))
		require.EqualValues(t, 2, s.Requests.Load())
		requireRefusal(t, provider.ReasonUnknownKey, verify(byRSA, prooftest.Now().Add(time.Minute)))

		// If a key set cannot be fetched or read, the error is not a VerifyError: the request may
		// be genuine.
		for _, respond := range []http.HandlerFunc{prooftest.Status(http.StatusInternalServerError), prooftest.Says("{"), prooftest.Says(`{"keys":[]}`), prooftest.Says(`{"keys":[{"kty":"oct","k":"AAAA"}]}`)} {
			s.Answer(respond)
			time.Sleep(72 * time.Hour) //nolint:forbidigo // synctest's clock
			err := verify(byECDSA, prooftest.Now().Add(time.Minute))
			require.Error(t, err)
			require.NotErrorAs(t, err, new(*provider.VerifyError))
		}
	})
}

func TestForeignKeys(t *testing.T) {
	t.Parallel()
	p := declared(t, JWT, provider.Options{
		JWKSURL: issuerKeys, Audience: "me", EventID: provider.EventID{Pointer: "/id"},
		Fetch: prooftest.Published{issuerKeys: prooftest.KeySet(prooftest.RSAKey(), prooftest.ECDSAKey())},
	})
	verify := func(r *provider.Request) error {
		_, err := p.Verify(t.Context(), r, []secret.Value{secret.New(prooftest.RSAPEM())}, prooftest.Now())
		return err
	}
	foreign := prooftest.Must(rsa.GenerateKey(rand.Reader, 2048))
	id := prooftest.KeyID(prooftest.RSAKey())
	requireRefusal(t, provider.ReasonWrongSignature, verify(issued(t, jwt.SigningMethodRS256, id, foreign, forMe())))
	requireRefusal(t, provider.ReasonUnknownKey, verify(issued(t, jwt.SigningMethodRS256, "mine", foreign, forMe())))
	requireRefusal(t, provider.ReasonWrongSignature, verify(issued(t, jwt.SigningMethodES256, id, prooftest.ECDSAKey(), forMe())))

	// The public key must not serve as an HMAC secret.
	der, err := x509.MarshalPKIXPublicKey(prooftest.RSAKey().Public())
	require.NoError(t, err)
	for _, key := range [][]byte{der, pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der})} {
		requireRefusal(t, provider.ReasonForbiddenAlgorithm, verify(issued(t, jwt.SigningMethodHS256, id, key, forMe())))
	}
	requireRefusal(t, provider.ReasonForbiddenAlgorithm, verify(issued(t, jwt.SigningMethodPS256, id, prooftest.RSAKey(), forMe())))
	requireRefusal(t, provider.ReasonForbiddenAlgorithm, verify(issued(t, jwt.SigningMethodNone, id, jwt.UnsafeAllowNoneSignatureType, forMe())))
}

func TestKeyForOneAlgorithm(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "keys.json")
	text := strings.Replace(string(prooftest.KeySet(prooftest.RSAKey())), `"kty":"RSA"`, `"kty":"RSA","alg":"RS512"`, 1)
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	p := declared(t, JWT, provider.Options{JWKSFile: path, Audience: "me", EventID: provider.EventID{Pointer: "/id"}, Algorithms: []string{"RS256", "RS512"}})
	_, err := p.Verify(t.Context(), issued(t, jwt.SigningMethodRS512, "", prooftest.RSAKey(), forMe()), nil, prooftest.Now())
	require.NoError(t, err)
	_, err = p.Verify(t.Context(), issued(t, jwt.SigningMethodRS256, "", prooftest.RSAKey(), forMe()), nil, prooftest.Now())
	requireRefusal(t, provider.ReasonUnknownKey, err)
}
