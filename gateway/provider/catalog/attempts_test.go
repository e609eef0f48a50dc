package catalog

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/gateway/provider"
	"github.com/hooklatch/hooklatch/gateway/provider/internal/proof"
	"github.com/hooklatch/hooklatch/gateway/provider/internal/prooftest"
)

// TestAttempts checks that the attempt information of each sender is read from that sender's
// own fields.
func TestAttempts(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		header http.Header
		body   string
		number int
	}{
		{name: "coinbase", body: `{"attempt_number":1}`},
		{name: "coinbase", body: `{"attempt_number":3}`, number: 2},
		{name: "docusign", body: `{"retryCount":2}`, number: 2},
		{name: "hubspot", body: `[{"attemptNumber":0}]`},
		{name: "hubspot", body: `[{"attemptNumber":4}]`, number: 4},
		{name: "intercom", body: `{"delivery_attempts":1}`},
		{name: "intercom", body: `{"delivery_attempts":2}`, number: 1},
		{name: "jira", header: http.Header{"X-Atlassian-Webhook-Retry": {"5"}}, number: 5},
	} {
		r := &provider.Request{Header: c.header, Body: []byte(c.body)}
		require.Equal(t, provider.RetryInfo{Number: c.number, Redelivery: c.number > 0}, provide(t, c.name, provider.Options{}).Retry(r), c.name)
	}
}

// TestFloors checks that Floor is at least the period in which a sender may resend a delivery.
func TestFloors(t *testing.T) {
	t.Parallel()
	for name, atLeast := range map[string]time.Duration{
		"adyen": 30 * proof.Day, "aws-sns": 2 * time.Hour, "braintree": proof.Day, "coinbase": 3 * proof.Day, "docusign": 30 * proof.Day, "hubspot": 6 * proof.Day,
		"intercom": time.Hour, "jira": 3 * proof.Day, "linear": 14 * time.Hour, "mailgun": 16 * time.Hour, "mollie": 2 * proof.Day, "postmark": proof.Day,
		"razorpay": 15 * proof.Day, "sendgrid": proof.Day, "zendesk": time.Hour, "zoom": 3 * time.Hour,
	} {
		require.GreaterOrEqual(t, provide(t, name, provider.Options{}).Floor(), atLeast, name)
	}
}

// TestRetrySignsOfLineTwitchAndPubSub checks the attempt information of LINE, Twitch and
// Pub/Sub.
func TestRetrySignsOfLineTwitchAndPubSub(t *testing.T) {
	t.Parallel()
	line := provide(t, "line", provider.Options{})
	r := line.Sample("", "", prooftest.Now())
	require.Zero(t, line.Retry(r))
	r.Body = []byte(`{"events":[{"webhookEventId":"a","deliveryContext":{"isRedelivery":true}}]}`)
	require.Equal(t, provider.RetryInfo{Redelivery: true}, line.Retry(r))

	twitch := provide(t, "twitch", provider.Options{})
	r = twitch.Sample("", "", prooftest.Now())
	require.Zero(t, twitch.Retry(r))
	r.Header.Set("Twitch-Eventsub-Message-Retry", "2")
	require.Equal(t, provider.RetryInfo{Number: 2, Redelivery: true}, twitch.Retry(r))

	pubsub := provide(t, "google-pubsub", configured(t)["google-pubsub"])
	require.Zero(t, pubsub.Retry(pubsub.Sample("", "", prooftest.Now())))
	require.Zero(t, pubsub.Retry(&provider.Request{Body: []byte(`{"deliveryAttempt":1}`)}))
	require.Equal(t, provider.RetryInfo{Number: 4, Redelivery: true}, pubsub.Retry(&provider.Request{Body: []byte(`{"deliveryAttempt":5}`)}))
}

func TestSlackSaysWhyItTriesAgain(t *testing.T) {
	t.Parallel()
	slack := provide(t, "slack", provider.Options{})
	require.Equal(t, provider.RetryInfo{Number: 1, Reason: "http_error", Redelivery: true},
		slack.Retry(&provider.Request{Header: http.Header{"X-Slack-Retry-Num": {"1"}, "X-Slack-Retry-Reason": {"http_error"}}}))
}

func TestFloor(t *testing.T) {
	t.Parallel()
	require.Equal(t, time.Hour, (&provider.Provider{}).Floor())
	require.Equal(t, time.Hour, (&provider.Provider{RetryWindow: 15 * time.Second}).Floor())
	require.Equal(t, 6*proof.Day, (&provider.Provider{RetryWindow: 3 * proof.Day, ResendWindow: 5 * proof.Day}).Floor())
	require.Equal(t, 30*proof.Day, (&provider.Provider{RetryWindow: 3 * proof.Day, ResendWindow: 30 * proof.Day}).Floor())
	for name, want := range map[string]time.Duration{
		"stripe": 30 * proof.Day, "github": 3 * proof.Day, "shopify": 2 * proof.Day, "slack": 2 * proof.Day, "twilio": 8 * time.Hour,
		"standard-webhooks": 151*time.Hour + 10*time.Minute,
	} {
		require.Equal(t, want, provide(t, name, configured(t)[name]).Floor(), name)
	}
}
