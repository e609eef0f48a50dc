package console_test

import (
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/internal/program/console/signin"
	"github.com/hooklatch/hooklatch/outbox/ledger"
)

// boxes returns the values of a list's checkboxes.
func boxes(t testing.TB, page string) (values []string) {
	t.Helper()
	for _, n := range nodes(t, page) {
		if n.Data == "input" && attribute(n, "name") == "row" && attribute(n, "type") == "checkbox" {
			values = append(values, attribute(n, "value"))
		}
	}
	return values
}

// actions returns the paths of a list's actions on selected rows.
func actions(t testing.TB, page string) (paths []string) {
	t.Helper()
	for _, n := range nodes(t, page) {
		if to := attribute(n, "formaction"); to != "" {
			paths = append(paths, to)
		}
	}
	return paths
}

// confirmed returns the form of a confirmation page.
func confirmed(t testing.TB, page string) url.Values {
	t.Helper()
	form := url.Values{}
	for _, n := range nodes(t, page[strings.Index(page, "<main"):]) {
		if n.Data == "input" && attribute(n, "type") == "hidden" {
			form.Add(attribute(n, "name"), attribute(n, "value"))
		}
	}
	require.Equal(t, "yes", form.Get("confirmed"), page)
	return form
}

// Two of three failed effects are selected and retried, after a confirmation. The operator log has
// a row for each.
func TestSelectedRowsAreRetried(t *testing.T) {
	t.Parallel()
	b := setup(t)
	keys := []string{b.failed(t, "evt_1"), b.failed(t, "evt_2"), b.failed(t, "evt_3")}
	list := b.page(t, "/effects?state=failed")
	wellMade(t, "/effects", list)
	require.Equal(t, []string{keys[2], keys[1], keys[0]}, boxes(t, list))
	require.Equal(t, []string{"/effects/selected/retry", "/effects/selected/cancel"}, actions(t, list), "a failed effect cannot be parked")

	got := b.post("/effects/selected/retry", url.Values{"row": {keys[0], keys[2], keys[0]}, "from": {"/effects?state=failed"}})
	require.Equal(t, http.StatusOK, got.Code, got.Body)
	page := got.Body.String()
	wellMade(t, "/effects/selected/retry", page)
	require.Contains(t, page, "Retry 2 effects?")
	require.Contains(t, page, "Each effect is attempted again immediately")
	for _, key := range keys {
		require.Equal(t, ledger.EffectFailed, b.effect(t, key).State, "the confirmation page changes nothing")
	}

	form := confirmed(t, page)
	form.Set("reason", "they are back")
	got = b.post("/effects/selected/retry", form)
	require.Equal(t, http.StatusSeeOther, got.Code, got.Body)
	require.Equal(t, "/effects?state=failed&done=effects-retry-2", got.Header().Get("Location"))
	require.Contains(t, b.page(t, got.Header().Get("Location")), "2 effects tried again and recorded.")
	require.Equal(t, ledger.EffectPending, b.effect(t, keys[0]).State)
	require.Equal(t, ledger.EffectFailed, b.effect(t, keys[1]).State)
	require.Equal(t, ledger.EffectPending, b.effect(t, keys[2]).State)
	log, err := b.box.Ledger().OperatorLog(t.Context(), time.Time{}, 0)
	require.NoError(t, err)
	require.Len(t, log, 2)
	for _, row := range log {
		require.Equal(t, "they are back", row.Reason)
	}

	// Submitting the same form again changes nothing.
	got = b.post("/effects/selected/retry", form)
	require.Equal(t, http.StatusConflict, got.Code)
	require.Contains(t, got.Body.String(), "2 left unchanged, because their states do not allow this action")
	log, err = b.box.Ledger().OperatorLog(t.Context(), time.Time{}, 0)
	require.NoError(t, err)
	require.Len(t, log, 2)
}

// An effect that may be applied twice is left out, unless the operator has checked the receiver.
func TestSelectedRowsInDoubtAreLeftOut(t *testing.T) {
	t.Parallel()
	b := setup(t)
	failed, doubtful := b.failed(t, "evt_1"), b.doubted(t, "evt_2")
	rows := url.Values{"row": {failed, doubtful}, "from": {"/effects"}}
	page := b.post("/effects/selected/retry", rows).Body.String()
	wellMade(t, "/effects/selected/retry", page)
	require.Contains(t, page, "may be applied twice")
	require.Contains(t, page, "This applies to 1 of the selected rows.")
	form := confirmed(t, page)
	got := b.post("/effects/selected/retry", form)
	require.Equal(t, http.StatusOK, got.Code)
	wellMade(t, "/effects/selected/retry", got.Body.String())
	require.Contains(t, got.Body.String(), "1 of 2 tried again and recorded.")
	require.Contains(t, got.Body.String(), "the receiver was not checked")
	require.Equal(t, ledger.EffectPending, b.effect(t, failed).State)
	require.Equal(t, ledger.EffectParked, b.effect(t, doubtful).State)
	form.Set("looked", "yes")
	require.Contains(t, b.post("/effects/selected/retry", form).Body.String(), "1 of 1 tried again and recorded.")
	require.Equal(t, ledger.EffectInDoubt, b.effect(t, doubtful).State)
}

// Any id can be selected, including ids that a form would change.
func TestEventsWithAnyIDAreSelected(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for _, id := range []string{hostile, "line\nbreak", "a/b c%2F+&", "evt_1"} {
		b.dispatch(t, b.accept(t, id, "invoice.paid", `{}`), ledger.AtLeastOnce)
	}
	list := b.page(t, "/events")
	wellMade(t, "/events", list)
	require.Equal(t, []string{"/events/selected/replay", "/events/selected/release", "/events/selected/drop"}, actions(t, list))
	rows := boxes(t, list)
	require.Len(t, rows, 4)
	page := b.post("/events/selected/replay", url.Values{"row": rows}).Body.String()
	wellMade(t, "/events/selected/replay", page)
	require.Contains(t, page, "Replay 4 events?")
	got := b.post("/events/selected/replay", confirmed(t, page))
	require.Equal(t, "/events?done=events-replay-4", got.Header().Get("Location"), got.Body)
	var replayed int
	require.NoError(t, b.pool.QueryRow(t.Context(), `SELECT count(*) FROM hooklatch.processed_events WHERE generation = 2`).Scan(&replayed))
	require.Equal(t, 4, replayed)

	got = b.post("/events/selected/release", url.Values{"row": rows})
	require.Equal(t, http.StatusOK, got.Code)
	require.Contains(t, got.Body.String(), "No selected row is in a state that allows this action.")
}

// The number of selected rows is limited, and a viewer cannot select rows.
func TestSelectionsAreLimited(t *testing.T) {
	t.Parallel()
	b := setup(t)
	key := b.failed(t, "evt_1")
	viewed := b.as(signin.Viewer, "/effects").Body.String()
	require.Empty(t, boxes(t, viewed))
	require.Empty(t, actions(t, viewed))
	many := make([]string, 101)
	for i := range many {
		many[i] = "hl_" + strconv.Itoa(i)
	}
	for _, c := range []struct {
		role signin.Role
		path string
		form url.Values
		code int
		says string
	}{
		{signin.Viewer, "/effects/selected/retry", url.Values{"row": {key}, "confirmed": {"yes"}}, http.StatusForbidden, "This requires the role operator"},
		{signin.Operator, "/effects/selected/retry", nil, http.StatusBadRequest, "No row is selected"},
		{signin.Operator, "/effects/selected/retry", url.Values{"row": many}, http.StatusBadRequest, "The limit is 100 rows"},
		{signin.Operator, "/effects/selected/retry", url.Values{"row": many[:100]}, http.StatusOK, "100 not found"},
		{signin.Operator, "/effects/selected/retry", url.Values{"row": {"%zz", "\x00", hostile}, "confirmed": {"yes"}}, http.StatusConflict, "3 not found"},
		{signin.Operator, "/effects/selected/explode", url.Values{"row": {key}}, http.StatusNotFound, "Page not found"},
		{signin.Operator, "/events/selected/erase", url.Values{"row": {"stripe/evt_1"}}, http.StatusNotFound, "Page not found"},
		{signin.Operator, "/events/selected/replay", url.Values{"row": {"stripe", "stripe/", "/x"}}, http.StatusOK, "3 not found"},
		{signin.Operator, "/effects/selected/retry", url.Values{"row": {key}, "from": {"https://evil.example/"}}, http.StatusOK, `href="/"`},
	} {
		got := b.sent(c.role, http.MethodPost, c.path, c.form)
		require.Equal(t, c.code, got.Code, "%s %v: %s", c.path, c.form, got.Body)
		require.Contains(t, got.Body.String(), c.says)
		wellMade(t, c.path, got.Body.String())
	}
	require.Equal(t, ledger.EffectFailed, b.effect(t, key).State)
	require.Equal(t, http.StatusUnsupportedMediaType, b.post("/api/effects/selected/retry", url.Values{"row": {key}, "confirmed": {"yes"}}).Code, "selections are not part of the API")
	require.Equal(t, http.StatusNotFound, b.get("/effects/selected").Code)
	require.True(t, slices.Contains(actions(t, b.as(signin.Operator, "/effects?state=pending,failed").Body.String()), "/effects/selected/park"))
}
