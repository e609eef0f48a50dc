package gateway_test

import (
	"maps"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/gateway"
	"github.com/hooklatch/hooklatch/gateway/provider"
	"github.com/hooklatch/hooklatch/gateway/provider/catalog"
	"github.com/hooklatch/hooklatch/outbox/secret"
)

// genericOptions returns options for each generic provider. The event id is at /id if it is
// configurable.
func genericOptions() map[string]provider.Options {
	byID := provider.EventID{Pointer: "/id"}
	return map[string]provider.Options{
		"hmac":              {Header: "X-Signature", EventID: byID},
		"token":             {EventID: byID},
		"basic":             {EventID: byID},
		"jwt":               {EventID: byID, BodyHashClaim: "sha256"},
		"standard-webhooks": {},
		"svix":              {},
	}
}

// ownEndpoint starts a gateway with one source of a generic provider. It also returns the provider
// and the source's secret.
func ownEndpoint(t *testing.T, name string, change func(*provider.Options)) (*testBundle, *provider.Provider, secret.Value) {
	t.Helper()
	opts := genericOptions()[name]
	change(&opts)
	p, err := catalog.New(name, opts)
	require.NoError(t, err)
	key, ok := testKey(p, "k")
	require.True(t, ok)
	b := setup(t, func(o *gateway.Options) {
		o.Sources = []gateway.Source{{Name: "own", Provider: p, Secrets: []gateway.Secret{{Value: key}}}}
	})
	return b, p, key
}

// deliverOwn sends a body with the signature of p's sender.
func deliverOwn(t *testing.T, b *testBundle, p *provider.Provider, key secret.Value, body string) answer {
	t.Helper()
	r := &provider.Request{Method: http.MethodPost, URL: mustURL(b.url + "/webhooks/own"), Header: http.Header{"Content-Type": {"application/json"}}, Body: []byte(body)}
	require.NoError(t, p.Sign(r, key, testNow))
	return b.post(t, "own", body, func(sent *http.Request) { sent.Header = r.Header })
}

func TestEveryGenericProviderGivesTheConfiguredAnswer(t *testing.T) {
	t.Parallel()
	for name := range genericOptions() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, p, key := ownEndpoint(t, name, func(o *provider.Options) {
				o.Answer = &provider.AnswerOptions{Status: http.StatusAccepted, Headers: map[string]string{"x-seen": "yes"}}
			})
			for _, want := range []string{"accepted", "accepted", "duplicate"} {
				body := `{"id":"a"}`
				if len(b.accepter.all()) == 0 {
					body = `{"id":"b"}`
				}
				got := deliverOwn(t, b, p, key, body)
				if name == "standard-webhooks" || name == "svix" {
					want = "accepted" // the id is in the header and always new
				}
				require.Equal(t, http.StatusAccepted, got.status)
				require.Empty(t, got.body)
				require.Equal(t, "yes", got.header.Get("X-Seen"))
				require.Equal(t, want, got.header.Get(gateway.StatusHeader))
			}
			forged := b.post(t, "own", `{"id":"c"}`, func(r *http.Request) { r.Header = http.Header{} })
			require.Equal(t, http.StatusUnauthorized, forged.status, "only a verified request gets the configured response")
			require.Empty(t, forged.body, "this sender accepts no body in any response")
			require.Len(t, b.accepter.all(), 3)
		})
	}
}

func TestAConfiguredBodyIsTheAnswer(t *testing.T) {
	t.Parallel()
	b, p, key := ownEndpoint(t, "hmac", func(o *provider.Options) {
		o.Answer = &provider.AnswerOptions{Body: `<Response/>`, Headers: map[string]string{"content-type": "application/xml"}}
	})
	got := deliverOwn(t, b, p, key, `{"id":"a"}`)
	require.Equal(t, http.StatusOK, got.status)
	require.Equal(t, "<Response/>", got.body)
	require.Equal(t, []string{"application/xml"}, got.header["Content-Type"])
	forged := b.post(t, "own", `{"id":"c"}`, func(r *http.Request) { r.Header = http.Header{} })
	require.Equal(t, `{"error":"unauthorized"}`, forged.body)
}

// probeCase is one request to a source with every kind of probe, and the expected response.
type probeCase struct {
	name, method, target, body string
	header                     http.Header
	status                     int
	answer                     string
	headers                    map[string]string // headers of the response
	delivery                   bool              // true if the gateway treats the request as a delivery and refuses it
}

func probeCases(echo string) []probeCase {
	form := http.Header{"Content-Type": {"application/x-www-form-urlencoded"}}
	all := []probeCase{
		{name: "HEAD", method: http.MethodHead, status: 200},
		{name: "GET", method: http.MethodGet, status: 200},
		{name: "OPTIONS", method: http.MethodOptions, status: 200, headers: map[string]string{"Allow": "POST, HEAD, GET, OPTIONS"}},
		{
			name: "CloudEvents", method: http.MethodOptions, header: http.Header{"WebHook-Request-Origin": {"events.example.com"}}, status: 200,
			headers: map[string]string{"WebHook-Allowed-Origin": "events.example.com", "WebHook-Allowed-Rate": "*"},
		},
		{name: "CloudEvents, two origins", method: http.MethodOptions, header: http.Header{"Webhook-Request-Origin": {"a.example", "b.example"}}, status: 400},
		{name: "method that is not configured", method: http.MethodPut, status: 405},
		{name: "ping", method: http.MethodPost, body: "webhook_id=7", header: form, status: 200},
		{name: "ping without a body", method: http.MethodPost, status: 200},
		{name: "form with more than a ping", method: http.MethodPost, body: "webhook_id=7&status=paid", header: form, delivery: true},
		{name: "form with one field twice", method: http.MethodPost, body: "webhook_id=7&webhook_id=8", header: form, delivery: true},
		{name: "form with one long field", method: http.MethodPost, body: "note=" + strings.Repeat("x", 300), header: form, delivery: true},
		{name: "JSON without a signature", method: http.MethodPost, body: `{"webhook_id":7}`, delivery: true},
		{name: "ping with a wrong signature", method: http.MethodPost, body: "webhook_id=7", header: http.Header{
			"Content-Type": form["Content-Type"], "X-Signature": {strings.Repeat("ab", 32)},
		}, delivery: true},
	}
	switch echo {
	case "query":
		return append(all,
			probeCase{name: "GET", method: http.MethodGet, target: "?challenge=a%20b%3Ci%3E", status: 200, answer: "a b<i>", headers: map[string]string{
				"Content-Type": "text/plain; charset=utf-8", "X-Content-Type-Options": "nosniff",
			}},
			probeCase{name: "POST", method: http.MethodPost, target: "?challenge=x", status: 200, answer: "x"},
			probeCase{name: "with an event", method: http.MethodPost, target: "?challenge=x", body: `{"id":"a"}`, delivery: true},
			probeCase{name: "control character", method: http.MethodGet, target: "?challenge=a%0d%0ab", status: 400},
			probeCase{name: "too long", method: http.MethodGet, target: "?challenge=" + strings.Repeat("x", 2049), status: 400},
		)
	case "header":
		return append(all,
			probeCase{name: "POST", method: http.MethodPost, header: http.Header{"X-Hook-Secret": {"b537207f"}}, body: "{}", status: 200, headers: map[string]string{"X-Hook-Secret": "b537207f"}},
			probeCase{name: "with an event", method: http.MethodPost, header: http.Header{"X-Hook-Secret": {"b537207f"}}, body: `{"id":"a"}`, delivery: true},
			probeCase{name: "twice", method: http.MethodPost, header: http.Header{"X-Hook-Secret": {"a", "b"}}, body: "{}", delivery: true},
			probeCase{name: "not ASCII", method: http.MethodPost, header: http.Header{"X-Hook-Secret": {"\xe4"}}, body: "{}", delivery: true},
			probeCase{name: "too long", method: http.MethodPost, header: http.Header{"X-Hook-Secret": {strings.Repeat("x", 1025)}}, body: "{}", delivery: true},
		)
	}
	return append(all,
		probeCase{name: "POST", method: http.MethodPost, body: `{"challenge":"3eZbrw","type":"check"}`, status: 200, answer: `{"challenge":"3eZbrw"}`, headers: map[string]string{"Content-Type": "application/json"}},
		probeCase{name: "markup", method: http.MethodPost, body: `{"challenge":"<script>"}`, status: 200, answer: `{"challenge":"\u003cscript\u003e"}`},
		probeCase{name: "with an event", method: http.MethodPost, body: `{"challenge":"x","id":"a"}`, delivery: true},
		probeCase{name: "no text", method: http.MethodPost, body: `{"challenge":{"a":1}}`, delivery: true},
		probeCase{name: "too long", method: http.MethodPost, body: `{"challenge":"` + strings.Repeat("x", 2049) + `"}`, delivery: true},
	)
}

// A probe gets the response that its sender requires and stores nothing. A request that contains
// more than a probe is refused like any unsigned delivery.
func TestAProbeIsAnsweredAndStoresNothing(t *testing.T) {
	t.Parallel()
	echoes := map[string]provider.EchoOptions{"query": {Query: "challenge"}, "header": {Header: "x-hook-secret"}, "field": {Field: "/challenge"}}
	for kind, echo := range echoes { //nolint:paralleltest // each subtest is quick
		b, p, key := ownEndpoint(t, "hmac", func(o *provider.Options) {
			o.Probe = &provider.ProbeOptions{Methods: []string{http.MethodHead, http.MethodGet, http.MethodOptions}, Unsigned: true, Echo: echo}
		})
		for _, c := range probeCases(kind) {
			t.Run("echo "+kind+", "+c.name, func(t *testing.T) {
				r, err := http.NewRequestWithContext(t.Context(), c.method, b.url+"/webhooks/own"+c.target, strings.NewReader(c.body))
				require.NoError(t, err)
				r.Header = http.Header{}
				maps.Copy(r.Header, c.header)
				got := b.do(t, r)
				if c.delivery {
					require.Equal(t, http.StatusUnauthorized, got.status)
					return
				}
				require.Equal(t, c.status, got.status, got.body)
				if c.status == http.StatusOK {
					require.Equal(t, c.answer, got.body)
				}
				for name, value := range c.headers {
					require.Equal(t, value, got.header.Get(name), name)
				}
				require.Empty(t, got.header.Get(gateway.StatusHeader))
			})
		}
		require.Empty(t, b.accepter.all())
		require.NotEmpty(t, b.logs.lines(t, "handshake answered"))
		require.NotContains(t, b.logs.String(), "b537207f", "the value of a probe may be a secret")
		require.Equal(t, "accepted", deliverOwn(t, b, p, key, `{"id":"a","challenge":"x"}`).header.Get(gateway.StatusHeader))
	}
}

// Every generic provider distinguishes an unsigned ping from a delivery whose signature was lost.
func TestEveryGenericProviderAnswersAnUnsignedPing(t *testing.T) {
	t.Parallel()
	for name := range genericOptions() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, p, key := ownEndpoint(t, name, func(o *provider.Options) { o.Probe = &provider.ProbeOptions{Unsigned: true} })
			unsigned := func(body string) int {
				return b.post(t, "own", body, func(r *http.Request) {
					r.Header = http.Header{"Content-Type": {"application/x-www-form-urlencoded"}}
				}).status
			}
			require.Equal(t, http.StatusOK, unsigned("webhook_id=7"))
			require.Equal(t, http.StatusUnauthorized, unsigned(`{"id":"a"}`))
			require.Empty(t, b.accepter.all())
			require.Equal(t, http.StatusOK, deliverOwn(t, b, p, key, `{"id":"a"}`).status)
			require.Len(t, b.accepter.all(), 1)
		})
	}
}

// A source whose key is a hash of the content finds an event in every body. A POST that consists of
// nothing but the value to echo is still a probe. Any other POST is a delivery.
func TestAProbeIsNoEventWhateverTheKey(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name       string
		echo       provider.EchoOptions
		header     string
		body, want string
		delivery   string
	}{
		{"field", provider.EchoOptions{Field: "/challenge"}, "", `{"challenge":"c1"}`, `{"challenge":"c1"}`, `{"challenge":"c1","type":"x"}`},
		{"inner field", provider.EchoOptions{Field: "/data/challenge"}, "", `{"data":{"challenge":"c1"}}`, `{"data":{"challenge":"c1"}}`, `{"data":{"challenge":"c1","type":"x"}}`},
		{"header", provider.EchoOptions{Header: "X-Hook-Secret"}, "X-Hook-Secret", ` {} `, "", `{"type":"x"}`},
	} {
		for name := range genericOptions() {
			if name == "standard-webhooks" || name == "svix" { // the id is in a header
				continue
			}
			t.Run(name+" "+c.name, func(t *testing.T) {
				t.Parallel()
				b, p, key := ownEndpoint(t, name, func(o *provider.Options) {
					o.EventID, o.Ignore = provider.EventID{}, []string{"/attempt"}
					o.Probe = &provider.ProbeOptions{Echo: c.echo}
				})
				got := b.post(t, "own", c.body, func(r *http.Request) {
					if c.header != "" {
						r.Header.Set(c.header, "s1")
					}
				})
				require.Equal(t, http.StatusOK, got.status)
				require.Equal(t, c.want, got.body)
				if c.header != "" {
					require.Equal(t, "s1", got.header.Get(c.header))
				}
				require.Empty(t, got.header.Get(gateway.StatusHeader))
				require.Empty(t, b.accepter.all())
				require.Equal(t, "accepted", deliverOwn(t, b, p, key, c.delivery).header.Get(gateway.StatusHeader))
			})
		}
	}
}
