package gateway_test

import (
	"bytes"
	"cmp"
	"context"
	"encoding/base64"
	"encoding/hex"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/gateway"
	"github.com/hooklatch/hooklatch/gateway/provider"
	"github.com/hooklatch/hooklatch/gateway/provider/catalog"
	"github.com/hooklatch/hooklatch/outbox/secret"
)

// testKeys returns secrets in the formats that senders use.
func testKeys(of string) []secret.Value {
	long := strings.Repeat(of, 32)
	return []secret.Value{
		secret.New("whsec_" + base64.StdEncoding.EncodeToString([]byte(long))),
		secret.New(hex.EncodeToString([]byte(long))),
		secret.New("user:" + long),
	}
}

// testKey returns a secret with which a provider both signs and verifies. It returns false for
// providers that verify with a key pair or a certificate.
func testKey(p *provider.Provider, of string) (secret.Value, bool) {
	for _, key := range testKeys(of) {
		if p.Keyless || (p.CheckSecret != nil && p.CheckSecret(key) != nil) {
			continue
		}
		trial := p.Sample("", "", testNow)
		trial.Method, trial.URL = cmp.Or(trial.Method, http.MethodPost), mustURL("https://hooks.example.com/webhooks/real")
		if p.Sign(trial, key, testNow) == nil {
			return key, true
		}
	}
	return secret.Value{}, false
}

// The test signs each provider's sample as the provider does, and sends it to a gateway with an
// https PublicURL. The gateway accepts the event once, and refuses it with another key.
func TestEveryProviderOverHTTP(t *testing.T) {
	t.Parallel()
	for _, name := range catalog.Names() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			described, err := catalog.Describe(name)
			require.NoError(t, err)
			p := described.Provider
			key, ok := testKey(p, "k")
			if !ok {
				t.Skip("verifies with a key pair or a certificate: see the provider's own tests")
			}
			b := setup(t, func(o *gateway.Options) {
				o.PublicURL = mustURL("https://hooks.example.com")
				o.Sources = []gateway.Source{{Name: "real", Provider: p, Secrets: []gateway.Secret{{Value: key}}}}
			})
			sample := p.Sample("", "", testNow)
			sample.URL = mustURL("https://hooks.example.com/webhooks/real?a=b")
			sample.Method = cmp.Or(sample.Method, http.MethodPost)
			send := func(key secret.Value) answer {
				u := *sample.URL
				signed := &provider.Request{Method: sample.Method, URL: &u, Header: sample.Header.Clone(), Body: bytes.Clone(sample.Body)}
				require.NoError(t, p.Sign(signed, key, testNow))
				r, err := http.NewRequestWithContext(context.WithoutCancel(t.Context()), signed.Method,
					b.url+signed.URL.RequestURI(), bytes.NewReader(signed.Body))
				require.NoError(t, err)
				r.Header = signed.Header
				return b.do(t, r)
			}
			first := send(key)
			require.Equal(t, "accepted", first.header.Get(gateway.StatusHeader), "%d %s", first.status, first.body)
			require.Less(t, first.status, 300)
			again := send(key)
			if name != "dropbox" { // each of its deliveries is a separate event
				require.Equal(t, "duplicate", again.header.Get(gateway.StatusHeader))
			}
			require.Equal(t, first.status, again.status)

			other, _ := testKey(p, "x")
			forged := send(other)
			require.Equal(t, http.StatusUnauthorized, forged.status)
			require.Equal(t, `{"error":"unauthorized"}`, forged.body)
			challenge := p.Challenge + ` realm="real"`
			require.Equal(t, []string{challenge}, forged.header.Values("WWW-Authenticate"))
			require.Empty(t, first.header.Values("WWW-Authenticate"))

			// A missing signature gets the same response as a wrong one.
			r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, b.url+"/webhooks/real", strings.NewReader(`{"a":1}`))
			require.NoError(t, err)
			bare := b.do(t, r)
			require.Equal(t, http.StatusUnauthorized, bare.status)
			require.Equal(t, []string{challenge}, bare.header.Values("WWW-Authenticate"))
			require.Len(t, b.accepter.all(), 2)
		})
	}
}

func TestSlackChallengeStoresNothing(t *testing.T) {
	t.Parallel()
	p, err := catalog.New("slack", provider.Options{})
	require.NoError(t, err)
	key := secret.New("slack-signing-secret")
	b := setup(t, func(o *gateway.Options) {
		o.Sources = []gateway.Source{{Name: "slack", Provider: p, Secrets: []gateway.Secret{{Value: key}}}}
	})
	request := &provider.Request{
		Method: http.MethodPost,
		URL:    mustURL(b.url + "/webhooks/slack"),
		Header: http.Header{"Content-Type": {"application/json"}},
		Body:   []byte(`{"token":"x","challenge":"3eZbrw1aB","type":"url_verification"}`),
	}
	require.NoError(t, p.Sign(request, key, testNow))
	got := b.post(t, "slack", string(request.Body), func(r *http.Request) { r.Header = request.Header })
	require.Equal(t, http.StatusOK, got.status)
	require.Contains(t, got.body, "3eZbrw1aB")
	require.Empty(t, got.header.Get(gateway.StatusHeader))
	got = b.post(t, "slack", string(request.Body))
	require.Equal(t, http.StatusUnauthorized, got.status, "an unsigned challenge is not answered")
	require.Empty(t, b.accepter.all())
}

// The fields of a GET callback are in the query of its URL. The gateway stores the query as the
// body.
func TestTwilioByGETStoresTheFields(t *testing.T) {
	t.Parallel()
	p, err := catalog.New("twilio", provider.Options{})
	require.NoError(t, err)
	key := secret.New("correct horse battery staple")
	b := setup(t, func(o *gateway.Options) {
		o.PublicURL = mustURL("https://hooks.example.com")
		o.Sources = []gateway.Source{{Name: "sms", Provider: p, Secrets: []gateway.Secret{{Value: key}}}}
	})
	const query = "MessageSid=SM1&MessageStatus=delivered&To=%2B15005550006"
	signed := &provider.Request{Method: http.MethodGet, URL: mustURL("https://hooks.example.com/webhooks/sms?" + query), Header: http.Header{}}
	require.NoError(t, p.Sign(signed, key, testNow))
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, b.url+signed.URL.RequestURI(), http.NoBody)
	require.NoError(t, err)
	r.Header = signed.Header
	require.Equal(t, http.StatusOK, b.do(t, r).status)
	stored := b.accepter.all()
	require.Len(t, stored, 1)
	require.Equal(t, query, string(stored[0].Body))
	require.Equal(t, "application/x-www-form-urlencoded", stored[0].ContentType)
	require.Equal(t, "message.delivered", stored[0].Events[0].Type)
}

// A webhook of a trigger may use any of five methods. Without a body, the gateway stores the query
// as a form.
func TestZendeskStoresTheFieldsOfRequestsWithoutABody(t *testing.T) {
	t.Parallel()
	p, err := catalog.New("zendesk", provider.Options{})
	require.NoError(t, err)
	key := secret.New("correct horse battery staple")
	b := setup(t, func(o *gateway.Options) {
		o.Sources = []gateway.Source{{Name: "desk", Provider: p, Secrets: []gateway.Secret{{Value: key}}}}
	})
	const form, query = "application/x-www-form-urlencoded", "ticket=5158&status=solved"
	for i, c := range []struct{ method, body, storedType, stored string }{
		{http.MethodGet, "", form, query},
		{http.MethodDelete, "", form, query},
		{http.MethodPost, "", form, query},
		{http.MethodPost, `{"ticket":1}`, "application/json", `{"ticket":1}`},
		{http.MethodPut, `{"ticket":2}`, "application/json", `{"ticket":2}`},
		{http.MethodPatch, `{"ticket":3}`, "application/json", `{"ticket":3}`},
	} {
		signed := &provider.Request{Method: c.method, Header: http.Header{}, Body: []byte(c.body)}
		require.NoError(t, p.Sign(signed, key, testNow))
		r, err := http.NewRequestWithContext(t.Context(), c.method, b.url+"/webhooks/desk?"+query, strings.NewReader(c.body))
		require.NoError(t, err)
		r.Header = signed.Header
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("X-Zendesk-Webhook-Invocation-Id", "i"+strconv.Itoa(i))
		require.Equal(t, http.StatusOK, b.do(t, r).status, c.method)
		stored := b.accepter.all()
		require.Len(t, stored, i+1)
		require.Equal(t, c.stored, string(stored[i].Body))
		require.Equal(t, c.storedType, stored[i].ContentType)
	}
}
