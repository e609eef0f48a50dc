package catalog

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/gateway/provider"
	"github.com/hooklatch/hooklatch/gateway/provider/internal/prooftest"
)

// TestReplayTokens checks that two tokens are equal if and only if the signed content is equal. The
// spelling of the content and unsigned headers must not matter.
func TestReplayTokens(t *testing.T) {
	t.Parallel()
	everyProvider(t, func(t *testing.T, p *provider.Provider, r *provider.Request) {
		if p.ReplayToken == nil {
			return
		}
		token := p.ReplayToken(r)
		require.NotEmpty(t, token)
		require.Equal(t, token, p.ReplayToken(r))
		other := signedSample(t, p, "", "evt_2")
		other.Body = append(other.Body, ' ')
		if !deliveriesOf(t, p.Name).samples.InBody {
			require.NoError(t, p.Sign(other, keyOf(t, p), prooftest.Now()))
		}
		require.NotEqual(t, token, p.ReplayToken(other))
		require.Empty(t, p.ReplayToken(&provider.Request{Header: http.Header{}, URL: prooftest.URL("")}), "an unsigned request has no token")
	})
	p := provide(t, "github", provider.Options{})
	r := signedSample(t, p, "", "evt_1")
	token := p.ReplayToken(r)
	r.Header.Set("X-Hub-Signature-256", "sha256="+strings.ToUpper(strings.TrimPrefix(r.Header.Get("X-Hub-Signature-256"), "sha256=")))
	r.Header.Set("X-GitHub-Delivery", "another")
	require.NoError(t, verifies(t, p, r))
	require.Equal(t, token, p.ReplayToken(r))

	// If the time is signed, the same body sent a minute later is another delivery.
	p = provide(t, "slack", configured(t)["slack"])
	r = signedSample(t, p, "", "evt_1")
	token = p.ReplayToken(r)
	require.NoError(t, p.Sign(r, keyOf(t, p), prooftest.Now().Add(time.Minute)))
	require.NotEqual(t, token, p.ReplayToken(r))
}

// For a request without a body, Zendesk signs only the time, in whole seconds. The query
// distinguishes two such requests.
func TestReplayTokensOfZendeskDifferByTheQueryWithoutABody(t *testing.T) {
	t.Parallel()
	p := provide(t, "zendesk", provider.Options{})
	token := func(query, body string) string {
		r := &provider.Request{Method: http.MethodGet, URL: prooftest.URL("https://hooks.example.com/webhooks/demo?" + query), Body: []byte(body)}
		require.NoError(t, p.Sign(r, keyOf(t, p), prooftest.Now()))
		return p.ReplayToken(r)
	}
	require.Equal(t, token("ticket=1", ""), token("ticket=1", ""))
	require.NotEqual(t, token("ticket=1", ""), token("ticket=2", ""))
	require.Equal(t, token("ticket=1", "{}"), token("ticket=2", "{}"), "the body is signed, and the query is not the event")
}

// Some senders send events with equal bodies, and name their types only in an unsigned header. The
// replay guard must not treat one such event as a replay of another.
func TestReplayTokensDifferByTheTypesOfOneBody(t *testing.T) {
	t.Parallel()
	namesTypes := func(name string) []place {
		samples := deliveriesOf(t, name).samples
		return slices.DeleteFunc(slices.Clone(samples.Type), func(at place) bool {
			return !strings.HasPrefix(string(at), "header:") || !slices.ContainsFunc(samples.Distinct, func(group []string) bool { return slices.Contains(group, at.general()) })
		})
	}
	require.NotEmpty(t, namesTypes("shopify"))
	everyProvider(t, func(t *testing.T, p *provider.Provider, r *provider.Request) {
		for _, at := range namesTypes(p.Name) {
			changed, err := at.with(r, "another")
			require.NoError(t, err)
			if p.ReplayToken != nil && verifies(t, p, changed) == nil {
				require.NotEqual(t, p.ReplayToken(r), p.ReplayToken(changed), p.Name)
			}
		}
	})
}

// TestCapturedDeliveriesAreDuplicates covers senders whose event id is part of the signed
// content. They need no replay guard.
func TestCapturedDeliveriesAreDuplicates(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"mollie", "plaid"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := provide(t, name, configured(t)[name])
			r := signedSample(t, p, "", "")
			first, err := p.Events(r)
			require.NoError(t, err)
			r.Header.Set("X-Request-Id", "another")
			r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
			again, err := p.Events(r)
			require.NoError(t, err)
			require.Equal(t, first, again)
		})
	}
}
