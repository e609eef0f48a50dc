package catalog

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/gateway/provider"
	"github.com/hooklatch/hooklatch/gateway/provider/internal/prooftest"
	"github.com/hooklatch/hooklatch/outbox/secret"
)

// signedAnew maps each sender whose retries carry a new signed time to the evidence for the new
// time. Only these senders may have a tolerance that is shorter than the RetryWindow.
var signedAnew = map[string]string{
	"calendly":          "Calendly's example code refuses a time that is 3 minutes old, although it retries for a day",
	"clerk":             "Standard Webhooks: the signed time is the time of the attempt",
	"google-pubsub":     "a token is issued for each push and expires after an hour",
	"hubspot":           "the signed body counts the attempts",
	"mux":               "the signed body lists the attempts before",
	"openai":            "Standard Webhooks: the signed time is the time of the attempt",
	"paddle":            "Paddle's library refuses a time that is 5 seconds old",
	"plaid":             "Plaid's documentation refuses a token that is 5 minutes old, although it retries for a day",
	"resend":            "Standard Webhooks: the signed time is the time of the attempt",
	"slack":             "the signed time is the time of the request",
	"standard-webhooks": "Standard Webhooks: the signed time is the time of the attempt",
	"stripe":            "documented: a new signature and time for each attempt",
	"svix":              "Standard Webhooks: the signed time is the time of the attempt",
	"twitch":            "Twitch's documentation refuses a time that is 10 minutes old",
	"workos":            "WorkOS's library refuses a time that is 3 minutes old, although it retries for days",
}

// TestTheLastRetryIsWithinTheTolerance checks that the last retry is accepted if it carries the
// signed time of the first attempt.
func TestTheLastRetryIsWithinTheTolerance(t *testing.T) {
	t.Parallel()
	everyProvider(t, func(t *testing.T, p *provider.Provider, r *provider.Request) {
		_, err := p.Verify(t.Context(), r, []secret.Value{keyOf(t, p)}, prooftest.Now().Add(p.RetryWindow))
		if signedAnew[p.Name] != "" {
			require.Error(t, err, "the tolerance is as long as RetryWindow: signedAnew need not name it")
			return
		}
		require.NoError(t, err)
	})
}
