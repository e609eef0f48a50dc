package provider

import (
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/golang-jwt/jwt/v5"
	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/gateway/provider/internal/prooftest"
	"github.com/hooklatch/hooklatch/outbox/secret"
)

const issuerKeys = "https://issuer.example.com/keys"

// issued makes a request with a token signed by key.
func issued(t *testing.T, method jwt.SigningMethod, id string, key any, claims jwt.MapClaims) *Request {
	t.Helper()
	token := jwt.NewWithClaims(method, claims)
	if id != "" {
		token.Header["kid"] = id
	}
	text, err := token.SignedString(key)
	require.NoError(t, err)
	return &Request{Header: http.Header{"Authorization": {"Bearer " + text}}, Body: []byte(`{"id":"1"}`), URL: prooftest.URL("")}
}

func refusedFor(t *testing.T, want Reason, err error) {
	t.Helper()
	refused, ok := errors.AsType[*VerifyError](err)
	require.True(t, ok, "%v", err)
	require.Equal(t, want, refused.Reason)
}

func forMe() jwt.MapClaims {
	return jwt.MapClaims{"aud": "me", "exp": prooftest.Now().Add(time.Minute).Unix()}
}

func TestPublishedKeys(t *testing.T) {
	t.Parallel()
	id := func(key crypto.Signer) string { return prooftest.KeyID(key) }
	s := newSender(t, says(string(prooftest.KeySet(prooftest.RSAKey(), prooftest.Ed25519Key()))))
	p := provide(t, "jwt", Options{
		JWKSURL: issuerKeys, Audience: "me", EventID: EventID{Pointer: "/id"}, Fetch: s.transport(), Algorithms: []string{"RS256", "ES256", "EdDSA"},
	})
	require.True(t, p.Keyless)
	verify := func(r *Request, now time.Time) error {
		_, err := p.Verify(t.Context(), r, nil, now)
		return err
	}
	byRSA := issued(t, jwt.SigningMethodRS256, id(prooftest.RSAKey()), prooftest.RSAKey(), forMe())
	require.NoError(t, verify(byRSA, prooftest.Now()))
	require.NoError(t, verify(issued(t, jwt.SigningMethodEdDSA, id(prooftest.Ed25519Key()), prooftest.Ed25519Key(), forMe()), prooftest.Now()))
	require.NoError(t, verify(issued(t, jwt.SigningMethodRS256, "", prooftest.RSAKey(), forMe()), prooftest.Now()), "no key id: any key")
	require.EqualValues(t, 1, s.requests.Load())

	// A key that is not there is looked for once a minute.
	byECDSA := issued(t, jwt.SigningMethodES256, id(prooftest.ECDSAKey()), prooftest.ECDSAKey(), forMe())
	for range 3 {
		refusedFor(t, ReasonUnknownKey, verify(byECDSA, prooftest.Now()))
	}
	require.EqualValues(t, 1, s.requests.Load())
	s.answer(says(string(prooftest.KeySet(prooftest.ECDSAKey()))))
	byECDSA = issued(t, jwt.SigningMethodES256, id(prooftest.ECDSAKey()), prooftest.ECDSAKey(), jwt.MapClaims{"aud": "me", "exp": prooftest.Now().Add(time.Hour).Unix()})
	require.NoError(t, verify(byECDSA, prooftest.Now().Add(61*time.Second)))
	require.EqualValues(t, 2, s.requests.Load())
	refusedFor(t, ReasonUnknownKey, verify(byRSA, prooftest.Now().Add(61*time.Second)))

	// What cannot be fetched or read is a fault of ours.
	for _, respond := range []http.HandlerFunc{status(http.StatusInternalServerError), says("{"), says(`{"keys":[]}`), says(`{"keys":[{"kty":"oct","k":"AAAA"}]}`)} {
		s.answer(respond)
		err := verify(byECDSA, prooftest.Now().Add(72*time.Hour))
		require.Error(t, err)
		require.NotErrorAs(t, err, new(*VerifyError))
	}
}

func TestForeignKeys(t *testing.T) {
	t.Parallel()
	p := provide(t, "jwt", Options{
		JWKSURL: issuerKeys, Audience: "me", EventID: EventID{Pointer: "/id"},
		Fetch: prooftest.Published{issuerKeys: prooftest.KeySet(prooftest.RSAKey(), prooftest.ECDSAKey())},
	})
	verify := func(r *Request) error {
		_, err := p.Verify(t.Context(), r, []secret.Value{secret.New(prooftest.RSAPEM())}, prooftest.Now())
		return err
	}
	foreign := prooftest.Must(rsa.GenerateKey(rand.Reader, 2048))
	id := prooftest.KeyID(prooftest.RSAKey())
	refusedFor(t, ReasonWrongSignature, verify(issued(t, jwt.SigningMethodRS256, id, foreign, forMe())))
	refusedFor(t, ReasonUnknownKey, verify(issued(t, jwt.SigningMethodRS256, "mine", foreign, forMe())))
	refusedFor(t, ReasonWrongSignature, verify(issued(t, jwt.SigningMethodES256, id, prooftest.ECDSAKey(), forMe())))

	// The public key as the secret of an HMAC.
	der, err := x509.MarshalPKIXPublicKey(prooftest.RSAKey().Public())
	require.NoError(t, err)
	for _, key := range [][]byte{der, pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der})} {
		refusedFor(t, ReasonForbiddenAlgorithm, verify(issued(t, jwt.SigningMethodHS256, id, key, forMe())))
	}
	refusedFor(t, ReasonForbiddenAlgorithm, verify(issued(t, jwt.SigningMethodPS256, id, prooftest.RSAKey(), forMe())))
	refusedFor(t, ReasonForbiddenAlgorithm, verify(issued(t, jwt.SigningMethodNone, id, jwt.UnsafeAllowNoneSignatureType, forMe())))
}

// TestKeySetPassesOver what it cannot use, and what is not for signatures.
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

func TestKeyForOneAlgorithm(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "keys.json")
	text := strings.Replace(string(prooftest.KeySet(prooftest.RSAKey())), `"kty":"RSA"`, `"kty":"RSA","alg":"RS512"`, 1)
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	p := provide(t, "jwt", Options{JWKSFile: path, Audience: "me", EventID: EventID{Pointer: "/id"}, Algorithms: []string{"RS256", "RS512"}})
	_, err := p.Verify(t.Context(), issued(t, jwt.SigningMethodRS512, "", prooftest.RSAKey(), forMe()), nil, prooftest.Now())
	require.NoError(t, err)
	_, err = p.Verify(t.Context(), issued(t, jwt.SigningMethodRS256, "", prooftest.RSAKey(), forMe()), nil, prooftest.Now())
	refusedFor(t, ReasonUnknownKey, err)
}

// TestURLAudience is what senders do that make tokens for the endpoint itself.
func TestURLAudience(t *testing.T) {
	t.Parallel()
	w := &webToken{
		header: authorization, prefix: bearer, algorithms: []string{"HS256"}, urlAudience: true,
		issuers: []string{"https://a.example.com", "a.example.com"},
	}
	verify := func(rawURL string, claims jwt.MapClaims) error {
		r := issued(t, jwt.SigningMethodHS256, "", []byte(prooftest.Secret), claims)
		r.URL = prooftest.URL(rawURL)
		_, err := w.verify(t.Context(), r, []secret.Value{secret.New(prooftest.Secret)}, prooftest.Now())
		return err
	}
	claims := forMe()
	claims["aud"] = "https://hooks.example.com/webhooks/demo"
	for _, issuer := range w.issuers {
		claims["iss"] = issuer
		require.NoError(t, verify("https://hooks.example.com/webhooks/demo?a=b", claims))
	}
	refusedFor(t, ReasonWrongAudience, verify("https://hooks.example.com/webhooks/other", claims))
	claims["iss"] = "b.example.com"
	refusedFor(t, ReasonWrongIssuer, verify("", claims))
}

func TestJWTOptionErrors(t *testing.T) {
	t.Parallel()
	bad := filepath.Join(t.TempDir(), "keys.json")
	require.NoError(t, os.WriteFile(bad, []byte(`{"keys":[]}`), 0o600))
	for _, c := range []struct{ name, options, field string }{
		{"jwt", `{}`, "event_id"},
		{"jwt", `{event_id: {pointer: /id}, jwks_url: "http://a.example.com/", audience: a}`, "jwks_url"},
		{"jwt", `{event_id: {pointer: /id}, jwks_url: "https://a.example.com:8443/", audience: a}`, "jwks_url"},
		{"jwt", `{event_id: {pointer: /id}, jwks_url: "https://u@a.example.com/", audience: a}`, "jwks_url"},
		{"jwt", `{event_id: {pointer: /id}, jwks_url: "https://a.example.com/"}`, "audience"},
		{"jwt", `{event_id: {pointer: /id}, jwks_url: "https://a.example.com/", jwks_file: x, audience: a}`, "jwks_file"},
		{"jwt", `{event_id: {pointer: /id}, jwks_file: ` + filepath.Join(t.TempDir(), "none") + `, audience: a}`, "jwks_file"},
		{"jwt", `{event_id: {pointer: /id}, jwks_file: ` + bad + `, audience: a}`, "jwks_file"},
		{"jwt", `{event_id: {pointer: /id}, algorithms: [none]}`, "algorithms"},
		{"jwt", `{event_id: {pointer: /id}, algorithms: [RS256]}`, "algorithms"},
		{"jwt", `{event_id: {pointer: /id}, algorithms: [HS256], jwks_url: "https://a.example.com/", audience: a}`, "algorithms"},
		{"jwt", `{event_id: {pointer: /id}, max_age: -1s}`, "max_age"},
		{"jwt", `{event_id: {pointer: /id}, tolerance: -1s}`, "tolerance"},
		{"jwt", `{event_id: {pointer: /id}, header: "a b"}`, "header"},
		{"jwt", `{event_id: {header: authorization}}`, "event_id"},
		{"jwt", `{event_id: {pointer: /id}, template: x}`, "template"},
		{"stripe", `{audience: a}`, "audience"},
		{"token", `{event_id: {pointer: /id}, query: t, header: X-T}`, "query"},
		{"token", `{event_id: {header: X-T}, header: x-t}`, "event_id"},
		{"token", `{event_id: {pointer: /id}, header: ""}`, ""},
		{"basic", `{event_id: {pointer: /id}, header: X-T}`, "header"},
		{"token", `{event_id: {pointer: /id}, each: events}`, "each"},
		{"token", `{event_id: {header: X-Id}, each: /events}`, "event_id"},
		{"token", `{event_id: {join: ["header:X-Id", "header:X-B"]}, each: /events}`, "event_id"},
		{"token", `{event_id: {join: ["id"]}}`, "event_id.join[0]"},
		{"token", `{event_id: {join: ["header:a b"]}}`, "event_id.join[0]"},
		{"token", `{event_id: {join: ["form:"]}}`, "event_id.join[0]"},
		{"token", `{event_id: {join: [/a, /a]}}`, "event_id.join"},
		{"token", `{event_id: {optional: [/a]}}`, "event_id"},
		{"token", `{event_id: {pointer: /a, optional: [/a]}}`, "event_id.optional"},
		{"token", `{event_id: {fields: [/a], optional: [b]}}`, "event_id.optional[0]"},
		{"token", `{event_id: {form: a}, each: /events}`, "event_id"},
		{"token", `{event_id: {fields: ["form:a", /b]}}`, "event_id"},
	} {
		var o Options
		require.NoError(t, yaml.UnmarshalWithOptions([]byte(c.options), &o, yaml.Strict()), c.options)
		_, err := New(c.name, o)
		if c.field == "" {
			require.NoError(t, err, c.options)
			continue
		}
		refused, ok := errors.AsType[*OptionError](err)
		require.True(t, ok, c.options)
		require.Equal(t, c.field, refused.Field, c.options)
		require.NotEmpty(t, refused.Allowed)
	}
}

// FuzzWebToken reads any header as a token: nothing panics and nothing is
// proven, except what was signed, and that only as it was spelled.
func FuzzWebToken(f *testing.F) {
	good := jwt.NewWithClaims(jwt.SigningMethodHS256, jwt.MapClaims{"exp": prooftest.Now().Unix()})
	text := prooftest.Must(good.SignedString([]byte(prooftest.Secret)))
	segment := func(s string) string { return base64.RawURLEncoding.EncodeToString([]byte(s)) }
	f.Add(bearer + text)
	f.Add(bearer + text + "=")
	f.Add(bearer + segment(`{"alg":"none"}`) + "." + segment(`{"exp":1e400}`) + ".")
	f.Add(bearer + segment(`{"alg":["HS256"],"kid":7,"crit":[]}`) + "." + segment(`{"aud":{}}`) + ".AA")
	f.Add(bearer + segment(`{"alg":"HS256","alg":"none"}`) + "." + segment(`[]`) + ".AA")
	f.Add("bearer ...")
	bySecret := &webToken{header: authorization, prefix: bearer, algorithms: secretAlgorithms}
	byKey := &webToken{header: authorization, prefix: bearer, algorithms: publicAlgorithms, keys: keysByURL(
		newFetcher(Options{Fetch: prooftest.Published{issuerKeys: prooftest.KeySet(prooftest.RSAKey(), prooftest.ECDSAKey(), prooftest.Ed25519Key())}}, "issuer.example.com"), issuerKeys)}
	f.Fuzz(func(t *testing.T, header string) {
		r := &Request{Header: http.Header{"Authorization": {header}}, Body: []byte("{}")}
		_, err := bySecret.verify(t.Context(), r, []secret.Value{secret.New(prooftest.Secret)}, prooftest.Now())
		if header == bearer+text {
			require.NoError(t, err)
		} else {
			require.IsType(t, &VerifyError{}, err)
		}
		_, err = byKey.verify(t.Context(), r, nil, prooftest.Now())
		require.IsType(t, &VerifyError{}, err)
		bySecret.replayToken(r)
	})
}
