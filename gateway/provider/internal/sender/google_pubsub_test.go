package sender

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"maps"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/gateway/provider"
	"github.com/hooklatch/hooklatch/gateway/provider/internal/prooftest"
	"github.com/hooklatch/hooklatch/outbox/secret"
)

// TestPubSubWantsTheAccount checks that Google's tokens for other accounts are refused: anyone
// can choose an audience, but not the email address.
func TestPubSubWantsTheAccount(t *testing.T) {
	t.Parallel()
	_, err := GooglePubSub(provider.Options{})
	var refused *provider.OptionError
	require.ErrorAs(t, err, &refused)
	require.Equal(t, "claims", refused.Field)

	const certs = "https://www.googleapis.com/oauth2/v3/certs"
	o := provider.Options{Claims: map[string]string{"email": "push@example.com"}, Fetch: prooftest.PublishedKeys(certs)()}
	p := declared(t, GooglePubSub, o)
	sound := jwt.MapClaims{
		"iss": "https://accounts.google.com", "aud": "https://hooks.example.com/webhooks/demo", "email": "push@example.com",
		"email_verified": true, "iat": prooftest.Now().Unix(), "exp": prooftest.Now().Add(time.Hour).Unix(),
	}
	verify := func(claims jwt.MapClaims, key any, kid string) error {
		token := jwt.NewWithClaims(jwt.SigningMethodRS256, claims)
		token.Header["kid"] = kid
		text, err := token.SignedString(key)
		require.NoError(t, err)
		r := p.Sample("", "", prooftest.Now())
		r.URL = prooftest.URL("https://hooks.example.com/webhooks/demo?tenant=a")
		r.Header.Set("Authorization", "Bearer "+text)
		_, err = p.Verify(t.Context(), r, nil, prooftest.Now())
		return err
	}
	kid := prooftest.KeyID(prooftest.RSAKey())
	require.NoError(t, verify(sound, prooftest.RSAKey(), kid))
	for name, c := range map[string]struct {
		value  any
		reason provider.Reason
	}{
		"iss":            {"https://issuer.example.com", provider.ReasonWrongIssuer},
		"aud":            {"https://hooks.example.com/webhooks/other", provider.ReasonWrongAudience},
		"email":          {"push@evil.example", provider.ReasonWrongClaim},
		"email_verified": {false, provider.ReasonWrongClaim},
		"exp":            {prooftest.Now().Add(-2 * time.Minute).Unix(), provider.ReasonExpired},
	} {
		claims := maps.Clone(sound)
		claims[name] = c.value
		require.ErrorContains(t, verify(claims, prooftest.RSAKey(), kid), string(c.reason), name)
	}
	require.ErrorContains(t, verify(sound, prooftest.RSAKey(), "other"), string(provider.ReasonUnknownKey))
}

// A token that names no key is accepted if any of the source's own keys signed it, and refused if
// none did.
func TestATokenWithoutAKeyIDIsVerifiedWithEachOwnKey(t *testing.T) {
	t.Parallel()
	p := declared(t, GooglePubSub, provider.Options{
		Claims: map[string]string{"email": "push@example.com"}, Fetch: prooftest.PublishedKeys("https://www.googleapis.com/oauth2/v3/certs")(),
	})
	var keys []*rsa.PrivateKey
	var secrets []secret.Value
	for range 3 {
		key, err := rsa.GenerateKey(rand.Reader, 2048)
		require.NoError(t, err)
		der, err := x509.MarshalPKCS8PrivateKey(key)
		require.NoError(t, err)
		keys = append(keys, key)
		secrets = append(secrets, secret.New(string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}))))
	}
	verify := func(key *rsa.PrivateKey) (provider.Verified, error) {
		text, err := jwt.NewWithClaims(jwt.SigningMethodRS256, jwt.MapClaims{
			"iss": "https://accounts.google.com", "aud": "https://hooks.example.com/webhooks/demo", "email": "push@example.com",
			"email_verified": true, "iat": prooftest.Now().Unix(), "exp": prooftest.Now().Add(time.Hour).Unix(),
		}).SignedString(key)
		require.NoError(t, err)
		r := p.Sample("", "", prooftest.Now())
		r.URL = prooftest.URL("https://hooks.example.com/webhooks/demo")
		r.Header.Set("Authorization", "Bearer "+text)
		return p.Verify(t.Context(), r, secrets[:2], prooftest.Now())
	}
	for i, key := range keys[:2] {
		verified, err := verify(key)
		require.NoError(t, err, "key %d", i)
		require.Equal(t, i, verified.SecretIndex)
	}
	_, err := verify(keys[2])
	require.ErrorContains(t, err, string(provider.ReasonWrongSignature))
}
