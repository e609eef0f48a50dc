package backfill

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/tidwall/sjson"

	"github.com/hooklatch/hooklatch/outbox/secret"
)

// A platform lists the events of its connected accounts one account at a time. The endpoint
// belongs to the platform itself.
func TestEachConnectedAccountIsRead(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "stripe", "we_1")
	w.source.Settings.Accounts = []string{"acct_1", "acct_2"}
	w.turn() // creates the watermark of each list
	_, err := w.pool.Exec(t.Context(), "UPDATE hooklatch.coverage SET created_at = now() - interval '2 hours', covered_until = now() - interval '1 hour'")
	require.NoError(t, err)
	w.happen(9, "invoice.paid", func(int) int { return 0 })
	for n, h := range w.events {
		h.account = []string{"acct_1", "acct_2", "acct_of_others"}[n%3]
		h.webhook.Body, err = sjson.SetBytes(h.webhook.Body, "account", h.account)
		require.NoError(t, err)
	}
	asked := map[string]map[string]bool{}
	w.refuse = func(_ http.ResponseWriter, r *http.Request) bool {
		w.mu.Lock()
		defer w.mu.Unlock()
		if asked[r.URL.Path] == nil {
			asked[r.URL.Path] = map[string]bool{}
		}
		asked[r.URL.Path][r.Header.Get("Stripe-Account")] = true
		return false
	}
	w.turn()
	require.Equal(t, map[string]map[string]bool{
		"/v1/events": {"acct_1": true, "acct_2": true}, "/v1/webhook_endpoints/we_1": {"": true},
	}, asked)
	rows, err := w.pool.Query(t.Context(), "SELECT stream, recovered FROM hooklatch.backfill_runs WHERE recovered > 0")
	require.NoError(t, err)
	recovered := map[string]int{}
	for rows.Next() {
		var account string
		var n int
		require.NoError(t, rows.Scan(&account, &n))
		recovered[account] += n
	}
	require.NoError(t, rows.Err())
	require.Equal(t, map[string]int{"acct_1": 3, "acct_2": 3}, recovered)
	require.Equal(t, 6, w.stored("backfill"), "each event has its own id")
	w.turn()
	require.Equal(t, 6, w.stored("backfill"))
}

// A replaced token does not stay in memory.
func TestClientsOfReplacedTokensAreDropped(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "stripe", "we_1")
	before, err := w.backfill.clients.of(w.source.Settings)
	require.NoError(t, err)
	w.turn()
	same, err := w.backfill.clients.of(w.source.Settings)
	require.NoError(t, err)
	require.Same(t, before, same, "all passes share one client and its rate")
	old := w.source.Settings.clientName()
	w.source.Settings.Token = secret.New("token-that-replaces-it")
	w.turn()
	require.Len(t, w.backfill.clients.byName, 1)
	require.NotContains(t, w.backfill.clients.byName, old)
}
