package gateway_test

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/gateway"
	"github.com/hooklatch/hooklatch/gateway/provider"
	"github.com/hooklatch/hooklatch/gateway/provider/catalog"
	"github.com/hooklatch/hooklatch/outbox/identity"
	"github.com/hooklatch/hooklatch/outbox/secret"
)

var githubSecret = secret.New("It's a Secret to Everybody")

func githubSource(t *testing.T, guard gateway.ReplayGuard) gateway.Source {
	t.Helper()
	p, err := catalog.New("github", provider.Options{})
	require.NoError(t, err)
	return gateway.Source{Name: "code", Provider: p, Secrets: []gateway.Secret{{Value: githubSecret}}, ReplayGuard: guard}
}

// captured returns a copy of a signed delivery with another id and type.
func captured(r *provider.Request, id, eventType string) *provider.Request {
	again := *r
	again.Header = r.Header.Clone()
	again.Header.Set("X-Github-Delivery", id)
	again.Header.Set("X-Github-Event", eventType)
	return &again
}

func (s *stored) outcomes(t *testing.T) map[string]string {
	t.Helper()
	rows, err := s.pool.Query(t.Context(), "SELECT event_id, outcome FROM hooklatch.processed_events")
	require.NoError(t, err)
	defer rows.Close()
	outcomes := map[string]string{}
	for rows.Next() {
		var id, outcome string
		require.NoError(t, rows.Scan(&id, &outcome))
		outcomes[id] = outcome
	}
	require.NoError(t, rows.Err())
	return outcomes
}

// GitHub signs neither the id nor the type. By default, the gateway accepts a repeated signature
// with a new id, because the event may be genuine (workflow_dispatch). It holds a repeated
// signature with another type.
func TestCapturedGitHubDelivery(t *testing.T) {
	t.Parallel()
	for guard, want := range map[gateway.ReplayGuard]map[string]string{
		"":                   {"id-1": "received", "id-2": "received", "id-3": "held"},
		gateway.ReplayHold:   {"id-1": "received", "id-2": "held", "id-3": "held"},
		gateway.ReplayRefuse: {"id-1": "received"},
		gateway.ReplayOff:    {"id-1": "received", "id-2": "received", "id-3": "received"},
	} {
		t.Run("guard "+string(guard), func(t *testing.T) {
			t.Parallel()
			source := githubSource(t, guard)
			b := setupStored(t, func(o *gateway.Options) { o.Sources = []gateway.Source{source} })
			genuine := signedBy(t, source.Provider, githubSecret, "push", "id-1", testNow)
			require.Equal(t, "accepted", b.deliver(t, "code", genuine).header.Get(gateway.StatusHeader))
			require.Equal(t, "duplicate", b.deliver(t, "code", genuine).header.Get(gateway.StatusHeader), "GitHub's own redelivery")

			status := http.StatusOK
			if guard == gateway.ReplayRefuse {
				status = http.StatusUnauthorized
			}
			require.Equal(t, status, b.deliver(t, "code", captured(genuine, "id-2", "push")).status)
			require.Equal(t, status, b.deliver(t, "code", captured(genuine, "id-3", "release")).status)
			require.Equal(t, want, b.outcomes(t))

			jobs := 0
			for _, outcome := range want {
				if outcome == "received" {
					jobs++
				}
			}
			require.Equal(t, jobs, b.count(t, "SELECT count(*) FROM hooklatch.river_job"), "a held event has no job")
		})
	}
}

func TestWhatIsHeldIsToldOf(t *testing.T) {
	t.Parallel()
	source := githubSource(t, "")
	b := setupStored(t, func(o *gateway.Options) { o.Sources = []gateway.Source{source} })
	genuine := signedBy(t, source.Provider, githubSecret, "push", "id-1", testNow)
	b.deliver(t, "code", genuine)
	got := b.deliver(t, "code", captured(genuine, "id-2", "release"))
	require.Equal(t, `{"status":"accepted","events":1,"duplicates":0}`, got.body, "the response tells a forger nothing")
	lines := b.logs.lines(t, "held until an operator decides: its proof was used before with another id")
	require.Len(t, lines, 1)
	require.Equal(t, "WARN", lines[0]["level"])
	require.Equal(t, "id-2", lines[0]["event_id"])
	require.Equal(t, "replayed_with_other_content", lines[0]["reason"])
	require.Len(t, b.logs.lines(t, "event held"), 1)
	require.Equal(t, map[string]int64{"source=code": 1}, b.counts(t, "hooklatch.events.held"))
	require.Equal(t, map[string]int64{"source=code": 1}, b.counts(t, "hooklatch.events.accepted"))
	require.Equal(t, map[string]int64{"source=code": 1}, b.counts(t, "hooklatch.replays"))
}

// GitHub sends the same bytes under two ids if a user starts a workflow twice.
func TestGenuineEventsWithEqualBytesBothSurvive(t *testing.T) {
	t.Parallel()
	source := githubSource(t, "")
	b := setupStored(t, func(o *gateway.Options) { o.Sources = []gateway.Source{source} })
	first := signedBy(t, source.Provider, githubSecret, "workflow_dispatch", "id-1", testNow)
	second := captured(first, "id-2", "workflow_dispatch")
	for _, r := range []*provider.Request{first, second} {
		require.Equal(t, "accepted", b.deliver(t, "code", r).header.Get(gateway.StatusHeader))
	}
	require.Equal(t, map[string]string{"id-1": "received", "id-2": "received"}, b.outcomes(t))
	e, err := b.outbox.Inbox().Event(t.Context(), identity.EventRef{Source: "code", EventID: "id-2"})
	require.NoError(t, err)
	require.True(t, e.ReplaySuspect)
}

// The budget for log lines about a source's replays is its own. Neither lines that any client can
// cause nor lines about another source's replays use it up.
func TestReplayWarningsCannotBeSilenced(t *testing.T) {
	t.Parallel()
	const replays = 10
	other := githubSource(t, gateway.ReplayFlag)
	other.Name = "other"
	refusing := githubSource(t, gateway.ReplayRefuse)
	refusing.Name = "refusing"
	source := githubSource(t, "")
	b := setupStored(t, func(o *gateway.Options) { o.Sources = []gateway.Source{source, other, refusing} })
	genuine := signedBy(t, source.Provider, githubSecret, "push", "id-0", testNow)
	for range 50 { // the test's clock does not advance: the budget does not refill
		b.deliver(t, "nobody", genuine)
		b.deliver(t, "other", captured(genuine, uuid.NewString(), "push"))
	}
	for i := range replays + 1 {
		b.deliver(t, "code", captured(genuine, fmt.Sprintf("id-%d", i), "push"))
		b.deliver(t, "refusing", captured(genuine, fmt.Sprintf("id-%d", i), "push"))
	}
	told := map[string]int{}
	for _, message := range []string{"accepted, but its proof was used before with another id", "delivery refused"} {
		for _, line := range b.logs.lines(t, message) {
			if name, ok := line["source"].(string); ok && line["reason"] == "replayed" {
				told[name]++
			}
		}
	}
	require.Equal(t, map[string]int{"code": replays, "refusing": replays, "other": 20}, told)
}

// A shop sends one body under several topics, for example for a new order that is already paid.
// Each topic is an event, and none of them is a forgery. The same topic under another id still
// counts as a replay.
func TestOneBodyUnderSeveralTopicsIsNoForgery(t *testing.T) {
	t.Parallel()
	woocommerce := provider.Options{ // as in docs/providers/woocommerce.md
		Header: "X-WC-Webhook-Signature", Encoding: "base64", Type: provider.Field{Header: "X-WC-Webhook-Topic"},
		EventID: provider.EventID{
			Fields: []string{"header:X-WC-Webhook-Topic", "header:X-WC-Webhook-Delivery-ID"}, Optional: []string{"/id", "/date_modified_gmt", "/arg"},
		},
	}
	byBody := woocommerce
	byBody.EventID = provider.EventID{Fields: []string{"header:X-WC-Webhook-Topic", "/id"}, Optional: []string{"/date_modified_gmt"}}
	for name, c := range map[string]struct {
		provider  string
		options   provider.Options
		topic, id string // headers; without an id, the body and the topic are the key
		topics    [2]string
	}{
		"shopify":             {"shopify", provider.Options{}, "X-Shopify-Topic", "X-Shopify-Event-Id", [2]string{"orders/create", "orders/paid"}},
		"shopify's events":    {"shopify", provider.Options{}, "Shopify-Topic", "Shopify-Event-Id", [2]string{"orders/create", "orders/paid"}},
		"woocommerce":         {"hmac", woocommerce, "X-Wc-Webhook-Topic", "X-Wc-Webhook-Delivery-Id", [2]string{"order.created", "order.updated"}},
		"woocommerce by body": {"hmac", byBody, "X-Wc-Webhook-Topic", "", [2]string{"order.created", "order.updated"}},
	} {
		for _, guard := range []gateway.ReplayGuard{"", gateway.ReplayHold, gateway.ReplayRefuse} {
			t.Run(name+" "+string(guard), func(t *testing.T) {
				t.Parallel()
				p, err := catalog.New(c.provider, c.options)
				require.NoError(t, err)
				key := secret.New("a long secret of the shop")
				b := setupStored(t, func(o *gateway.Options) {
					o.Sources = []gateway.Source{{Name: "shop", Provider: p, Secrets: []gateway.Secret{{Value: key}}, ReplayGuard: guard}}
				})
				send := func(topic, id string) answer {
					r := &provider.Request{Method: http.MethodPost, Header: http.Header{"Content-Type": {"application/json"}}, Body: []byte(`{"id":1,"total":"42.00"}`)}
					r.Header.Set(c.topic, topic)
					if c.id != "" {
						r.Header.Set(c.id, id)
					}
					require.NoError(t, p.Sign(r, key, testNow))
					if c.topic == "Shopify-Topic" {
						r.Header["Shopify-Hmac-Sha256"] = r.Header["X-Shopify-Hmac-Sha256"]
						r.Header.Del("X-Shopify-Hmac-Sha256")
					}
					return b.deliver(t, "shop", r)
				}
				for _, topic := range c.topics {
					require.Equal(t, "accepted", send(topic, "id of "+topic).header.Get(gateway.StatusHeader))
					require.Equal(t, "duplicate", send(topic, "id of "+topic).header.Get(gateway.StatusHeader))
				}
				require.Equal(t, 2, b.count(t, "SELECT count(*) FROM hooklatch.processed_events WHERE outcome = 'received' AND NOT replay_suspect"))
				require.Empty(t, b.logs.lines(t, "accepted, but its proof was used before with another id"))
				if c.id == "" {
					return
				}
				again := send(c.topics[0], "another id")
				require.Equal(t, map[bool]int{true: http.StatusUnauthorized, false: http.StatusOK}[guard == gateway.ReplayRefuse], again.status)
				require.Equal(t, map[string]int64{"source=shop": 1}, b.counts(t, "hooklatch.replays"))
			})
		}
	}
}
