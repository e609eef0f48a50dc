package provider

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/gateway/provider/internal/prooftest"
)

func TestRetrySigns(t *testing.T) {
	t.Parallel()
	headers := retrySigns{number: inHeader("X-Retry-Num"), reason: inHeader("X-Retry-Reason"), token: inHeader("X-Token")}
	body := retrySigns{number: at("/attempts"), first: 1, again: at("/context/isRedelivery")}
	list := retrySigns{number: at("/0/attemptNumber")}
	for _, c := range []struct {
		name   string
		signs  retrySigns
		header http.Header
		body   string
		want   RetryInfo
	}{
		{name: "nothing", signs: headers},
		{name: "number and reason", signs: headers, header: http.Header{"X-Retry-Num": {"2"}, "X-Retry-Reason": {"http_timeout"}, "X-Token": {"t"}},
			want: RetryInfo{Number: 2, Reason: "http_timeout", Redelivery: true, Token: "t"}},
		{name: "zero", signs: headers, header: http.Header{"X-Retry-Num": {"0"}}},
		{name: "negative", signs: headers, header: http.Header{"X-Retry-Num": {"-3"}}},
		{name: "no number", signs: headers, header: http.Header{"X-Retry-Num": {"many"}}},
		{name: "too many", signs: headers, header: http.Header{"X-Retry-Num": {"1000001"}}},
		{name: "too long", signs: headers, header: http.Header{"X-Retry-Reason": {strings.Repeat("a", 65)}}},
		{name: "not printable", signs: headers, header: http.Header{"X-Retry-Reason": {"é"}}},
		{name: "first of one", signs: body, body: `{"attempts":1,"context":{"isRedelivery":false}}`},
		{name: "second", signs: body, body: `{"attempts":2}`, want: RetryInfo{Number: 1, Redelivery: true}},
		{name: "redelivery", signs: body, body: `{"context":{"isRedelivery":true}}`, want: RetryInfo{Redelivery: true}},
		{name: "no JSON", signs: body, body: `{`},
		{name: "list", signs: list, body: `[{"attemptNumber":3}]`, want: RetryInfo{Number: 3, Redelivery: true}},
	} {
		require.Equal(t, c.want, c.signs.of(&Request{Header: c.header, Body: []byte(c.body)}), c.name)
	}
	slack := provide(t, "slack", Options{})
	require.Equal(t, RetryInfo{Number: 1, Reason: "http_error", Redelivery: true},
		slack.Retry(&Request{Header: http.Header{"X-Slack-Retry-Num": {"1"}, "X-Slack-Retry-Reason": {"http_error"}}}))
}

func TestFloor(t *testing.T) {
	t.Parallel()
	require.Equal(t, time.Hour, (&Provider{}).Floor())
	require.Equal(t, time.Hour, (&Provider{RetryWindow: 15 * time.Second}).Floor())
	require.Equal(t, 6*day, (&Provider{RetryWindow: 3 * day, ResendWindow: 5 * day}).Floor())
	require.Equal(t, 30*day, (&Provider{RetryWindow: 3 * day, ResendWindow: 30 * day}).Floor())
	for name, want := range map[string]time.Duration{
		"stripe": 30 * day, "github": 3 * day, "shopify": 2 * day, "slack": 2 * day, "twilio": time.Hour,
		"standard-webhooks": 151*time.Hour + 10*time.Minute,
	} {
		require.Equal(t, want, provide(t, name, configured()[name]).Floor(), name)
	}
}

// TestReplayTokens are the same for what was signed, however it is spelled and
// whatever the unsigned headers say, and others for anything else.
func TestReplayTokens(t *testing.T) {
	t.Parallel()
	everyProvider(t, func(t *testing.T, p *Provider, r *Request) {
		if p.ReplayToken == nil {
			return
		}
		token := p.ReplayToken(r)
		require.NotEmpty(t, token)
		require.Equal(t, token, p.ReplayToken(r))
		other := signedSample(t, p, "", "evt_2")
		other.Body = append(other.Body, ' ')
		if !fixtures()[p.Name].inBody {
			require.NoError(t, p.Sign(other, keyOf(p), prooftest.Now()))
		}
		require.NotEqual(t, token, p.ReplayToken(other))
		require.Empty(t, p.ReplayToken(&Request{Header: http.Header{}, URL: prooftest.URL("")}), "nothing was signed")
	})
	p := provide(t, "github", Options{})
	r := signedSample(t, p, "", "evt_1")
	token := p.ReplayToken(r)
	r.Header.Set("X-Hub-Signature-256", "sha256="+strings.ToUpper(strings.TrimPrefix(r.Header.Get("X-Hub-Signature-256"), "sha256=")))
	r.Header.Set("X-GitHub-Delivery", "another")
	require.NoError(t, verifies(t, p, r))
	require.Equal(t, token, p.ReplayToken(r))
}

// TestCapturedDeliveriesAreDuplicates where the id of an event comes from what
// is signed: those senders need no replay guard.
func TestCapturedDeliveriesAreDuplicates(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"mollie", "plaid"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := provide(t, name, configured()[name])
			r := signedSample(t, p, "", "")
			first, err := p.Events(r)
			require.NoError(t, err)
			r.Header.Set("X-Request-Id", "another")
			r.Header.Set("Content-Type", formType)
			again, err := p.Events(r)
			require.NoError(t, err)
			require.Equal(t, first, again)
		})
	}
}
