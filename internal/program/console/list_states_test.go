package console_test

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/net/html"

	"github.com/hooklatch/hooklatch/outbox/ledger"
)

// statesOf returns the words of the states in the row with a link to an id, each with its colour.
func statesOf(t testing.TB, page, id string) (states []string) {
	t.Helper()
	for _, row := range nodes(t, page) {
		if row.Data != "tr" {
			continue
		}
		is := false
		var found []string
		for n := range row.Descendants() {
			is = is || n.Data == "a" && strings.HasSuffix(attribute(n, "href"), "/"+id)
			if n.Data == "span" && strings.HasPrefix(attribute(n, "class"), "state ") {
				found = append(found, strings.TrimPrefix(attribute(n, "class"), "state ")+": "+wordsOf(n))
			}
		}
		if is {
			states = append(states, found...)
		}
	}
	return states
}

// wordsOf returns the text of an element.
func wordsOf(of *html.Node) string {
	var text strings.Builder
	for n := range of.Descendants() {
		if n.Type == html.TextNode {
			text.WriteString(n.Data)
		}
	}
	return strings.TrimSpace(text.String())
}

// No list and no page shows an event with a failed effect in the colour of success.
func TestAnEventWithAFailedEffectIsNotGreen(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.failed(t, "evt_failed")
	done := b.dispatch(t, b.accept(t, "evt_done", "invoice.paid", `{}`), ledger.AtLeastOnce)
	b.attempt(t, done, ledger.Settlement{Verdict: ledger.VerdictDone, ResponseStatus: 200})
	b.doubted(t, "evt_parked")
	b.accept(t, "evt_waits", "invoice.paid", `{}`)
	list := b.page(t, "/events")
	require.Equal(t, []string{"waiting: dispatched", "failed: failed"}, statesOf(t, list, "evt_failed"))
	require.Equal(t, []string{"waiting: dispatched", "good: done"}, statesOf(t, list, "evt_done"))
	require.Equal(t, []string{"waiting: dispatched", "parked: parked"}, statesOf(t, list, "evt_parked"))
	require.Equal(t, []string{"waiting: received"}, statesOf(t, list, "evt_waits"))
	require.NotContains(t, b.page(t, "/events/stripe/evt_failed"), `class="state good"`)

	for query, want := range map[string][]string{
		"effects=failed":    {"evt_failed"},
		"effects=attention": {"evt_parked", "evt_failed"},
		"effects=done":      {"evt_done"},
		"effects=none":      {"evt_waits"},
		"effects=failed&state=dispatched&type=invoice.*": {"evt_failed"},
		"effects=failed,none":                            {"evt_waits", "evt_failed"},
		"effects=cancelled":                              nil,
	} {
		require.Equal(t, want, b.found(t, "/events", query), query)
	}
	require.Contains(t, b.page(t, "/events?effects=failed"), "hooklatch events list --effects failed")
	got := b.get("/events?effects=" + url.QueryEscape("lost%\x00"))
	require.Equal(t, http.StatusBadRequest, got.Code)
	require.Contains(t, got.Body.String(), "allowed are failed, parked, in_doubt")

	var answer struct {
		Rows []struct {
			ID     string         `json:"event_id"`
			States map[string]int `json:"effect_states"`
		}
	}
	require.NoError(t, json.Unmarshal(b.get("/api/events?effects=failed,none").Body.Bytes(), &answer))
	require.Len(t, answer.Rows, 2)
	require.Equal(t, map[string]int{}, answer.Rows[0].States)
	require.Equal(t, map[string]int{"failed": 1}, answer.Rows[1].States)
}

// A gateway's role may lack the right to read links. The list of events then shows no states of
// effects.
func TestAListWithoutTheRightToReadLinks(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.failed(t, "evt_1")
	_, err := b.pool.Exec(t.Context(), `DO $$ BEGIN EXECUTE format('CREATE ROLE %I', 'half_' || current_database()); END $$`)
	require.NoError(t, err)
	_, err = b.pool.Exec(t.Context(), `DO $$ BEGIN EXECUTE format('GRANT USAGE ON SCHEMA hooklatch TO %1$I; GRANT SELECT ON hooklatch.processed_events, hooklatch.effects TO %1$I; ALTER DATABASE %2$I SET role TO %1$I', 'half_' || current_database(), current_database()); END $$`)
	require.NoError(t, err)
	b.pool.Reset()
	list := b.page(t, "/events")
	require.Equal(t, []string{"waiting: dispatched"}, statesOf(t, list, "evt_1"))
}

// An effect's row shows its route and its event's type.
func TestEffectsShowTheirRouteAndType(t *testing.T) {
	t.Parallel()
	b := setup(t)
	key := b.failed(t, "evt_1")
	page := b.page(t, "/effects?route=paid&type=invoice.*")
	require.Equal(t, []string{key}, listed(t, page))
	require.Contains(t, page, `<td>paid → app</td><td><span class="long">invoice.paid</span><br><a class="mono short" href="/events/stripe/evt_1">`)
}
