package proof

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/http"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/gateway/provider"
	"github.com/hooklatch/hooklatch/gateway/provider/internal/prooftest"
	"github.com/hooklatch/hooklatch/outbox/secret"
)

func refusedFor(t *testing.T, want provider.Reason, err error) {
	t.Helper()
	refused, ok := errors.AsType[*provider.VerifyError](err)
	require.True(t, ok, "%v", err)
	require.Equal(t, want, refused.Reason)
}

// TestKeySetPassesOver checks that unusable keys, and keys that are not for signatures, are
// ignored.
func TestKeySetPassesOver(t *testing.T) {
	t.Parallel()
	var set struct {
		Keys []map[string]any `json:"keys"`
	}
	require.NoError(t, json.Unmarshal(prooftest.KeySet(prooftest.ECDSAKey(), prooftest.RSAKey()), &set))
	set.Keys[0]["alg"], set.Keys[0]["x5u"] = "ES256", "https://evil.example.com/"
	set.Keys[1]["use"] = "enc"
	set.Keys = append(set.Keys, map[string]any{"kty": "future"}, map[string]any{"kty": "RSA", "n": "!"}, map[string]any{"kty": "EC", "crv": "P-256", "x": "AA", "y": "AA"})
	keys, err := parseKeySet(prooftest.Must(json.Marshal(set)))
	require.NoError(t, err)
	require.Len(t, keys, 1)
	require.Equal(t, "ES256", keys[0].algorithm)
	require.Equal(t, prooftest.ECDSAKey().Public(), keys[0].key)
}

// TestURLAudience covers senders that issue tokens for the endpoint itself.
func TestURLAudience(t *testing.T) {
	t.Parallel()
	w := &WebToken{
		Header: Authorization, Prefix: Bearer, Algorithms: []string{"HS256"}, URLAudience: true,
		Issuers: []string{"https://a.example.com", "a.example.com"},
	}
	verify := func(rawURL string, claims jwt.MapClaims) error {
		token := prooftest.Token(jwt.SigningMethodHS256, "", []byte(prooftest.Secret), claims)
		r := &provider.Request{Header: http.Header{"Authorization": {"Bearer " + token}}, URL: prooftest.URL(rawURL)}
		_, err := w.Verify(t.Context(), r, []secret.Value{secret.New(prooftest.Secret)}, prooftest.Now())
		return err
	}
	claims := jwt.MapClaims{"aud": prooftest.Endpoint, "exp": prooftest.Now().Add(time.Minute).Unix()}
	for _, issuer := range w.Issuers {
		claims["iss"] = issuer
		require.NoError(t, verify("https://hooks.example.com/webhooks/demo?a=b", claims))
	}
	refusedFor(t, provider.ReasonWrongAudience, verify("https://hooks.example.com/webhooks/other", claims))
	claims["iss"] = "b.example.com"
	refusedFor(t, provider.ReasonWrongIssuer, verify("", claims))
}

// FuzzWebToken checks that no header causes a panic, and that only the signed token is accepted,
// in exactly the form in which it was signed.
func FuzzWebToken(f *testing.F) {
	good := jwt.NewWithClaims(jwt.SigningMethodHS256, jwt.MapClaims{"exp": prooftest.Now().Unix()})
	text := prooftest.Must(good.SignedString([]byte(prooftest.Secret)))
	segment := func(s string) string { return base64.RawURLEncoding.EncodeToString([]byte(s)) }
	f.Add(Bearer + text)
	f.Add(Bearer + text + "=")
	f.Add(Bearer + segment(`{"alg":"none"}`) + "." + segment(`{"exp":1e400}`) + ".")
	f.Add(Bearer + segment(`{"alg":["HS256"],"kid":7,"crit":[]}`) + "." + segment(`{"aud":{}}`) + ".AA")
	f.Add(Bearer + segment(`{"alg":"HS256","alg":"none"}`) + "." + segment(`[]`) + ".AA")
	f.Add("bearer ...")
	bySecret := &WebToken{Header: Authorization, Prefix: Bearer, Algorithms: SecretAlgorithms}
	byKey := &WebToken{Header: Authorization, Prefix: Bearer, Algorithms: PublicAlgorithms, Keys: KeysByURL(
		NewFetcher(provider.Options{Fetch: prooftest.Published{keysURL: prooftest.KeySet(prooftest.RSAKey(), prooftest.ECDSAKey(), prooftest.Ed25519Key())}}, "keys.example.com"), keysURL)}
	f.Fuzz(func(t *testing.T, header string) {
		r := &provider.Request{Header: http.Header{"Authorization": {header}}, Body: []byte("{}")}
		_, err := bySecret.Verify(t.Context(), r, []secret.Value{secret.New(prooftest.Secret)}, prooftest.Now())
		if header == Bearer+text {
			require.NoError(t, err)
		} else {
			require.IsType(t, &provider.VerifyError{}, err)
		}
		_, err = byKey.Verify(t.Context(), r, nil, prooftest.Now())
		require.IsType(t, &provider.VerifyError{}, err)
		bySecret.ReplayToken(r)
	})
}
