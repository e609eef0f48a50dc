package retention_test

import (
	"encoding/json"
	"os"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/outbox/export"
	"github.com/hooklatch/hooklatch/outbox/inbox"
)

// An event in the first export format can still be restored. restore_event.sql must set a value for
// every NOT NULL column that was added after that format, because the export lacks the column.
func TestTheFirstExportIsStillRestored(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("testdata/first_export.json")
	require.NoError(t, err)
	found := export.Found{Day: time.Date(2026, 11, 28, 0, 0, 0, 0, time.UTC), Line: new(export.Line)}
	require.NoError(t, json.Unmarshal(text, found.Line))
	found.Event = found.Line.Events[0]
	w := newWorld(t)
	require.NoError(t, pgx.BeginFunc(t.Context(), w.pool, func(tx pgx.Tx) error {
		_, err := w.Inbox().ReplayTx(t.Context(), tx, ref("a", "one"), ann, inbox.ReplayOptions{Exported: &found})
		return err
	}))
	e := w.loaded(t, "a", "one")
	require.Equal(t, inbox.Received, e.Outcome)
	require.Equal(t, 2, e.Generation)
	require.Equal(t, found.Line.Body, e.Body)
	require.NotEmpty(t, e.Headers)
}
