package provider

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
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
