package backfill

import (
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
)

// stored counts the stored events with the given origin.
func (w *world) stored(origin string) int {
	return int(w.count("SELECT count(*) FROM hooklatch.processed_events WHERE source = $1 AND origin = '" + origin + "'"))
}

func (w *world) recovered() int64 {
	return w.count("SELECT COALESCE(sum(recovered), 0) FROM hooklatch.backfill_runs WHERE source = $1")
}

// count runs a query with the source as its parameter.
func (w *world) count(query string) (n int64) {
	w.t.Helper()
	require.NoError(w.t, w.pool.QueryRow(w.t.Context(), query, w.source.Name).Scan(&n))
	return n
}

// column runs a query that returns texts, with the source as its parameter.
func (w *world) column(query string) []string {
	w.t.Helper()
	rows, err := w.pool.Query(w.t.Context(), query, w.source.Name)
	require.NoError(w.t, err)
	texts, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(w.t, err)
	return texts
}

func ids(events []*happened) []string {
	var ids []string
	for _, h := range events {
		ids = append(ids, h.id)
	}
	return ids
}

// dispatched returns the events in the dispatch jobs.
func (w *world) dispatched() []string {
	w.t.Helper()
	return w.column("SELECT args ->> 'event_id' FROM hooklatch.river_job WHERE kind = 'dispatch' AND args ->> 'source' = $1")
}

// brought counts the events that passes pulled, and the redeliveries that arrived after passes
// had requested them.
func (w *world) brought() int64 {
	w.t.Helper()
	return w.count(`SELECT count(*) FROM hooklatch.processed_events AS e
		WHERE source = $1 AND (origin = 'backfill' OR EXISTS (
			SELECT FROM hooklatch.redeliveries AS r WHERE r.source = e.source AND r.event_id = e.event_id AND r.outcome = 'arrived'))`)
}

func (w *world) isRecovered(h *happened) bool {
	w.t.Helper()
	var is bool
	require.NoError(w.t, w.pool.QueryRow(w.t.Context(), `SELECT
		EXISTS (SELECT FROM hooklatch.processed_events WHERE source = $1 AND event_id = $2 AND origin = 'backfill')
		OR EXISTS (SELECT FROM hooklatch.redeliveries WHERE source = $1 AND event_id = $2 AND outcome = 'arrived')`, w.source.Name, h.id).Scan(&is))
	return is
}

// mark returns the cursor of a feed, or the largest number of a list without times.
func (w *world) mark() string {
	w.t.Helper()
	return w.column("SELECT mark FROM hooklatch.coverage WHERE source = $1")[0]
}
