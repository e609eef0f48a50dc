package catalog

import (
	"bytes"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/gateway/provider"
	"github.com/hooklatch/hooklatch/gateway/provider/internal/prooftest"
	"github.com/hooklatch/hooklatch/outbox/secret"
)

// configured returns options for every provider, and for several shapes of hmac and token.
func configured(t testing.TB) map[string]provider.Options {
	t.Helper()
	all := map[string]provider.Options{}
	for _, name := range Names() {
		all[name] = deliveriesOf(t, name).source.options(t, name)
	}
	all["hmac fields"] = provider.Options{Header: "X-Sig", EventID: provider.EventID{Fields: []string{"/type", "/data", "/data/id"}}}
	all["hmac form"] = provider.Options{Header: "X-Sig", Encoding: "base64", EventID: provider.EventID{Form: "ref"}, Type: provider.Field{Form: "kind"}}
	all["hmac header"] = provider.Options{Header: "X-Sig", Algorithm: "sha512", EventID: provider.EventID{Header: "x-event"}, Type: provider.Field{Header: "x-kind"}}
	all["hmac join"] = provider.Options{Header: "X-Sig-{n}", EventID: provider.EventID{Join: []string{"header:x-shop", "/id"}}, Type: provider.Field{Pointer: "/topic"}}
	all["hmac list"] = provider.Options{
		Header: "X-Sig", Each: "/events", OccurredAt: provider.Clock{Pointer: "/at", Unit: "s"},
		EventID: provider.EventID{Fields: []string{"/id", "header:X-Shop"}, Optional: []string{"/version"}},
	}
	all["hmac body list"] = provider.Options{Header: "X-Sig", Each: "body", EventID: provider.EventID{Pointer: "/event/id"}}
	all["hmac signed id"] = provider.Options{
		Header: "X-Sig", Prefix: "sha256=", Encoding: "base64url", Template: "{method}:{url}:{id}.{ts}.{body}", IDHeader: "x-id",
		TimestampHeader: "x-ts", TimestampUnit: "rfc3339", Type: provider.Field{Pointer: "/list/0/kind"},
		OccurredAt: provider.Clock{Pointer: "/list/0/at", Unit: "ms"},
	}
	all["hmac pairs"] = provider.Options{
		Header: "X-Sig", Template: "{ts}.{body}", SignatureField: "v1", TimestampField: "t", Separator: ";",
		EventID: provider.EventID{Pointer: "/id"}, OccurredAt: provider.Clock{Pointer: "/at"},
	}
	all["token header"] = provider.Options{Header: "X-Token", EventID: provider.EventID{Pointer: "/id"}}
	all["token query"] = provider.Options{Query: "token", EventID: provider.EventID{Form: "id"}, Type: provider.Field{Fixed: "demo.created"}}
	return all
}

// everyProvider runs a test for every provider, and for every shape of the generic ones, with
// a signed sample.
func everyProvider(t *testing.T, test func(t *testing.T, p *provider.Provider, r *provider.Request)) {
	for name, o := range configured(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := provide(t, name, o)
			test(t, p, signedSample(t, p, "", "evt_1"))
		})
	}
}

func provide(t testing.TB, name string, o provider.Options) *provider.Provider {
	t.Helper()
	name, _, _ = strings.Cut(name, " ")
	p, err := New(name, o)
	require.NoError(t, err)
	return p
}

// keyOf returns a secret that fits the provider and can sign.
func keyOf(t testing.TB, p *provider.Provider) secret.Value {
	t.Helper()
	return secretOf(deliveriesOf(t, p.Name).source.Secrets[0])
}

// signing lists the headers that Sign sets.
func signing(t testing.TB, p *provider.Provider, r *provider.Request, key secret.Value) []string {
	t.Helper()
	u := *prooftest.URL("")
	bare := &provider.Request{Method: r.Method, URL: &u, Header: http.Header{}, Body: bytes.Clone(r.Body)}
	for _, name := range []string{"Content-Type"} {
		bare.Header.Set(name, r.Header.Get(name))
	}
	require.NoError(t, p.Sign(bare, key, prooftest.Now()))
	var names []string
	for name := range bare.Header {
		if name != "Content-Type" {
			names = append(names, name)
		}
	}
	return names
}
