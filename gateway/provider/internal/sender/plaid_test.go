package sender

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/gateway/provider"
	"github.com/hooklatch/hooklatch/gateway/provider/internal/plaidkeys"
	"github.com/hooklatch/hooklatch/gateway/provider/internal/proof"
	"github.com/hooklatch/hooklatch/gateway/provider/internal/prooftest"
	"github.com/hooklatch/hooklatch/outbox/secret"
)

const plaidAccountSecret = "client1:s3cr3t"

// plaidAPI answers key requests as Plaid does.
type plaidAPI struct {
	asked   atomic.Int64
	down    atomic.Bool
	expired atomic.Bool
	host    atomic.Pointer[string]
}

// RoundTrip implements http.RoundTripper.
func (p *plaidAPI) RoundTrip(r *http.Request) (*http.Response, error) {
	p.asked.Add(1)
	p.host.Store(&r.URL.Host)
	if p.down.Load() {
		return nil, errors.New("connection refused")
	}
	var question struct {
		ClientID string `json:"client_id"`
		Secret   string `json:"secret"`
		KeyID    string `json:"key_id"`
	}
	if err := json.NewDecoder(r.Body).Decode(&question); err != nil {
		return nil, err
	}
	if r.Method != http.MethodPost || r.URL.Path != "/webhook_verification_key/get" {
		return plaidSays(http.StatusNotFound, proof.Object{}), nil
	}
	if question.ClientID != "client1" || question.Secret != "s3cr3t" {
		return plaidSays(http.StatusBadRequest, proof.Object{"error_code": "INVALID_API_KEYS"}), nil
	}
	if question.KeyID != prooftest.KeyID(prooftest.ECDSAKey()) {
		return plaidSays(http.StatusBadRequest, proof.Object{"error_code": "INVALID_WEBHOOK_VERIFICATION_KEY_ID"}), nil
	}
	var set struct{ Keys []map[string]any }
	if err := json.Unmarshal(prooftest.KeySet(prooftest.ECDSAKey()), &set); err != nil {
		return nil, err
	}
	key := set.Keys[0]
	key["alg"], key["created_at"], key["expired_at"] = "ES256", prooftest.Now().Unix(), nil
	if p.expired.Load() {
		key["expired_at"] = prooftest.Now().Unix()
	}
	return plaidSays(http.StatusOK, proof.Object{"key": key, "request_id": "r"}), nil
}

func plaidSays(status int, body proof.Object) *http.Response {
	text := prooftest.Must(json.Marshal(body))
	return &http.Response{StatusCode: status, Body: io.NopCloser(bytes.NewReader(text)), Header: http.Header{}}
}

// plaidRequest returns a request with a token that the tests' ECDSA key signed. The token's key id
// is kid.
func plaidRequest(t *testing.T, body string, claims jwt.MapClaims, kid any) *provider.Request {
	t.Helper()
	token := jwt.NewWithClaims(jwt.SigningMethodES256, claims)
	token.Header["kid"] = kid
	text, err := token.SignedString(prooftest.ECDSAKey())
	require.NoError(t, err)
	return &provider.Request{
		Method: http.MethodPost, URL: prooftest.URL(""), Body: []byte(body),
		Header: http.Header{plaidToken: {text}, "Content-Type": {proof.JSONType}},
	}
}

const (
	plaidBody     = `{"webhook_type":"ITEM","webhook_code":"ERROR","item_id":"i1"}`
	plaidBodyHash = "4f5da2a2f9f52b7f5e5a1c0d0e3d6d5cf0c9c5f3a0fbb8d9a29c0a3c6a0f8b11" // another body's hash
)

func TestPlaidKeysFromItsAPI(t *testing.T) {
	t.Parallel()
	api := &plaidAPI{}
	p := declared(t, Plaid, provider.Options{Fetch: api})
	account := []secret.Value{secret.New(plaidAccountSecret)}
	require.NoError(t, p.CheckSecret(account[0]))
	kid := prooftest.KeyID(prooftest.ECDSAKey())
	r := p.Sample("", "i1", prooftest.Now())
	r.URL = prooftest.URL("")
	require.NoError(t, p.Sign(r, secret.New(prooftest.ECDSAPEM()), prooftest.Now()))

	// A key is fetched once, then cached.
	for range 3 {
		_, err := p.Verify(t.Context(), r, account, prooftest.Now())
		require.NoError(t, err)
	}
	require.EqualValues(t, 1, api.asked.Load())
	require.Equal(t, "production.plaid.com", *api.host.Load())

	// SecretIndex is the index of the account with which the key was fetched.
	verified, err := p.Verify(t.Context(), r, []secret.Value{secret.New("client1:old"), account[0]}, prooftest.Now())
	require.NoError(t, err)
	require.Equal(t, 1, verified.SecretIndex)

	// The token may be five minutes old, plus a minute for differing clocks.
	for age, reason := range map[time.Duration]provider.Reason{7 * time.Minute: provider.ReasonOldTimestamp, -2 * time.Minute: provider.ReasonFutureTimestamp} {
		claims := jwt.MapClaims{"iat": prooftest.Now().Add(-age).Unix(), "request_body_sha256": plaidBodyHash}
		requireReason(t, p, plaidRequest(t, plaidBody, claims, kid), account, reason)
	}
	requireReason(t, p, plaidRequest(t, plaidBody, jwt.MapClaims{"request_body_sha256": plaidBodyHash}, kid), account, provider.ReasonMissingTimestamp)
	requireReason(t, p, plaidRequest(t, plaidBody, jwt.MapClaims{"iat": prooftest.Now().Unix()}, kid), account, provider.ReasonWrongBodyHash)
	requireReason(t, p, plaidRequest(t, plaidBody, jwt.MapClaims{"iat": prooftest.Now().Unix(), "request_body_sha256": plaidBodyHash}, kid), account, provider.ReasonWrongBodyHash)

	// A key is not requested if its id has another format. A key with an unknown id is requested.
	asked := api.asked.Load()
	for _, other := range []any{nil, 7, "", "../x", "a b"} {
		requireReason(t, p, plaidRequest(t, plaidBody, plaidClaims(plaidBody), other), account, provider.ReasonUnknownKey)
	}
	require.Equal(t, asked, api.asked.Load())
	requireReason(t, p, plaidRequest(t, plaidBody, plaidClaims(plaidBody), "unknown"), account, provider.ReasonUnknownKey)
	require.Equal(t, asked+1, api.asked.Load())
}

func requireReason(t *testing.T, p *provider.Provider, r *provider.Request, secrets []secret.Value, reason provider.Reason) {
	t.Helper()
	_, err := p.Verify(t.Context(), r, secrets, prooftest.Now())
	refused, ok := errors.AsType[*provider.VerifyError](err)
	require.True(t, ok, err)
	require.Equal(t, reason, refused.Reason)
}

// TestPlaidFaultsAreOurs checks that an unavailable key leads to a 503, never to a 401.
func TestPlaidFaultsAreOurs(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		signed := func(p *provider.Provider, now time.Time) *provider.Request {
			r := p.Sample("", "i1", prooftest.Now())
			require.NoError(t, p.Sign(r, secret.New(prooftest.ECDSAPEM()), now))
			return r
		}
		requireFault := func(p *provider.Provider, account string, now time.Time) {
			t.Helper()
			_, err := p.Verify(t.Context(), signed(p, now), []secret.Value{secret.New(account)}, now)
			require.Error(t, err)
			var refused *provider.VerifyError
			require.NotErrorAs(t, err, &refused)
			require.NotContains(t, err.Error(), "s3cr3t")
		}
		api := &plaidAPI{}
		p := declared(t, Plaid, provider.Options{Fetch: api})
		requireFault(p, "client1:wrong", prooftest.Now())
		api.down.Store(true)
		requireFault(p, plaidAccountSecret, prooftest.Now())
		api.down.Store(false)

		// While Plaid is down, a fetched key is used for a day after it was fetched.
		account := []secret.Value{secret.New(plaidAccountSecret)}
		_, err := p.Verify(t.Context(), signed(p, prooftest.Now()), account, prooftest.Now())
		require.NoError(t, err)
		api.down.Store(true)
		later := prooftest.Now().Add(23 * time.Hour)
		time.Sleep(23 * time.Hour) //nolint:forbidigo // synctest's clock
		_, err = p.Verify(t.Context(), signed(p, later), account, later)
		require.NoError(t, err)
		time.Sleep(2 * time.Hour) //nolint:forbidigo // synctest's clock
		requireFault(p, plaidAccountSecret, prooftest.Now().Add(25*time.Hour))

		// The key is not used any more once Plaid reports that it has expired.
		api.down.Store(false)
		api.expired.Store(true)
		later = later.Add(time.Minute)
		time.Sleep(time.Minute) //nolint:forbidigo // synctest's clock
		_, err = p.Verify(t.Context(), signed(p, later), account, later)
		require.ErrorContains(t, err, string(provider.ReasonUnknownKey))
		requireFault(declared(t, Plaid, provider.Options{Fetch: api}), "no account", prooftest.Now())
	})
}

// TestPlaidKeyOutlivesTheCaller checks that a fetch continues after the caller stops waiting, so
// that the next attempt finds the key.
func TestPlaidKeyOutlivesTheCaller(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		api := &plaidAPI{}
		answered := make(chan struct{})
		slow := roundTrip(func(r *http.Request) (*http.Response, error) {
			select {
			case <-time.After(3 * time.Second):
				defer close(answered)
				return api.RoundTrip(r)
			case <-r.Context().Done():
				return nil, r.Context().Err()
			}
		})
		keys := plaidkeys.New(provider.Options{Fetch: slow}).Of(prooftest.Must(plaidkeys.ReadAccount(secret.New(plaidAccountSecret))), func() bool { return true })
		kid := prooftest.KeyID(prooftest.ECDSAKey())
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := keys(ctx, kid)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		<-answered
		synctest.Wait()
		found, err := keys(t.Context(), kid)
		require.NoError(t, err)
		require.Len(t, found, 1)
		require.EqualValues(t, 1, api.asked.Load())
	})
}

type roundTrip func(r *http.Request) (*http.Response, error)

// RoundTrip implements http.RoundTripper.
func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func TestPlaidSecrets(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"a1", ":", "a1:", ":b2", "a1:b2:c3", "sandbox:a1", "a 1:b2"} {
		err := checkPlaid(secret.New(text))
		require.Error(t, err, text)
		require.NotContains(t, err.Error(), "b2")
	}
}
