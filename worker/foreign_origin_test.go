package worker

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/riverqueue/river"
	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/internal/riverjob"
	"github.com/hooklatch/hooklatch/outbox/secret"
	"github.com/hooklatch/hooklatch/worker/destination"
	"github.com/hooklatch/hooklatch/worker/lane"
	"github.com/hooklatch/hooklatch/worker/route"
)

func TestASignedRequestToAForeignOriginWaitsForAPerson(t *testing.T) {
	t.Parallel()
	b := setup(t)
	foreign := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("was called") }))
	t.Cleanup(foreign.Close)
	sender, err := destination.NewHTTP(destination.HTTPOptions{
		Name: "app", URL: "http://localhost:1/hooks",
		Sign: &destination.Sign{StandardWebhooks: []secret.Value{secret.New("whsec_MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIz")}},
	})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, sender.Close()) })
	// The breaker opens at the first failure of the destination. A request to a foreign origin
	// does not count as a failure.
	b.opts.Destinations = []DestinationOptions{{Name: "app", Sender: sender, Breaker: lane.Breaker{Failures: 1}}}
	b.opts.Routes = []route.Route{{Name: "elsewhere", From: []string{"*"}, To: "app", HTTP: &route.HTTPRequest{URL: `"` + foreign.URL + `/"`}}}
	w := b.worker(t)
	events := b.start(t, w)
	b.accept(t, "evt_1", false)

	out := outputOf(t, next(t, events, riverjob.KindEffect, river.EventKindJobCancelled))
	require.Equal(t, "parked", out.Outcome)
	require.Equal(t, 1, b.count(t, `SELECT count(*) FROM hooklatch.effects
		WHERE state = 'parked' AND attempt = 1 AND maybe_applied_since IS NULL AND error LIKE '%only to the origin of its url or to one of its sign_origins%'`))
	require.Zero(t, b.count(t, `SELECT count(*) FROM hooklatch.destinations WHERE breaker_state <> 'closed'`))
}
