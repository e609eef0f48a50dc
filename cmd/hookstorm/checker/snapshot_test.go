package checker_test

import (
	"bytes"
	"context"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/cmd/hookstorm/checker"
	"github.com/hooklatch/hooklatch/cmd/hookstorm/history"
	"github.com/hooklatch/hooklatch/cmd/hookstorm/scenario"
	"github.com/hooklatch/hooklatch/outbox"
	"github.com/hooklatch/hooklatch/schema"
	"github.com/hooklatch/hooklatch/schema/pgtest"
)

// setup creates an outbox on a database with the tables of the scenario.
func setup(t *testing.T) (*pgxpool.Pool, *outbox.Outbox) {
	t.Helper()
	pool := pgtest.New(t, pgtest.MaxConns(20))
	_, err := pool.Exec(t.Context(), scenario.Tables)
	require.NoError(t, err)
	box, err := outbox.New(outbox.Options{Pool: pool, AcceptTimeout: time.Minute})
	require.NoError(t, err)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
		defer cancel()
		require.NoError(t, box.Stop(ctx))
	})
	return pool, box
}

func TestSnapshotHasTheRowsThatRulesJudge(t *testing.T) {
	t.Parallel()
	pool, box := setup(t)
	_, err := box.Accept(t.Context(), outbox.Delivery{
		Source: "github", Provider: "github", Body: []byte("\x00\xff"),
		Events: []outbox.Incoming{{ID: "evt_1", Type: "push"}},
	})
	require.NoError(t, err)
	var file bytes.Buffer
	w := history.NewWriter(&file)
	require.NoError(t, checker.Snapshot(t.Context(), pool, schema.Default, w))
	require.NoError(t, w.Flush())

	verdict, err := checker.Check(bytes.NewReader(file.Bytes()), checker.Options{})
	require.NoError(t, err)
	require.Equal(t, map[string]int{"processed_events": 1, "deliveries": 1, "river_job": 1, "clock": 1}, verdict.Totals.Results["row"])
	var rules []checker.Rule
	for _, v := range verdict.Violations {
		rules = append(rules, v.Rule)
		require.Equal(t, "github/evt_1", v.Key)
		require.NotEmpty(t, v.Story)
	}
	require.Equal(t, []checker.Rule{"I3", "I5", "I5"}, rules, "no sender sent it, it is not dispatched, and its job is left")
}

func TestHistoryWithoutASnapshotProvesNothing(t *testing.T) {
	t.Parallel()
	_, err := checker.Check(bytes.NewReader([]byte(`{"t":1,"who":"hookstorm","kind":"note","op":"phase","phase":"quiet"}`+"\n")), checker.Options{})
	require.ErrorContains(t, err, "snapshot")
}
