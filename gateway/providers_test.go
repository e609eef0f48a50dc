package gateway_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/gateway"
	"github.com/hooklatch/hooklatch/gateway/provider"
	"github.com/hooklatch/hooklatch/outbox/secret"
)

// optionsOf are what a provider cannot be made without.
func optionsOf(name string) provider.Options {
	if name == "hmac" {
		return provider.Options{Header: "X-Sig", EventID: provider.EventID{Pointer: "/id"}}
	}
	return provider.Options{}
}

// Every provider's own sample, signed as it signs and sent behind a proxy that
// ends TLS, is accepted once; a changed one, or one with another key, is not.
func TestEveryProviderOverHTTP(t *testing.T) {
	t.Parallel()
	for _, name := range provider.Names() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, err := provider.New(name, optionsOf(name))
			require.NoError(t, err)
			key := secret.New("whsec_" + base64.StdEncoding.EncodeToString([]byte(strings.Repeat("k", 32))))
			b := setup(t, func(o *gateway.Options) {
				o.PublicURL = mustURL("https://hooks.example.com")
				o.Sources = []gateway.Source{{Name: "real", Provider: p, Secrets: []gateway.Secret{{Value: key}}}}
			})
			sample := p.Sample("", "", testNow)
			sample.Method = http.MethodPost
			sample.URL = mustURL("https://hooks.example.com/webhooks/real?a=b")
			require.NoError(t, p.Sign(sample, key, testNow))
			send := func(change func(*http.Request)) answer {
				r, err := http.NewRequestWithContext(context.WithoutCancel(t.Context()), http.MethodPost,
					b.url+sample.URL.RequestURI(), bytes.NewReader(sample.Body))
				require.NoError(t, err)
				r.Header = sample.Header.Clone()
				change(r)
				return b.do(t, r)
			}
			as := func(*http.Request) {}
			first := send(as)
			require.Equal(t, "accepted", first.header.Get(gateway.StatusHeader), "%d %s", first.status, first.body)
			require.Less(t, first.status, 300)
			again := send(as)
			require.Equal(t, "duplicate", again.header.Get(gateway.StatusHeader))
			require.Equal(t, first.status, again.status)
			require.Equal(t, sample.Body, b.accepter.all()[0].Body)

			spoiled := send(func(r *http.Request) {
				for name, values := range r.Header {
					if strings.Contains(strings.ToLower(name), "sig") || strings.Contains(strings.ToLower(name), "hmac") {
						r.Header[name] = []string{values[0][:len(values[0])-4] + "AAA="}
					}
				}
			})
			require.Equal(t, http.StatusUnauthorized, spoiled.status)
			require.Equal(t, `{"error":"unauthorized"}`, spoiled.body)

			require.NoError(t, b.gateway.SetSources([]gateway.Source{{
				Name: "real", Provider: p,
				Secrets: []gateway.Secret{{Value: secret.New("whsec_" + base64.StdEncoding.EncodeToString([]byte(strings.Repeat("x", 32))))}},
			}}))
			require.Equal(t, http.StatusUnauthorized, send(as).status)
			require.Len(t, b.accepter.all(), 2)
		})
	}
}

func TestSlackChallengeStoresNothing(t *testing.T) {
	t.Parallel()
	p, err := provider.New("slack", provider.Options{})
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
