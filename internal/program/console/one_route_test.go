package console_test

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/internal/program/console"
	"github.com/hooklatch/hooklatch/internal/program/console/signin"
	"github.com/hooklatch/hooklatch/internal/program/routes"
	"github.com/hooklatch/hooklatch/outbox"
	"github.com/hooklatch/hooklatch/outbox/identity"
	"github.com/hooklatch/hooklatch/outbox/inbox"
	"github.com/hooklatch/hooklatch/outbox/ledger"
	"github.com/hooklatch/hooklatch/worker/destination"
	"github.com/hooklatch/hooklatch/worker/route"
)

// threeRoutes returns a table with the routes mail, erp and crm.
func threeRoutes(t *testing.T) *route.Table {
	t.Helper()
	sender, err := destination.NewHTTP(destination.HTTPOptions{Name: "app", URL: "https://app.example/hook"})
	require.NoError(t, err)
	o := route.Options{Targets: []route.Target{{Name: "app", Queue: "dst_app", Policy: ledger.AtLeastOnce, Sender: sender}}}
	for _, name := range []string{"mail", "erp", "crm"} {
		o.Routes = append(o.Routes, route.Route{Name: name, From: []string{"stripe"}, Types: []string{"invoice.paid"}, To: "app"})
	}
	table, err := route.Compile(o)
	require.NoError(t, err)
	return table
}

// byRoutes dispatches an event with the routes of a table, and returns the keys of its effects by
// route.
func (b *bundle) byRoutes(t *testing.T, table *route.Table, id string) map[string]string {
	t.Helper()
	ref := identity.EventRef{Source: "stripe", EventID: identity.EventID(id)}
	e, err := b.box.Inbox().Event(t.Context(), ref)
	require.NoError(t, err)
	planned, err := table.Plan(t.Context(), e)
	require.NoError(t, err)
	_, err = b.box.Dispatch(t.Context(), outbox.Dispatch{Event: e, Effects: planned})
	require.NoError(t, err)
	keys := map[string]string{}
	for _, p := range planned {
		keys[p.Route] = p.IdempotencyKey()
	}
	return keys
}

// routing makes a table the current routes.
func routing(table *route.Table) func(*console.Options) {
	current := console.Routes{Table: table}
	for _, name := range table.Names() {
		current.List = append(current.List, routes.Route{Name: name})
	}
	return func(o *console.Options) { o.Routes = func() console.Routes { return current } }
}

// An operator can replay one route of an event, on the event's page or through the API. The page
// predicts the changes, and the effects of the other routes remain unchanged.
func TestOneRouteIsReplayed(t *testing.T) {
	t.Parallel()
	table := threeRoutes(t)
	b := setup(t, routing(table))
	ref := b.accept(t, "evt_1", "invoice.paid", `{"customer":"cus_42"}`).EventRef
	keys := b.byRoutes(t, table, "evt_1")
	refused := ledger.Settlement{Verdict: ledger.VerdictRefused, ResponseStatus: 422}
	b.attempt(t, keys["mail"], ledger.Settlement{Verdict: ledger.VerdictDone})
	b.attempt(t, keys["erp"], refused)
	b.attempt(t, keys["crm"], refused)

	ask := b.page(t, "/events/stripe/evt_1/replay")
	wellMade(t, "/events/stripe/evt_1/replay", ask)
	require.Contains(t, ask, `<tr><td>erp</td><td class="number">0</td><td class="number">1</td></tr>`)
	require.Contains(t, ask, `<tr><td>crm</td><td class="number">0</td><td class="number">1</td></tr>`)
	require.NotContains(t, ask, `<tr><td>mail</td>`, "the effect of mail is done")
	require.Contains(t, ask, `<option>mail</option><option>erp</option><option>crm</option>`)

	for _, wrong := range []string{"erb", "erp\x00", strings.Repeat("x", 10<<10)} {
		got := b.post("/events/stripe/evt_1/replay", url.Values{"route": {wrong}})
		require.Equal(t, http.StatusBadRequest, got.Code)
		require.Contains(t, got.Body.String(), "the configuration has no such route")
		require.Less(t, got.Body.Len(), 8<<10)
	}
	got := b.post("/events/stripe/evt_1/replay", url.Values{"route": {"erp"}, "reason": {"the body was wrong"}})
	require.Equal(t, http.StatusSeeOther, got.Code, got.Body)
	b.byRoutes(t, table, "evt_1")
	require.Equal(t, ledger.EffectPending, b.effect(t, keys["erp"]).State)
	require.Equal(t, ledger.EffectFailed, b.effect(t, keys["crm"]).State)
	require.Equal(t, ledger.EffectDone, b.effect(t, keys["mail"]).State)
	require.Contains(t, b.page(t, "/events/stripe/evt_1"), "only route erp: the body was wrong")

	// Through the API, a replay with new keys creates a new effect of the route.
	answer := b.answer(asking{"/events/stripe/evt_1/replay", `{"route":"mail","new_keys":true}`}.request(signin.Operator))
	require.Equal(t, http.StatusOK, answer.Code, answer.Body)
	anew := b.byRoutes(t, table, "evt_1")
	require.Len(t, anew, 1)
	require.NotEqual(t, keys["mail"], anew["mail"])
	replays, err := b.box.Inbox().EventReplays(t.Context(), ref)
	require.NoError(t, err)
	require.Equal(t, []string{"erp", "mail"}, []string{replays[0].Route, replays[1].Route})
	require.Equal(t, http.StatusBadRequest, b.answer(asking{"/events/stripe/evt_1/replay", `{"route":"none"}`}.request(signin.Operator)).Code)
}

// A bulk run replays one route of its events.
func TestARunReplaysOneRoute(t *testing.T) {
	t.Parallel()
	table := threeRoutes(t)
	b := setup(t, routing(table))
	b.accept(t, "evt_1", "invoice.paid", `{}`)
	keys := b.byRoutes(t, table, "evt_1")
	for _, key := range keys {
		b.attempt(t, key, ledger.Settlement{Verdict: ledger.VerdictRefused, ResponseStatus: 422})
	}
	other := b.accept(t, "evt_2", "invoice.voided", `{}`)
	_, err := b.box.Dispatch(t.Context(), outbox.Dispatch{Event: other})
	require.NoError(t, err)

	require.Contains(t, b.page(t, "/runs/new?of=events"), "<strong>2</strong> events")
	preview := b.page(t, "/runs/new?of=events&route=erp")
	wellMade(t, "/runs/new", preview)
	require.Contains(t, preview, "<strong>1</strong> events", "the route has one type")
	require.Contains(t, preview, "replay events: route erp, source stripe, type invoice.paid")
	require.Contains(t, preview, "<option selected>erp</option>")
	require.Contains(t, preview, "0 new effects created, 1 tried again")
	require.Contains(t, preview, "hooklatch events replay --route erp")
	for query, want := range map[string]string{
		"route=erb": "the configuration has no such route", "route=erp&state=failed": "leave out the route or the state",
		"route=erp&action=release&state=held": "only a replay can be limited",
	} {
		got := b.get("/runs/new?of=events&" + query)
		require.Equal(t, http.StatusBadRequest, got.Code, query)
		require.Contains(t, got.Body.String(), want)
	}
	var data struct {
		Order  string
		Sample []struct {
			Forecast struct {
				Created int
				Again   int `json:"tried_again"`
			}
		}
	}
	require.NoError(t, json.Unmarshal(b.get("/api/runs/new?of=events&route=erp").Body.Bytes(), &data))
	require.Equal(t, 1, data.Sample[0].Forecast.Again)
	require.Contains(t, data.Order, "route=erp")

	require.Equal(t, http.StatusSeeOther, b.post(orderOf(t, preview), nil).Code)
	run, err := b.runs(t).Work(t.Context(), 1, time.Now().Add(time.Hour), nil)
	require.NoError(t, err)
	require.Equal(t, int64(1), run.Reopened)
	b.byRoutes(t, table, "evt_1")
	require.Equal(t, ledger.EffectPending, b.effect(t, keys["erp"]).State)
	require.Equal(t, ledger.EffectFailed, b.effect(t, keys["mail"]).State)
	require.Equal(t, ledger.EffectFailed, b.effect(t, keys["crm"]).State)
}

// A dispatch that failed created no effects for any route, so the event cannot be replayed for one
// route only.
func TestOneRouteOfAFailedDispatchIsNotReplayed(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.accept(t, "evt_1", "invoice.paid", `{}`)
	_, err := b.pool.Exec(t.Context(), `UPDATE hooklatch.processed_events SET outcome = 'failed', processed_at = now()`)
	require.NoError(t, err)
	got := b.post("/events/stripe/evt_1/replay", url.Values{"route": {"paid"}})
	require.Equal(t, http.StatusConflict, got.Code)
	require.Contains(t, got.Body.String(), "For a single route: its dispatch failed for all routes.")
	e, err := b.box.Inbox().Event(t.Context(), identity.EventRef{Source: "stripe", EventID: "evt_1"})
	require.NoError(t, err)
	require.Equal(t, inbox.Failed, e.Outcome)
}
