package cells_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/cmd/hookstorm/cells"
	"github.com/hooklatch/hooklatch/outbox/ledger"
	"github.com/hooklatch/hooklatch/schema/pgtest"
)

// Round and End each abandon a move and then complete one.
func TestEachRoundAbandonsAMoveAndCompletesOne(t *testing.T) {
	t.Parallel()
	pool := pgtest.New(t)
	require.NoError(t, cells.Prepare(t.Context(), pool))
	both, err := cells.New(pool)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, both.Stop(context.Background())) })
	by := ledger.Operator{Who: "test", Via: "test"}
	require.NoError(t, both.Round(t.Context(), by))
	require.NoError(t, both.Round(t.Context(), by))
	require.NoError(t, both.End(t.Context(), by))
	for cell, rounds := range map[string]int{"cell_a": 2, "cell_b": 1} {
		var abandoned, left int
		require.NoError(t, pool.QueryRow(t.Context(), "SELECT count(*) FROM "+cell+".operator_log WHERE result LIKE '%abandoned'").Scan(&abandoned))
		require.NoError(t, pool.QueryRow(t.Context(), "SELECT count(*) FROM "+cell+".processed_events WHERE outcome = 'imported'").Scan(&left))
		require.Equal(t, rounds, abandoned, cell)
		require.Positive(t, left, cell)
	}
}
