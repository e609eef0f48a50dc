package console_test

import (
	"fmt"
	"net/http"
	"net/url"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/internal/program/console/signin"
	"github.com/hooklatch/hooklatch/internal/program/desk"
	"github.com/hooklatch/hooklatch/outbox/ledger"
)

// hidden returns the value of a hidden field in a page.
func hidden(t testing.TB, page, name string) string {
	t.Helper()
	for _, n := range nodes(t, page) {
		if n.Data == "input" && attribute(n, "type") == "hidden" && attribute(n, "name") == name {
			return attribute(n, "value")
		}
	}
	require.Fail(t, "the page has no hidden field "+name, page)
	return ""
}

// A form that is submitted twice is carried out once, even if the action has become possible again
// in between. A request to the API that is repeated with the same id is also carried out once.
func TestAFormThatIsSubmittedTwiceIsCarriedOutOnce(t *testing.T) {
	t.Parallel()
	b := setup(t)
	key := b.failed(t, "evt_1")
	b.passed(t)
	run := begun(t, b, 1)[0]
	paths := map[desk.Thing]string{
		desk.Events: "/events/stripe/evt_1", desk.Effects: "/effects/" + key, desk.Destinations: "/destinations/app", desk.Sources: "/sources/stripe", desk.Runs: "/runs/" + run,
	}
	for _, v := range desk.Verbs() {
		if v.Own {
			continue
		}
		ready := func() {
			states := append(v.From, "")
			for _, sql := range map[desk.Thing][]string{
				desk.Events: {fmt.Sprintf(`UPDATE hooklatch.processed_events SET outcome = '%s', processed_at = now()`, states[0])},
				desk.Effects: {fmt.Sprintf(`SET session_replication_role = replica; -- no trigger checks the transition
					UPDATE hooklatch.effects SET state = COALESCE(NULLIF('%s', ''), state) WHERE idempotency_key = '%s';
					RESET session_replication_role`, states[0], key)},
				desk.Destinations: {fmt.Sprintf(`UPDATE hooklatch.destinations SET operator_paused = '%[1]s' = 'paused',
					breaker_state = CASE WHEN '%[1]s' = 'paused' THEN 'closed' ELSE 'open' END,
					opened_at = now(), probe_at = now() + interval '1 hour'`, states[0])},
				desk.Runs: {fmt.Sprintf(`UPDATE hooklatch.replay_runs SET state = '%s'`, states[0])},
			}[v.On] {
				_, err := b.pool.Exec(t.Context(), sql)
				require.NoError(t, err, v.Name)
			}
		}
		times := func() (n int) {
			require.NoError(t, b.pool.QueryRow(t.Context(), `SELECT count(*) FROM hooklatch.operator_log WHERE action = $1`, v.Action).Scan(&n))
			return n
		}
		path := paths[v.On] + "/" + v.Name
		ready()
		before, form := times(), url.Values{"looked": {"yes"}, "new_keys": {"yes"}, "once": {hidden(t, b.page(t, path), "once")}}
		var leads []string
		for range 2 {
			ready()
			got := b.post(path, form)
			require.Equal(t, http.StatusSeeOther, got.Code, "%s: %s", path, got.Body)
			leads = append(leads, got.Header().Get("Location"))
		}
		require.Equal(t, leads[0], leads[1])
		require.Equal(t, before+1, times(), "%s is carried out once", path)

		body := fmt.Sprintf(`{"once": %q}`, uuid.NewString())
		if v.On == desk.Effects {
			body = fmt.Sprintf(`{"looked": true, "once": %q}`, uuid.NewString())
		}
		for range 2 {
			ready()
			got := b.answer(asking{path, body}.request(signin.Operator))
			require.Equal(t, http.StatusOK, got.Code, "%s: %s", path, got.Body)
		}
		require.Equal(t, before+2, times(), "%s of a program is carried out once", path)
		require.Equal(t, http.StatusBadRequest, b.answer(asking{path, `{"once": "twice"}`}.request(signin.Operator)).Code, path)
	}
	var replays int
	require.NoError(t, b.pool.QueryRow(t.Context(), `SELECT count(*) FROM hooklatch.event_replays WHERE new_keys`).Scan(&replays))
	require.Equal(t, 1, replays)
}

// The form for selected rows is carried out once, even if it is submitted twice.
func TestSelectedRowsAreReplayedOnce(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.dispatch(t, b.accept(t, "evt_1", "invoice.paid", `{}`), ledger.AtLeastOnce)
	page := b.post("/events/selected/replay", url.Values{"row": boxes(t, b.page(t, "/events"))}).Body.String()
	form := confirmed(t, page)
	for range 2 {
		require.Equal(t, http.StatusSeeOther, b.post("/events/selected/replay", form).Code)
		_, err := b.pool.Exec(t.Context(), `UPDATE hooklatch.processed_events SET outcome = 'dispatched'`)
		require.NoError(t, err)
	}
	var replays int
	require.NoError(t, b.pool.QueryRow(t.Context(), `SELECT count(*) FROM hooklatch.event_replays`).Scan(&replays))
	require.Equal(t, 1, replays)
}
