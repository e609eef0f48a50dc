package outbox

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/outbox/find"
	"github.com/hooklatch/hooklatch/outbox/ledger"
	"github.com/hooklatch/hooklatch/outbox/runs"
)

func TestARunWhoseConditionCannotBeReadFails(t *testing.T) {
	t.Parallel()
	b := setup(t)
	r := b.runsOf(t)
	_, err := r.Begin(t.Context(), runs.Order{Action: ledger.ActionReplayEvent, Events: find.Events{Content: find.Content{When: "wrong"}}}, ann)
	require.ErrorContains(t, err, "no such name")
	run, err := r.Begin(t.Context(), runs.Order{Action: ledger.ActionReplayEvent}, ann)
	require.NoError(t, err)
	_, err = b.pool.Exec(t.Context(), `UPDATE hooklatch.replay_runs SET filter = filter || '{"when": "wrong"}'`) // as another version may have stored it
	require.NoError(t, err)
	run = b.workOff(t, r, run.ID, nil)
	require.Equal(t, runs.Failed, run.State)
	require.Contains(t, run.Error, "no such name")
}

// A trigger refuses every change to an effect. The run does not end, and reports why it cannot
// continue, until the changes succeed.
func TestARunThatCannotContinueSaysWhy(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.manyFailed(t, 3, "app")
	_, err := b.pool.Exec(t.Context(), `CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'refused'; END $$`)
	require.NoError(t, err)
	_, err = b.pool.Exec(t.Context(), `CREATE TRIGGER refuse BEFORE UPDATE ON hooklatch.effects FOR EACH ROW EXECUTE FUNCTION refuse()`)
	require.NoError(t, err)
	r := b.runsOf(t)
	run, err := r.Begin(t.Context(), retryAt("app"), ann)
	require.NoError(t, err)
	_, err = r.Work(t.Context(), run.ID, time.Now().Add(time.Hour), nil)
	require.ErrorContains(t, err, "refused")
	run, err = r.Get(t.Context(), run.ID)
	require.NoError(t, err)
	require.Equal(t, runs.Running, run.State)
	require.Contains(t, run.Error, "refused")

	_, err = b.pool.Exec(t.Context(), `DROP TRIGGER refuse ON hooklatch.effects`)
	require.NoError(t, err)
	run = b.workOff(t, r, run.ID, nil)
	require.Equal(t, runs.Done, run.State)
	require.Empty(t, run.Error)
}
