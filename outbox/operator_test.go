package outbox

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/internal/fault"
	"github.com/hooklatch/hooklatch/outbox/fleet"
	"github.com/hooklatch/hooklatch/outbox/identity"
	"github.com/hooklatch/hooklatch/outbox/inbox"
	"github.com/hooklatch/hooklatch/outbox/ledger"
)

// actions returns the operator log, newest action first. It requires that each action has a time
// and a request id.
func (b *bundle) actions(t *testing.T) []ledger.OperatorAction {
	t.Helper()
	log, err := b.Ledger().OperatorLog(t.Context(), time.Time{}, 0)
	require.NoError(t, err)
	for i := range log {
		require.NotZero(t, log[i].At)
		require.NotEmpty(t, log[i].RequestID)
	}
	return log
}

// Every operator action inserts one row into the operator log. An action on an effect also appears
// in the effect's transitions, and a replay in the event's replays.
func TestEveryOrderIsRecordedWithWhoAndWhy(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.register(t, fleet.Destination{Name: "app", Kind: "http", Queue: "dst_app"})
	ref := identity.EventRef{Source: "stripe", EventID: "evt_1"}
	id := b.in(t, "evt_1", ledger.EffectFailed)
	key := id.IdempotencyKey()
	alice := ledger.Operator{Who: "alice", Role: "support", Via: "console", Reason: "the route is deployed", RequestID: "req_1"}

	require.NoError(t, b.Ledger().Retry(t.Context(), key, alice))
	require.NoError(t, b.Ledger().Park(t.Context(), key, because("wait")))
	require.NoError(t, b.Ledger().Cancel(t.Context(), key, because("refunded")))
	_, err := b.Replay(t.Context(), ref, because("refund failed"), inbox.ReplayOptions{})
	require.NoError(t, err)
	require.NoError(t, b.fleet.SetPaused(t.Context(), "app", true, because("deploy")))
	require.NoError(t, b.fleet.SetPaused(t.Context(), "app", true, because("deploy")))
	require.NoError(t, b.fleet.SetPaused(t.Context(), "app", false, ann))

	log := b.actions(t)
	require.Len(t, log, 7)
	want := []struct {
		action   ledger.Action
		target   string
		affected int64
		reason   string
	}{
		{ledger.ActionResumeDestination, "app", 1, ""},
		{ledger.ActionPauseDestination, "app", 0, "deploy"},
		{ledger.ActionPauseDestination, "app", 1, "deploy"},
		{ledger.ActionReplayEvent, "stripe/evt_1", 1, "refund failed"},
		{ledger.ActionCancelEffect, key, 1, "refunded"},
		{ledger.ActionParkEffect, key, 1, "wait"},
		{ledger.ActionRetryEffect, key, 1, "the route is deployed"},
	}
	for i, w := range want {
		require.Equal(t, w.action, log[i].Action)
		require.Equal(t, w.target, log[i].Target)
		require.Equal(t, w.affected, log[i].Affected)
		require.Equal(t, w.reason, log[i].Reason)
		require.JSONEq(t, "{}", string(log[i].Filter))
	}
	require.Equal(t, alice, log[6].Operator)

	transitions, err := b.Ledger().Transitions(t.Context(), id)
	require.NoError(t, err)
	var reasons []string
	for _, step := range transitions[3:] {
		reasons = append(reasons, string(step.From)+" -> "+string(step.To)+": "+step.Reason)
	}
	require.Equal(t, []string{
		"failed -> pending: retried by alice: the route is deployed",
		"pending -> parked: parked by ann: wait",
		"parked -> cancelled: cancelled by ann: refunded",
		"cancelled -> pending: replayed by ann: refund failed",
	}, reasons)
	replays, err := b.EventReplays(t.Context(), ref)
	require.NoError(t, err)
	require.Len(t, replays, 1)
	require.Equal(t, inbox.Dispatched, replays[0].PreviousOutcome)
	require.NotZero(t, replays[0].PreviousAt)
	require.Equal(t, "refund failed", replays[0].Reason)
}

// A failed action leaves no record.
func TestWhatIsNotDoneIsNotRecorded(t *testing.T) {
	t.Parallel()
	b := setup(t)
	key := b.in(t, "evt_1", ledger.EffectDone).IdempotencyKey()
	for _, c := range []struct {
		by   ledger.Operator
		text string
	}{
		{ann, "the effect is done: an effect that succeeded cannot be retried"},
		{ledger.Operator{Via: "test"}, "the operator's name is empty"},
		{ledger.Operator{Who: strings.Repeat("a", 256), Via: "test"}, "the operator's name has 256 bytes"},
		{ledger.Operator{Who: "ann"}, "the operator's channel is empty"},
		{ledger.Operator{Who: "a\x00b", Via: "test"}, "the operator's name contains a NUL character"},
	} {
		require.ErrorContains(t, b.Ledger().Retry(t.Context(), key, c.by), c.text)
	}
	require.ErrorIs(t, b.fleet.SetPaused(t.Context(), "nobody", true, ann), ledger.ErrUnknownDestination)
	require.Empty(t, b.actions(t))
}

// An action whose COMMIT response is lost is done once and recorded once.
func TestOrdersSurviveALostCommit(t *testing.T) {
	t.Parallel()
	for _, mode := range []fault.Mode{fault.LoseAnswer, fault.LoseRequest} {
		t.Run(string(mode), func(t *testing.T) {
			t.Parallel()
			b, sound, f := onFaultyPool(t)
			sound.register(t, fleet.Destination{Name: "app", Kind: "http", Queue: "dst_app"})
			key := sound.in(t, "evt_1", ledger.EffectFailed).IdempotencyKey()
			for n, order := range []func() error{
				func() error { return b.Ledger().Retry(t.Context(), key, ann) },
				func() error { return b.Ledger().Park(t.Context(), key, ann) },
				func() error { return b.Ledger().Cancel(t.Context(), key, ann) },
				func() error {
					replayed, err := b.Replay(t.Context(), identity.EventRef{Source: "stripe", EventID: "evt_1"}, ann, inbox.ReplayOptions{})
					require.Equal(t, inbox.Replayed{Generation: 2, Reopened: 1}, replayed)
					return err
				},
				func() error { return b.fleet.SetPaused(t.Context(), "app", true, ann) },
			} {
				f.Arm(mode, 1)
				require.NoError(t, order())
				require.Equal(t, n+1, f.Count(), "the fault did not happen")
				log := sound.actions(t)
				require.Len(t, log, n+1)
				require.Equal(t, int64(1), log[0].Affected)
			}
			require.Equal(t, 1, sound.count(t, `SELECT count(*) FROM hooklatch.event_replays`))
		})
	}
}
