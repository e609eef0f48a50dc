package outbox

import (
	"context"
	"encoding/json"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/outbox/erasure"
	"github.com/hooklatch/hooklatch/outbox/find"
	"github.com/hooklatch/hooklatch/outbox/inbox"
	"github.com/hooklatch/hooklatch/outbox/ledger"
	"github.com/hooklatch/hooklatch/outbox/quarantine"
	"github.com/hooklatch/hooklatch/outbox/runs"
)

// runsOfBefore returns filters as version 062fc66 wrote them into replay_runs, by action.
func runsOfBefore(t *testing.T) map[ledger.Action]string {
	t.Helper()
	text, err := os.ReadFile("testdata/runs_of_062fc66.json")
	require.NoError(t, err)
	var rows []struct {
		Action ledger.Action
		Filter json.RawMessage
	}
	require.NoError(t, json.Unmarshal(text, &rows))
	filters := map[ledger.Action]string{}
	for _, r := range rows {
		filters[r.Action] = string(r.Filter)
	}
	return filters
}

// insertRun stores a run as older processes did.
func (b *bundle) insertRun(t *testing.T, action ledger.Action, filter, place string) int64 {
	t.Helper()
	var id int64
	require.NoError(t, b.pool.QueryRow(t.Context(), `INSERT INTO hooklatch.replay_runs (action, filter, who, via, request_id, state, place)
		VALUES ($1, $2, 'ann', 'cli', gen_random_uuid()::text, 'running', $3) RETURNING id`, action, filter, place).Scan(&id))
	return id
}

func TestRunsOfBeforeAreReadAsTheyWereMeant(t *testing.T) {
	t.Parallel()
	b := setup(t)
	at := time.Date(2026, 11, 21, 8, 0, 0, 0, time.UTC)
	for action, filter := range runsOfBefore(t) {
		run, err := b.Runs().Get(t.Context(), b.insertRun(t, action, filter, ""))
		require.NoError(t, err)
		require.Equal(t, runs.Running, run.State)
		if run.OfEvents() {
			require.Equal(t, find.Events{
				Source: "stripe", Type: "invoice.*", State: inbox.Skipped, Span: find.Span{Since: at, Until: at.Add(time.Hour)}, Content: find.Content{When: "odd"},
			}, run.Events)
			require.Equal(t, runs.EventTerms{Last: 7, NewKeys: true}, run.EventTerms)
		} else {
			require.Equal(t, find.Effects{
				States: []ledger.EffectState{ledger.StatesFor(action)[0]}, Destination: "app", Route: "receipts", Source: "stripe", Type: "invoice.*",
				Policy: ledger.AtMostOnce, Span: find.Span{Since: at, Until: at.Add(time.Hour)}, Content: find.Content{When: "odd"},
			}, run.Effects)
			require.Equal(t, runs.EffectTerms{AsOf: at.Add(2 * time.Hour), InDoubt: true}, run.EffectTerms)
		}
		record, err := run.Record()
		require.NoError(t, err)
		require.JSONEq(t, filter, string(record), "older processes can read the current format")
	}
}

// A run that an older process began continues after its stored position. The new position has a
// format that older processes can read.
func TestARunOfBeforeGoesOnWhereItWas(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.skipped(t, "stripe", 5)
	var third string
	require.NoError(t, b.pool.QueryRow(t.Context(), `SELECT accept_seq::text FROM hooklatch.processed_events WHERE event_id = 'evt_002'`).Scan(&third))
	id := b.insertRun(t, ledger.ActionReplayEvent, `{"state":"skipped","last":1000}`, third)
	require.Equal(t, runs.Counts{Selected: 2, Changed: 2}, b.workOff(t, b.Runs(), id, nil).Counts)
	require.Equal(t, 1, b.count(t, `SELECT count(*) FROM hooklatch.replay_runs WHERE place ~ '^[0-9]+$'`))

	b.manyFailed(t, 5, "app")
	var place string
	require.NoError(t, b.pool.QueryRow(t.Context(), `SELECT (extract(epoch FROM created_at) * 1000000)::bigint || '.' || idempotency_key
		FROM hooklatch.effects WHERE destination = 'app' ORDER BY created_at, idempotency_key OFFSET 2 LIMIT 1`).Scan(&place))
	id = b.insertRun(t, ledger.ActionRetryEffect, `{"states":["failed"],"destination":"app","as_of":"2100-01-01T00:00:00Z"}`, place)
	require.Equal(t, runs.Counts{Selected: 2, Changed: 2}, b.workOff(t, b.Runs(), id, nil).Counts)
	require.Equal(t, 1, b.count(t, `SELECT count(*) FROM hooklatch.replay_runs WHERE place ~ '^[0-9]+[.]hl_'`))
}

// Older processes carry out runs in the state running, and resume runs in the state paused. A run
// that they would misread is stored in other states, so they leave it unchanged.
func TestProcessesOfBeforeLeaveNewerRunsAlone(t *testing.T) {
	t.Parallel()
	b := setup(t)
	stored := func() (state string) {
		require.NoError(t, b.pool.QueryRow(t.Context(), `SELECT state FROM hooklatch.replay_runs ORDER BY id DESC LIMIT 1`).Scan(&state))
		return state
	}
	for name, c := range map[string]struct {
		order runs.Order
		newer bool
	}{
		"an action of before":      {runs.Order{Action: ledger.ActionReplayEvent}, false},
		"an action that is newer":  {runs.Order{Action: ledger.ActionReleaseEvent}, true},
		"a verification":           {runs.Order{Action: quarantine.ActionRetry}, true},
		"an erasure":               {runs.Order{Action: erasure.ActionEraseEvent}, true},
		"states of effects":        {runs.Order{Action: ledger.ActionReplayEvent, Events: find.Events{Effects: []find.EffectsIn{find.NoEffects}}}, true},
		"a filter that is newer":   {runs.Order{Action: ledger.ActionReplayEvent, Events: find.Events{Has: []find.Attribute{find.Duplicates}}}, true},
		"one route of an event":    {runs.Order{Action: ledger.ActionReplayEvent, EventTerms: runs.EventTerms{Route: "receipts"}}, true},
		"effects that may be done": {runs.Order{Action: ledger.ActionParkEffect, Effects: find.Effects{States: []ledger.EffectState{ledger.EffectPending}}, EffectTerms: runs.EffectTerms{DoubtSince: time.Now()}}, true},
	} {
		r := b.Runs().Verifying(func(context.Context, *quarantine.Delivery) (quarantine.Verdict, error) {
			return quarantine.Verdict{}, nil
		})
		run, err := r.Begin(t.Context(), c.order, ann)
		require.NoError(t, err)
		require.Equal(t, runs.Running, run.State, name)
		require.Equal(t, c.newer, stored() == "working", name)
		require.NoError(t, b.Runs().Pause(t.Context(), run.ID, ann))
		require.Equal(t, c.newer, stored() == "resting", name)
		require.NoError(t, b.Runs().Resume(t.Context(), run.ID, ann))
		require.Equal(t, c.newer, stored() == "working", name)
		require.Equal(t, runs.Done, b.workOff(t, r, run.ID, nil).State, name)
		require.Equal(t, "done", stored(), name)
	}
}

// The binary of commit 062fc66 wrote the rows in the test's file. It executed the commands "effects
// park", "effects retry", "effects cancel", "events replay", "quarantine drop" and "destinations
// pause", with various filters.
func TestRecordsThatAnOlderBinaryWroteAreReadAndShown(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("testdata/records_of_062fc66.json")
	require.NoError(t, err)
	type record struct {
		Action ledger.Action
		Target string
		Filter json.RawMessage
	}
	var rows struct {
		Runs        []record
		OperatorLog []record `json:"operator_log"`
	}
	require.NoError(t, json.Unmarshal(text, &rows))
	require.Len(t, rows.Runs, 4)
	require.Len(t, rows.OperatorLog, 6)
	b := setup(t)
	for _, r := range rows.Runs {
		run, err := b.Runs().Get(t.Context(), b.insertRun(t, r.Action, string(r.Filter), ""))
		require.NoError(t, err)
		require.NotEmpty(t, run.Words())
		written, err := run.Record()
		require.NoError(t, err)
		require.JSONEq(t, string(r.Filter), string(written), "older processes can read the current format")
	}
	for _, r := range rows.OperatorLog {
		_, err := b.pool.Exec(t.Context(), `INSERT INTO hooklatch.operator_log (action, target, filter, affected, who, via, request_id)
			VALUES ($1, $2, $3, 0, 'ann', 'cli', gen_random_uuid()::text)`, string(r.Action), r.Target, string(r.Filter))
		require.NoError(t, err)
	}
	shown, err := b.Finder().Actions(t.Context(), find.Actions{}, find.Beginning, 100)
	require.NoError(t, err)
	require.Len(t, shown.Rows, len(rows.OperatorLog))
	for i, r := range rows.OperatorLog {
		got := shown.Rows[len(rows.OperatorLog)-1-i]
		require.Equal(t, r.Action, got.Action)
		require.Equal(t, r.Target, got.Target)
		require.JSONEq(t, string(r.Filter), string(got.Filter))
	}
}
