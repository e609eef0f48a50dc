package retention_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/outbox/fleet"
	"github.com/hooklatch/hooklatch/outbox/identity"
	"github.com/hooklatch/hooklatch/outbox/inbox"
	"github.com/hooklatch/hooklatch/outbox/ledger"
)

// unfinished is work that outlives every retention period, and a way to continue it.
type unfinished struct {
	name  string
	begin func(t *testing.T, w *world, source, id string)
	goOn  func(t *testing.T, w *world, source, id string)
}

// effectOf returns the id of the effect that dispatch created for an event.
func effectOf(source, id string) identity.EffectID {
	return identity.EffectID{Scope: identity.ScopeOfRoute(identity.Source(source), "all"), Key: identity.Key(id), Generation: 1}
}

// The function sends checks that the next attempt sends the event's delivery, and settles the
// attempt.
func sends(t *testing.T, w *world, source, id string) {
	t.Helper()
	e := w.claim(t, effectOf(source, id))
	require.Equal(t, bodyOf(id), e.Request.Body)
	w.settle(t, ledger.Settlement{Effect: e, Verdict: ledger.VerdictDone, ResponseStatus: 200})
}

func retried(t *testing.T, w *world, source, id string) {
	t.Helper()
	require.NoError(t, w.Ledger().Retry(t.Context(), effectOf(source, id).IdempotencyKey(), ann))
	sends(t, w, source, id)
}

func dispatched(t *testing.T, w *world, source, id string) {
	t.Helper()
	require.Equal(t, bodyOf(id), w.loaded(t, source, id).Body)
	w.dispatch(t, source, id)
	sends(t, w, source, id)
}

func allUnfinished() []unfinished {
	return []unfinished{
		{"event_received", func(t *testing.T, w *world, source, id string) { t.Helper(); w.accept(t, source, id) }, dispatched},
		{"event_failed", func(t *testing.T, w *world, source, id string) {
			t.Helper()
			w.accept(t, source, id)
			_, err := w.FailDispatch(t.Context(), w.loaded(t, source, id), fleet.Configuration{}, "no")
			require.NoError(t, err)
		}, func(t *testing.T, w *world, source, id string) {
			t.Helper()
			_, err := w.Inbox().Replay(t.Context(), ref(source, id), ann, inbox.ReplayOptions{})
			require.NoError(t, err)
			dispatched(t, w, source, id)
		}},
		{"effect_pending", func(t *testing.T, w *world, source, id string) {
			t.Helper()
			w.accept(t, source, id)
			w.dispatch(t, source, id)
		}, sends},
		{"effect_started", func(t *testing.T, w *world, source, id string) {
			t.Helper()
			w.accept(t, source, id)
			w.claim(t, w.dispatch(t, source, id))
		}, sends},
		{"effect_in_doubt", func(t *testing.T, w *world, source, id string) {
			t.Helper()
			w.accept(t, source, id)
			w.settle(t, ledger.Settlement{Effect: w.claim(t, w.dispatch(t, source, id)), Verdict: ledger.VerdictMaybeApplied, RetryIn: time.Second})
		}, sends},
		{"effect_parked", func(t *testing.T, w *world, source, id string) {
			t.Helper()
			w.accept(t, source, id)
			w.settle(t, ledger.Settlement{Effect: w.claim(t, w.dispatch(t, source, id)), Verdict: ledger.VerdictMaybeApplied, GiveUp: true})
		}, retried},
		{"effect_failed", func(t *testing.T, w *world, source, id string) {
			t.Helper()
			w.accept(t, source, id)
			w.settle(t, ledger.Settlement{Effect: w.claim(t, w.dispatch(t, source, id)), Verdict: ledger.VerdictRefused, ResponseStatus: 410})
		}, retried},
		{"effect_cancelled", func(t *testing.T, w *world, source, id string) {
			t.Helper()
			w.accept(t, source, id)
			require.NoError(t, w.Ledger().Cancel(t.Context(), w.dispatch(t, source, id).IdempotencyKey(), ann))
		}, retried},
	}
}
