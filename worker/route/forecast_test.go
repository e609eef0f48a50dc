package route

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/outbox/identity"
	"github.com/hooklatch/hooklatch/outbox/inbox"
	"github.com/hooklatch/hooklatch/outbox/ledger"
	"github.com/hooklatch/hooklatch/worker/destination"
)

// A forecast contains the requests that attempts send: completed by each destination, and with
// forwarded bodies.
func TestAForecastIsWhatIsSent(t *testing.T) {
	t.Parallel()
	sender, err := destination.NewHTTP(destination.HTTPOptions{Name: "app", URL: "https://app.example/", Headers: map[string]string{"X-A": "a", "X-B": "b"}})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, sender.Close()) })
	route := func(name string, change func(*Route)) Route {
		r := Route{Name: name, From: []string{"stripe"}, To: "app"}
		change(&r)
		return r
	}
	table, err := Compile(Options{Targets: []Target{{Name: "app", Queue: "q", Policy: ledger.AtLeastOnce, Sender: sender}}, Routes: []Route{
		route("no-match", func(r *Route) { r.When = "false" }),
		route("forward", func(*Route) {}),
		route("failed", func(r *Route) { r.HTTP = &HTTPRequest{Body: "body.missing"} }),
		route("own", func(r *Route) {
			r.HTTP = &HTTPRequest{Method: "PUT", URL: `"https://other.example/"`, Body: "body.a", Headers: map[string]string{"X-B": `"own"`}}
		}),
	}})
	require.NoError(t, err)
	table.timeout = time.Minute // for a busy machine
	e := &inbox.Event{EventRef: identity.EventRef{Source: "stripe", EventID: "evt_1"}, ContentType: "application/json", Body: []byte(`{"a": 1}`), EffectGeneration: 1}
	effects, err := table.Forecast(t.Context(), e)
	require.NoError(t, err)
	require.Len(t, effects, 3)
	require.Equal(t, ledger.Request{
		Method: "POST", URL: "https://app.example/", Headers: map[string][]string{"X-A": {"a"}, "X-B": {"b"}, destination.HeaderReceivedAt: effects[0].Request.Headers[destination.HeaderReceivedAt]},
		ContentType: "application/json", Body: []byte(`{"a": 1}`), FromDelivery: true,
	}, effects[0].Request)
	require.True(t, effects[1].Unrendered())
	require.Empty(t, effects[1].Request)
	require.Equal(t, ledger.Request{
		Method: "PUT", URL: "https://other.example/", Headers: map[string][]string{"X-A": {"a"}, "X-B": {"own"}}, ContentType: "application/json", Body: []byte("1"),
	}, effects[2].Request)
	planned, err := table.Plan(t.Context(), e)
	require.NoError(t, err)
	require.Empty(t, planned[0].Request.URL, "a plan leaves the destination's settings to the first claim")
}
