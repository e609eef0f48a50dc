package console_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/internal/program/console"
	"github.com/hooklatch/hooklatch/internal/program/console/signin"
)

// testEvents simulates a gateway: the type of a test event determines the response. The tests of
// package app deliver real events.
type testEvents struct{}

// WhyNot implements console.TestEvents.
func (testEvents) WhyNot(source string) string {
	if source == "github" {
		return "its key is public"
	}
	return ""
}

// Prepare implements console.TestEvents.
func (testEvents) Prepare(source, eventType string) (console.TestEvent, error) {
	e := console.TestEvent{ID: "evt_test", URL: "http://127.0.0.1:8080/webhooks/" + source}
	answer := console.Delivered{Status: http.StatusOK, Result: "accepted", Took: 7 * time.Millisecond}
	switch eventType {
	case "unsigned":
		return e, errors.New("the key cannot sign")
	case "several":
		e.ID = ""
	case "refused":
		answer = console.Delivered{Status: http.StatusUnauthorized, Body: "<b>wrong_signature</b>"}
	case "away":
		answer = console.Delivered{Error: "connection refused"}
	}
	e.Deliver = func(context.Context) console.Delivered { return answer }
	return e, nil
}

// A test event is sent from its source's page. The action is recorded for the event before the
// event is delivered, and the page shows the response.
func TestATestEventIsSentFromThePageOfItsSource(t *testing.T) {
	t.Parallel()
	b := setup(t)
	require.Contains(t, b.page(t, "/sources/stripe"), `href="/sources/stripe/send"`)
	require.Contains(t, b.page(t, "/sources/github"), "No test event can be sent: Its key is public.")
	wellMade(t, "/sources/stripe/send", b.page(t, "/sources/stripe/send"))
	require.Equal(t, http.StatusConflict, b.get("/sources/github/send").Code)
	require.Equal(t, http.StatusNotFound, b.get("/sources/none/send").Code)
	require.Equal(t, http.StatusForbidden, b.sent(signin.Viewer, http.MethodPost, "/sources/stripe/send", nil).Code)
	require.Contains(t, b.sent(signin.Viewer, http.MethodGet, "/sources/stripe", nil).Body.String(), "This requires the role operator")

	got := b.post("/sources/stripe/send", url.Values{"reason": {"first try"}})
	require.Equal(t, http.StatusSeeOther, got.Code, got.Body)
	require.Equal(t, "/events/stripe/evt_test?done=send", got.Header().Get("Location"))
	b.accept(t, "evt_test", "invoice.paid", `{}`)
	page := b.page(t, got.Header().Get("Location"))
	require.Contains(t, page, "Test event sent, accepted and recorded.")
	require.Contains(t, page, "source.send of stripe/evt_test by")
	require.Contains(t, page, "first try")

	got = b.post("/sources/stripe/send", url.Values{"type": {"refused"}})
	require.Equal(t, http.StatusBadGateway, got.Code)
	wellMade(t, "/sources/stripe/send", got.Body.String())
	require.Contains(t, got.Body.String(), "The gateway answered 401")
	require.Contains(t, got.Body.String(), "&lt;b&gt;wrong_signature")
	got = b.post("/sources/stripe/send", url.Values{"type": {"away"}})
	require.Contains(t, got.Body.String(), "There is no response from http://127.0.0.1:8080/webhooks/stripe: connection refused")
	require.Contains(t, got.Body.String(), "admin.test_events")
	got = b.post("/sources/stripe/send", url.Values{"type": {"several"}})
	require.Equal(t, http.StatusOK, got.Code)
	require.Contains(t, got.Body.String(), "The gateway answered 200, accepted, after 7 ms.")
	got = b.post("/sources/stripe/send", url.Values{"type": {"unsigned"}})
	require.Equal(t, http.StatusConflict, got.Code)
	require.Contains(t, got.Body.String(), "The key cannot sign.")
	for _, wrong := range []string{"a\x00b", strings.Repeat("x", 10<<10)} {
		require.Equal(t, http.StatusBadRequest, b.post("/sources/stripe/send", url.Values{"type": {wrong}}).Code)
	}
	log, err := b.box.Ledger().OperatorLog(t.Context(), time.Time{}, 0)
	require.NoError(t, err)
	require.Len(t, log, 4)
	require.Equal(t, "stripe", log[0].Target, "the delivery has no single event")
}

// Programs get the gateway's response, whatever it is. The number of test events is limited.
func TestAProgramSendsATestEvent(t *testing.T) {
	t.Parallel()
	b := setup(t)
	send := func(body string) (sent struct {
		EventID string `json:"event_id"`
		Status  int
		Result  string
		Body    string
	}) {
		got := b.answer(asking{"/sources/stripe/send", body}.request(signin.Operator))
		require.Equal(t, http.StatusOK, got.Code, got.Body)
		require.NoError(t, json.Unmarshal(got.Body.Bytes(), &sent))
		return sent
	}
	sent := send(`{}`)
	require.Equal(t, "evt_test", sent.EventID)
	require.Equal(t, "accepted", sent.Result)
	require.Equal(t, http.StatusUnauthorized, send(`{"type":"refused"}`).Status)
	require.Eventually(t, func() bool { return b.post("/sources/stripe/send", nil).Code == http.StatusTooManyRequests }, patience, time.Millisecond)
	none := setup(t, func(o *console.Options) { o.TestEvents = nil })
	require.Contains(t, none.get("/sources/stripe/send").Body.String(), "This console sends no test events.")
}

// Without the database, nothing is recorded, so nothing is sent.
func TestNoTestEventIsSentUnrecorded(t *testing.T) {
	t.Parallel()
	gone := away(t)
	got := gone.post("/sources/stripe/send", nil)
	require.Equal(t, http.StatusServiceUnavailable, got.Code)
	require.NotContains(t, got.Body.String(), "accepted")
}
