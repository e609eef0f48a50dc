package worker

import (
	"maps"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/outbox/measure"
	"github.com/hooklatch/hooklatch/worker/route"
)

// An attempt counts for its destination and for its event's source. A first attempt counts once.
func TestAttemptsAreCountedByTheMinute(t *testing.T) {
	t.Parallel()
	b := setup(t)
	counts, err := measure.NewCounts(measure.CountsOptions{Pool: b.pool})
	require.NoError(t, err)
	b.opts.Minutes = counts
	var calls atomic.Int32
	b.to(t, func(w http.ResponseWriter, _ *http.Request) {
		if calls.Add(1) <= 2 {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	})
	w := b.worker(t)
	b.start(t, w)
	b.accept(t, "evt_1", false)
	waitFor(t, b, `SELECT count(*) FROM hooklatch.effects WHERE state = 'done'`)
	narrow := b.opts.Routes[0]
	narrow.Types = []string{"charge.*"}
	require.NoError(t, w.SetRoutes([]route.Route{narrow}, "narrow"))
	b.accept(t, "evt_2", false)
	waitFor(t, b, `SELECT count(*) FROM hooklatch.processed_events WHERE outcome = 'skipped'`)
	stop(t, w)
	require.NoError(t, counts.Stop(t.Context()))

	sums := b.minutes(t)
	require.Equal(t, map[string]int64{
		"destination app attempts": 3, "destination app first": 1, "destination app first_failed": 1, "destination app done": 1,
		"source stripe attempts": 3, "source stripe first": 1, "source stripe first_failed": 1, "source stripe done": 1,
		"source stripe dispatched": 1, "source stripe skipped": 1,
		"route everything created": 1, "route everything done": 1,
	}, sums)
	require.Equal(t, 3, b.count(t, `SELECT count(*) FROM hooklatch.all_attempts`), "the counts agree with the ledger")
	require.Equal(t, 3, b.count(t, `SELECT sum(n) FROM hooklatch.minutes WHERE kind = 'destination' AND what LIKE 'took:%'`))
	for _, kind := range []string{"source", "destination"} {
		require.Equal(t, 1, b.count(t, `SELECT sum(n) FROM hooklatch.minutes WHERE kind = $1 AND what LIKE 'first_took:%'`, kind))
	}
}

// An effect counts for its route: when the dispatch creates or suppresses it, and when it ends.
func TestEffectsAreCountedByRoute(t *testing.T) {
	t.Parallel()
	b := setup(t)
	counts, err := measure.NewCounts(measure.CountsOptions{Pool: b.pool})
	require.NoError(t, err)
	b.opts.Minutes = counts
	b.to(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusBadRequest) })
	b.opts.Routes = append(b.opts.Routes,
		route.Route{Name: "keyed", From: []string{"*"}, To: "app", Key: `"same"`},
		route.Route{Name: "broken", From: []string{"*"}, To: "app", HTTP: &route.HTTPRequest{Body: "body.missing"}})
	w := b.worker(t)
	b.start(t, w)
	b.accept(t, "evt_1", false)
	b.accept(t, "evt_2", false)
	waitFor(t, b, `SELECT CASE count(*) WHEN 3 THEN 1 ELSE 0 END FROM hooklatch.effects WHERE state = 'failed'`)
	stop(t, w)
	require.NoError(t, counts.Stop(t.Context()))
	sums := b.minutes(t)
	maps.DeleteFunc(sums, func(of string, _ int64) bool { return !strings.HasPrefix(of, "route ") })
	require.Equal(t, map[string]int64{
		"route everything created": 2, "route everything failed": 2, "route keyed created": 1, "route keyed suppressed": 1, "route keyed failed": 1,
		"route broken created": 2, "route broken unrendered": 2,
	}, sums)
}

// minutes returns the sums of all counts except durations, by kind, name and count.
func (b *bundle) minutes(t *testing.T) map[string]int64 {
	t.Helper()
	found, err := b.pool.Query(t.Context(), `SELECT kind || ' ' || name || ' ' || what, sum(n)::bigint FROM hooklatch.minutes WHERE what NOT LIKE '%took:%' GROUP BY 1`)
	require.NoError(t, err)
	sums := map[string]int64{}
	var of string
	var n int64
	_, err = pgx.ForEachRow(found, []any{&of, &n}, func() error {
		sums[of] = n
		return nil
	})
	require.NoError(t, err)
	return sums
}
