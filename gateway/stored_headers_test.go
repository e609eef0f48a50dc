package gateway_test

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/gateway"
	"github.com/hooklatch/hooklatch/gateway/provider"
	"github.com/hooklatch/hooklatch/gateway/provider/catalog"
	"github.com/hooklatch/hooklatch/outbox/secret"
)

// A proxy in front repeats the URL, token included, in its own headers. The gateway stores none
// of these values.
func TestATokenIsStoredThroughNoHeader(t *testing.T) {
	t.Parallel()
	const token = "s3cr3t/with spaces+and=more"
	p, err := catalog.New("token", provider.Options{Query: "token", EventID: provider.EventID{Pointer: "/id"}})
	require.NoError(t, err)
	b := setupStored(t, func(o *gateway.Options) {
		o.Sources = []gateway.Source{{Name: "crm", Provider: p, Secrets: []gateway.Secret{{Value: secret.New(token)}}}}
	})
	called := "/webhooks/crm?token=" + url.QueryEscape(token)
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, b.url+called, strings.NewReader(`{"id":"1"}`))
	require.NoError(t, err)
	for name, value := range map[string]string{
		"X-Original-Url":    "https://hooks.example.com" + called,
		"X-Forwarded-Uri":   "/webhooks/crm?token=" + url.PathEscape(token),
		"Referer":           "https://login.example.com/?next=" + url.QueryEscape("https://hooks.example.com"+called),
		"X-Rewrite-Url":     "/webhooks/crm?a=b&token=other",
		"X-Token":           token,
		"X-Lower":           strings.ToLower(url.QueryEscape(token)[:6]) + url.QueryEscape(token)[6:],
		"X-Basic":           "Basic " + base64.StdEncoding.EncodeToString([]byte(token)),
		"X-Percent":         "100%",
		"X-Request-Id":      "r-1",
		"X-Forwarded-Proto": "https",
	} {
		r.Header.Set(name, value)
	}
	r.Header.Add("X-Mixed", "kept")
	r.Header.Add("X-Mixed", called)
	require.Equal(t, http.StatusOK, b.do(t, r).status)
	var headers map[string][]string
	require.NoError(t, b.pool.QueryRow(t.Context(), "SELECT headers FROM hooklatch.deliveries").Scan(&headers))
	delete(headers, "Accept-Encoding")
	delete(headers, "Content-Length")
	delete(headers, "User-Agent")
	require.Equal(t, map[string][]string{
		"X-Percent": {"100%"}, "X-Request-Id": {"r-1"}, "X-Forwarded-Proto": {"https"}, "X-Mixed": {"kept"},
	}, headers)
}

// A provider without SecretHeaders and SecretQuery never sends its secret. The gateway therefore
// stores a header whose value happens to equal the configured secret.
func TestPublicSecretsStayInHeaders(t *testing.T) {
	t.Parallel()
	p := signer()
	p.SecretHeaders = nil
	b := setup(t, func(o *gateway.Options) { o.Sources = []gateway.Source{source("orders", p)} })
	require.Equal(t, http.StatusOK, b.post(t, "orders", `{"id":"1","type":"x"}`, withHeaders("X-Topic", testSecret)).status)
	require.Equal(t, []string{testSecret}, b.accepter.all()[0].Headers["X-Topic"])
}

// A client can send any Host. A provider that signs the URL therefore requires a configured
// PublicURL.
func TestSendersThatSignTheURLNeedIt(t *testing.T) {
	t.Parallel()
	key := gateway.Secret{Value: secret.New("0123456789abcdef0123456789abcdef")}
	public, err := url.Parse("https://hooks.example.com")
	require.NoError(t, err)
	for name, o := range map[string]provider.Options{
		"twilio": {}, "square": {}, "hubspot": {},
		"google-pubsub": {Claims: map[string]string{"email": "push@example.com"}},
		"hmac":          {Header: "X-Sig", Template: "{url}{body}", EventID: provider.EventID{Pointer: "/id"}},
	} {
		p, err := catalog.New(name, o)
		require.NoError(t, err)
		options := gateway.Options{Accepter: &memory{}, Sources: []gateway.Source{{Name: "one", Provider: p, Secrets: []gateway.Secret{key}}}}
		if name == "google-pubsub" {
			options.Sources[0].Secrets = nil
		}
		_, err = gateway.New(options)
		require.ErrorContains(t, err, fmt.Sprintf(`source "one": %s signs the URL, so PublicURL is required`, name))
		options.PublicURL = public
		_, err = gateway.New(options)
		require.NoError(t, err)
		options.PublicURL, options.Sources[0].PublicURL = nil, public.JoinPath("one")
		_, err = gateway.New(options)
		require.NoError(t, err)
	}
}
