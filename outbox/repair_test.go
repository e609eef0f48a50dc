package outbox

import (
	"context"
	"errors"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/internal/repair"
	"github.com/hooklatch/hooklatch/outbox/fleet"
	"github.com/hooklatch/hooklatch/outbox/ledger"
)

// age makes all waiting work overdue by a minute.
func (b *bundle) age(t *testing.T) {
	t.Helper()
	for _, statement := range []string{
		`UPDATE hooklatch.processed_events SET received_at = received_at - interval '1 minute'`,
		`UPDATE hooklatch.effects SET next_attempt_at = next_attempt_at - interval '1 minute'`,
	} {
		_, err := b.pool.Exec(t.Context(), statement)
		require.NoError(t, err)
	}
}

// I5: Effects and events without a job are only counted until an operator requests jobs for them.
// The operator is recorded.
func TestRepairEnqueuesWhatLostItsJob(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.accepted(t, "github", "evt_undispatched")
	b.dispatched(t, "evt_pending", ledger.AtLeastOnce)
	lost := b.dispatched(t, "evt_lost", ledger.AtMostOnce)
	b.granted(t, lost, time.Nanosecond)
	discarded := b.dispatched(t, "evt_discarded", ledger.AtLeastOnce)
	b.dispatched(t, "evt_well", ledger.AtLeastOnce)
	for _, statement := range []string{
		`DELETE FROM hooklatch.river_job WHERE args ->> 'event_id' = 'evt_undispatched' OR args ->> 'key' IN ('evt_pending', 'evt_lost')`,
		`UPDATE hooklatch.river_job SET state = 'discarded', finalized_at = now() WHERE args ->> 'key' = 'evt_discarded'`,
	} {
		_, err := b.pool.Exec(t.Context(), statement)
		require.NoError(t, err)
	}
	b.age(t)

	jobs := b.count(t, `SELECT count(*) FROM hooklatch.river_job`)
	for range 2 {
		found, err := b.Repair().Look(t.Context())
		require.NoError(t, err)
		require.Equal(t, repair.Damage{Lacking: repair.Jobs{Events: 1, Effects: 3}, Discarded: 1, ExpiredLeases: 1}, found)
	}
	require.Equal(t, jobs, b.count(t, `SELECT count(*) FROM hooklatch.river_job`), "Look changes nothing")
	done, err := b.Repair().Enqueue(t.Context(), because("the disk of db1"))
	require.NoError(t, err)
	require.Equal(t, repair.Jobs{Events: 1, Effects: 3}, done)
	require.Equal(t, jobs+4, b.count(t, `SELECT count(*) FROM hooklatch.river_job`))
	require.Equal(t, 2, b.jobs(t, discarded))
	found, err := b.Repair().Look(t.Context())
	require.NoError(t, err)
	require.Zero(t, found.Lacking)
	actions := b.actions(t)
	require.Len(t, actions, 1)
	require.Equal(t, repair.ActionEnqueue, actions[0].Action)
	require.Equal(t, "ann", actions[0].Who)
	require.EqualValues(t, 4, actions[0].Affected)
}

// After a promotion that certainly lost nothing, withheld effects start and nothing else changes.
// Either an operator confirmed that nothing was lost, or the standby was synchronous.
func TestPromotedServersAreFollowed(t *testing.T) {
	t.Parallel()
	b := setup(t)
	id := b.dispatched(t, "evt_1", ledger.AtMostOnce)
	withheld := func() bool {
		t.Helper()
		state, err := b.Repair().State(t.Context())
		require.NoError(t, err)
		return state.Withheld
	}
	follow := func() bool {
		t.Helper()
		followed, err := b.Repair().FollowPromotion(t.Context())
		require.NoError(t, err)
		return followed
	}
	require.False(t, withheld())
	require.False(t, follow(), "no promotion has happened")
	b.elsewhere(t, `system_id = system_id + 1`)
	require.False(t, follow(), "a server with another system identifier is not a standby")
	require.True(t, withheld())
	require.NoError(t, b.Repair().Promoted(t.Context(), because("the disk of db1")))
	require.False(t, withheld())
	b.elsewhere(t, `timeline = timeline + 1`)
	require.False(t, follow(), "an older timeline is not a promotion")
	b.elsewhere(t, `timeline = timeline - 2`)
	require.True(t, withheld())
	require.True(t, follow())
	require.False(t, withheld())
	state, err := b.Repair().State(t.Context())
	require.NoError(t, err)
	require.EqualValues(t, 3, state.Epoch)
	require.True(t, state.RestoredAt.IsZero())
	b.granted(t, id, lease)
	actions := b.actions(t)
	require.Len(t, actions, 1, "only an operator's declaration is recorded")
	require.Equal(t, repair.ActionPromoted, actions[0].Action)
}

// Logical replication copies rows, but not the positions of sequences. After such a move, new rows
// still get higher numbers than the stored rows, even if an operator has already confirmed the
// server.
func TestSequencesContinueAfterAMove(t *testing.T) {
	t.Parallel()
	b := setup(t)
	id := b.dispatched(t, "evt_1", ledger.AtLeastOnce)
	require.NoError(t, b.Ledger().Park(t.Context(), b.effect(t, id).IdempotencyKey, because("its transition is stored")))
	all, err := os.ReadFile("../internal/repair/query/sequences.sql")
	require.NoError(t, err)
	rows, err := b.pool.Query(t.Context(), `SELECT sequencename::text FROM pg_sequences WHERE schemaname = 'hooklatch'`)
	require.NoError(t, err)
	names, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(t, err)
	restart := func() {
		for _, name := range names {
			_, err := b.pool.Exec(t.Context(), `ALTER SEQUENCE hooklatch.`+name+` RESTART`)
			require.NoError(t, err)
		}
	}
	for _, name := range names {
		// The table moving_rows has rows only while a source moves to another cell. River soon
		// deletes the rows of river_notification.
		if name != "moving_rows_id_seq" && name != "river_notification_id_seq" {
			require.Contains(t, string(all), "'hooklatch."+name+"'", name)
		}
	}
	for range 2 {
		restart()
		b.elsewhere(t, `system_id = system_id + 1`)
		require.NoError(t, b.Repair().Promoted(t.Context(), because("a new server")))
		restart() // the server is confirmed already
		require.NoError(t, b.Repair().Promoted(t.Context(), because("a new server")))
		for name, column := range map[string]string{
			"accept_seq": "max(accept_seq) FROM hooklatch.processed_events", "effect_id": "max(effect_id) FROM hooklatch.effects",
			"transition_id": "max(id) FROM hooklatch.transitions", "river_job_id_seq": "max(id) FROM hooklatch.river_job",
			"operator_log_id_seq": "max(id) FROM hooklatch.operator_log",
		} {
			highest := b.count(t, `SELECT `+column)
			require.Positive(t, highest, name)
			require.Greater(t, b.count(t, `SELECT nextval('hooklatch.`+name+`')`), highest, name)
		}
		b.accepted(t, "github", "evt_"+strconv.Itoa(b.count(t, `SELECT count(*) FROM hooklatch.processed_events`)+1))
	}
}

// A restore parks every unfinished at_most_once effect as in doubt since the restore time.
// Destinations that an operator had paused stay paused, and all other work continues with its keys.
func TestARestoreParksWhatMayHaveBeenDone(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.register(t, fleet.Destination{Name: "app", Kind: "http", Queue: "dst_app"}, fleet.Destination{Name: "crm", Kind: "http", Queue: "dst_crm"})
	require.NoError(t, b.Fleet().SetPaused(t.Context(), "crm", true, ledger.Operator{Who: "bob", Via: "test", Reason: "they move"}))
	pending := b.dispatched(t, "evt_pending", ledger.AtMostOnce)
	started := b.dispatched(t, "evt_started", ledger.AtMostOnce)
	b.granted(t, started, lease)
	again := b.dispatched(t, "evt_again", ledger.AtLeastOnce)
	line := b.line(t, 2, func(e *ledger.NewEffect) { e.Policy = ledger.AtMostOnce })
	done := b.dispatched(t, "evt_done", ledger.AtMostOnce)
	b.settle(t, b.granted(t, done, lease), ledger.Settlement{Verdict: ledger.VerdictDone})
	to := time.Now().Add(-10 * time.Minute)
	b.elsewhere(t, `timeline = timeline - 1`)

	preview, err := b.Repair().PreviewRestore(t.Context(), to, []string{"silent"})
	require.NoError(t, err)
	require.True(t, preview.State.Withheld)
	require.Equal(t, []repair.AtMostOnce{{Destination: "app", Effects: 4}}, preview.Unsure)
	require.Zero(t, preview.Parked)
	require.Equal(t, ledger.EffectPending, b.effect(t, pending).State, "a preview changes nothing")
	names := map[string]repair.Missing{}
	for _, m := range preview.Missing {
		names[string(m.Source)] = m
	}
	require.Contains(t, names, "silent", "all events of a source without stored events may be missing")
	require.True(t, names["silent"].LastBefore.IsZero())
	require.False(t, names["stripe"].FirstSince.IsZero())
	require.True(t, names["stripe"].From.Before(to))
	_, err = b.Repair().PreviewRestore(t.Context(), time.Now().Add(time.Hour), nil)
	require.ErrorIs(t, err, repair.ErrNotYet)

	var told int64
	said, err := b.Repair().Restored(t.Context(), to, nil, because("the disk of db1"), func(parked int64) { told = parked })
	require.NoError(t, err)
	require.EqualValues(t, 4, said.Parked)
	require.EqualValues(t, 4, told)
	require.Empty(t, b.count(t, `SELECT count(*) FROM hooklatch.effects WHERE policy = 'at_most_once' AND state NOT IN ('parked', 'done')`))
	for _, id := range append(line, pending, started) {
		e := b.effect(t, id)
		require.Equal(t, ledger.EffectParked, e.State)
		require.False(t, e.MaybeAppliedSince.IsZero())
		require.Contains(t, e.Error, "the disk of db1")
	}
	require.WithinDuration(t, to, b.effect(t, pending).MaybeAppliedSince, time.Millisecond)
	require.Equal(t, again.IdempotencyKey(), b.granted(t, again, lease).WireKey)
	require.False(t, b.destination(t, "app").OperatorPaused)
	require.Equal(t, "bob", b.destination(t, "crm").PausedBy)
	state, err := b.Repair().State(t.Context())
	require.NoError(t, err)
	require.False(t, state.Withheld)
	require.WithinDuration(t, to, state.RestoredTo, time.Millisecond)
	request := ""
	for _, action := range b.actions(t) {
		if action.Who == "ann" {
			require.Contains(t, []string{"", action.RequestID}, request, "all actions have the same request id")
			request = action.RequestID
		}
	}
}

// An interrupted restore leaves destinations paused and starts no effect. The next restore
// continues it, and resumes the destinations that the first restore had paused.
func TestARestoreThatWasInterruptedIsGoneOnWith(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.register(t, fleet.Destination{Name: "app", Kind: "http", Queue: "dst_app"})
	id := b.dispatched(t, "evt_1", ledger.AtMostOnce)
	b.elsewhere(t, `timeline = timeline - 1`)
	to := time.Now().Add(-time.Minute)
	ctx, stop := context.WithCancelCause(t.Context())
	interrupted := errors.New("Ctrl-C")
	_, err := b.Repair().Restored(ctx, to, nil, because("the disk of db1"), func(int64) { stop(interrupted) })
	require.Error(t, err)
	require.True(t, b.destination(t, "app").OperatorPaused)
	state, err := b.Repair().State(t.Context())
	require.NoError(t, err)
	require.True(t, state.Withheld)

	_, err = b.Repair().Restored(t.Context(), to, nil, because("the disk of db1"), nil)
	require.NoError(t, err)
	require.False(t, b.destination(t, "app").OperatorPaused)
	require.Equal(t, ledger.EffectParked, b.effect(t, id).State)
	require.Equal(t, 2, b.count(t, `SELECT epoch::integer FROM hooklatch.installation`))
}
