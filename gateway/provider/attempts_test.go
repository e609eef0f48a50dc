package provider

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/gateway/provider/internal/prooftest"
)

// TestAttempts reads what senders say of their attempts, each in its place.
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
		r := &Request{Header: c.header, Body: []byte(c.body)}
		require.Equal(t, RetryInfo{Number: c.number, Redelivery: c.number > 0}, provide(t, c.name, Options{}).Retry(r), c.name)
	}
}

// TestFloors are long enough for the longest way a delivery can come back.
func TestFloors(t *testing.T) {
	t.Parallel()
	for name, atLeast := range map[string]time.Duration{
		"adyen": 30 * day, "aws-sns": 2 * time.Hour, "braintree": day, "coinbase": 3 * day, "docusign": 30 * day, "hubspot": day,
		"intercom": time.Hour, "jira": 3 * day, "linear": 14 * time.Hour, "mailgun": 16 * time.Hour, "mollie": 2 * day, "postmark": day,
		"razorpay": 15 * day, "sendgrid": day, "zendesk": time.Hour, "zoom": 3 * time.Hour,
	} {
		require.GreaterOrEqual(t, provide(t, name, Options{}).Floor(), atLeast, name)
	}
}

// TestRetrySignsOfLineTwitchAndPubSub reads what senders say of their attempts.
func TestRetrySignsOfLineTwitchAndPubSub(t *testing.T) {
	t.Parallel()
	line := provide(t, "line", Options{})
	r := line.Sample("", "", prooftest.Now())
	require.Zero(t, line.Retry(r))
	r.Body = []byte(`{"events":[{"webhookEventId":"a","deliveryContext":{"isRedelivery":true}}]}`)
	require.Equal(t, RetryInfo{Redelivery: true}, line.Retry(r))

	twitch := provide(t, "twitch", Options{})
	r = twitch.Sample("", "", prooftest.Now())
	require.Zero(t, twitch.Retry(r))
	r.Header.Set("Twitch-Eventsub-Message-Retry", "2")
	require.Equal(t, RetryInfo{Number: 2, Redelivery: true}, twitch.Retry(r))

	pubsub := provide(t, "google-pubsub", configured()["google-pubsub"])
	require.Zero(t, pubsub.Retry(pubsub.Sample("", "", prooftest.Now())))
	require.Zero(t, pubsub.Retry(&Request{Body: []byte(`{"deliveryAttempt":1}`)}))
	require.Equal(t, RetryInfo{Number: 4, Redelivery: true}, pubsub.Retry(&Request{Body: []byte(`{"deliveryAttempt":5}`)}))
}

func TestSlackSaysWhyItTriesAgain(t *testing.T) {
	t.Parallel()
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
