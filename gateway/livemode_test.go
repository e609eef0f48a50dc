package gateway_test

import (
	"bytes"
	"cmp"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/gateway"
	"github.com/hooklatch/hooklatch/gateway/provider"
	"github.com/hooklatch/hooklatch/gateway/provider/catalog"
)

// A source in livemode refuses verified test events and accepts live events. A source without
// livemode accepts all events.
func TestLivemodeRefusesTests(t *testing.T) {
	t.Parallel()
	for name, events := range map[string]struct{ test, live func(r *provider.Request) }{
		"stripe": {func(*provider.Request) {}, func(r *provider.Request) {
			r.Body = bytes.ReplaceAll(r.Body, []byte(`"livemode":false`), []byte(`"livemode":true`))
		}},
		"paddle": {func(r *provider.Request) {
			r.Body = bytes.Replace(r.Body, []byte(`"event_id":"evt_`), []byte(`"event_id":"ntfsimevt_`), 1)
		}, func(*provider.Request) {}},
		"square": {func(r *provider.Request) { r.Header.Set("Square-Environment", "Sandbox") }, func(r *provider.Request) {
			r.Header.Set("Square-Environment", "Production")
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			described, err := catalog.Describe(name)
			require.NoError(t, err)
			p := described.Provider
			key, ok := testKey(p, "k")
			require.True(t, ok)
			secrets := []gateway.Secret{{Value: key}}
			b := setup(t, func(o *gateway.Options) {
				o.PublicURL = mustURL("https://hooks.example.com")
				o.Sources = []gateway.Source{{Name: "live", Provider: p, Secrets: secrets, Livemode: true}, {Name: "any", Provider: p, Secrets: secrets}}
			})
			send := func(source string, change func(*provider.Request)) answer {
				r := p.Sample("", "", testNow)
				r.URL, r.Method = mustURL("https://hooks.example.com/webhooks/"+source), cmp.Or(r.Method, http.MethodPost)
				change(r)
				require.NoError(t, p.Sign(r, key, testNow))
				request, err := http.NewRequestWithContext(t.Context(), r.Method, b.url+"/webhooks/"+source, bytes.NewReader(r.Body))
				require.NoError(t, err)
				request.Header = r.Header
				return b.do(t, request)
			}
			refused := send("live", events.test)
			require.Equal(t, http.StatusUnprocessableEntity, refused.status, refused.body)
			require.Contains(t, refused.body, "accepts only live events")
			require.Equal(t, 1, b.refusals(t, "test_event"))
			for source, change := range map[string]func(*provider.Request){"live": events.live, "any": events.test} {
				require.Equal(t, "accepted", send(source, change).header.Get(gateway.StatusHeader))
			}
		})
	}
}

// refusals returns the number of requests to the source "live" that were refused for the given
// reason.
func (b *testBundle) refusals(t *testing.T, reason string) int {
	t.Helper()
	var n int64
	for labels, count := range b.counts(t, "hooklatch.rejected") {
		if labels == "reason="+reason+",source=live" {
			n += count
		}
	}
	return int(n)
}

func TestLivemodeWantsASenderThatSaysWhatATestIs(t *testing.T) {
	t.Parallel()
	described, err := catalog.Describe("github")
	require.NoError(t, err)
	key, _ := testKey(described.Provider, "k")
	_, err = gateway.New(gateway.Options{Accepter: &memory{}, Sources: []gateway.Source{
		{Name: "github", Provider: described.Provider, Secrets: []gateway.Secret{{Value: key}}, Livemode: true},
	}})
	require.ErrorContains(t, err, `source "github": github does not mark test events, so Livemode has no effect`)
}
