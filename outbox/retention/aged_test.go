package retention_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/outbox"
	"github.com/hooklatch/hooklatch/outbox/identity"
	"github.com/hooklatch/hooklatch/outbox/ledger"
	"github.com/hooklatch/hooklatch/outbox/retention"
)

// A replay guard is kept as long as its source's events, counted from the last delivery with its
// proof. Otherwise a proof that is replayed every day would eventually be accepted.
func TestAProofThatIsReplayedIsRememberedFromItsLastTime(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	settings := retention.Settings{Dedup: map[identity.Source]time.Duration{"a": 5 * day}}
	w.accept(t, "a", "first")
	w.run(t, `
		INSERT INTO hooklatch.replay_guards (source, hash, acceptance_id, seen_at, last_seen_at)
		VALUES ('a', 'once', gen_random_uuid(), now(), now()), ('a', 'again', gen_random_uuid(), now(), now())`)
	guards := func(hash string) int {
		return w.count(t, `SELECT count(*) FROM hooklatch.replay_guards WHERE hash = $1`, []byte(hash))
	}
	for today := range 12 {
		if today == 4 {
			w.run(t, `UPDATE hooklatch.replay_guards SET last_seen_at = now() WHERE hash = 'again'`)
		}
		require.False(t, w.keep(t, settings).Stopped)
		switch {
		case today < 5:
			require.Equal(t, 1, guards("once"), "day %d", today)
		case today > 5:
			require.Zero(t, guards("once"), "day %d", today)
		}
		if today < 9 {
			require.Equal(t, 1, guards("again"), "day %d", today)
		}
		w.accept(t, "a", w.now(t).UTC().Format(time.DateOnly)) // the source stays active
		w.pass(t, day)
	}
	require.Zero(t, guards("again"))
}

// Passes add rows faster than operator actions do. One run deletes all expired rows, in as many
// slices as needed.
func TestOneRunDeletesAllExpiredPasses(t *testing.T) {
	t.Parallel()
	const rows = 120 // more than two slices
	for table, insert := range map[string]string{
		"operator_log": `INSERT INTO hooklatch.operator_log (who, via, action, target, affected, request_id)
			SELECT 'ann', 'cli', 'effect.retry', i::text, 1, i::text FROM generate_series(1, $1::int) AS i`,
		"replay_runs": `INSERT INTO hooklatch.replay_runs (action, filter, who, via, request_id, state)
			SELECT 'event.replay', '{}', 'ann', 'cli', i::text, 'done' FROM generate_series(1, $1::int) AS i`,
		"backfill_runs": `INSERT INTO hooklatch.backfill_runs (since, source, until, mode)
			SELECT now(), 'a', now(), 'auto' FROM generate_series(1, $1::int)`,
		"redeliveries": `INSERT INTO hooklatch.redeliveries (event_id, source, ref, happened_at, outcome, ended_at)
			SELECT i::text, 'a', i::text, now(), '', now() FROM generate_series(1, $1::int) AS i`,
	} {
		t.Run(table, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.keep(t, retention.Settings{Audit: 2 * day}) // retention begins here
			w.run(t, insert, rows)
			for range 3 {
				w.pass(t, day)
				require.False(t, w.keep(t, retention.Settings{Audit: 2 * day}).Stopped)
				left := w.count(t, `SELECT count(*) FROM hooklatch.`+table)
				require.Contains(t, []int{rows, 0}, left)
			}
			require.Zero(t, w.count(t, `SELECT count(*) FROM hooklatch.`+table))
		})
	}
}

// An event that is kept for one waiting effect keeps its other effects, so that the operator who
// decides sees all effects of the event.
func TestEffectsOfAnEventThatIsKeptStay(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	settings := retention.Settings{Dedup: map[identity.Source]time.Duration{"a": 5 * day}, Payloads: 2 * day, History: 8 * day}
	w.accept(t, "a", "kept")
	e, err := w.Inbox().Event(t.Context(), ref("a", "kept"))
	require.NoError(t, err)
	effect := func(route string) ledger.NewEffect {
		return ledger.NewEffect{
			EffectID: identity.EffectID{Scope: identity.ScopeOfRoute("a", route), Key: "kept", Generation: e.EffectGeneration},
			Route:    route, Destination: "app", Queue: "dst_app", Request: ledger.Request{Method: "POST", FromDelivery: true},
		}
	}
	made := []ledger.NewEffect{effect("done"), effect("waits")}
	d, err := w.Dispatch(t.Context(), outbox.Dispatch{Event: e, Effects: made})
	require.NoError(t, err)
	require.True(t, d.Fenced)
	w.settle(t, ledger.Settlement{Effect: w.claim(t, made[0].EffectID), Verdict: ledger.VerdictDone, ResponseStatus: 200})
	w.settle(t, ledger.Settlement{Effect: w.claim(t, made[1].EffectID), Verdict: ledger.VerdictMaybeApplied, GiveUp: true})
	for range 20 {
		w.pass(t, day)
		require.False(t, w.keep(t, settings).Stopped)
	}
	require.Equal(t, 1, w.count(t, `SELECT count(*) FROM hooklatch.processed_events`))
	require.Equal(t, 2, w.count(t, `SELECT count(*) FROM hooklatch.effects`))
}

// The notes of copies stay as long as the delivery that contains the copies: an erasure finds the
// copies only by these notes.
func TestNotesOfCopiesStayWithTheirDelivery(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	settings := retention.Settings{Dedup: map[identity.Source]time.Duration{"a": 30 * day}, Payloads: 2 * day}
	w.accept(t, "a", "known")
	bring := func(id string) {
		_, err := w.Accept(t.Context(), outbox.Delivery{
			Source: "a", Provider: "hmac", ContentType: "application/json", Body: []byte(`["known","` + id + `"]`), Headers: map[string][]string{"X-Test": {id}},
			Events: []outbox.Incoming{{ID: "known", Type: "happened", Item: "/0"}, {ID: identity.EventID(id), Type: "happened", Item: "/1"}},
		})
		require.NoError(t, err)
	}
	bring("waits")
	bring("done")
	w.settle(t, ledger.Settlement{Effect: w.claim(t, w.dispatch(t, "a", "done")), Verdict: ledger.VerdictDone, ResponseStatus: 200})
	require.Equal(t, 2, w.count(t, `SELECT count(*) FROM hooklatch.delivery_copies`))
	for range 6 {
		w.pass(t, day)
		require.False(t, w.keep(t, settings).Stopped)
	}
	require.Equal(t, 1, w.count(t, `
		SELECT count(*)
		FROM hooklatch.delivery_copies AS c
		JOIN hooklatch.deliveries_kept AS k USING (delivery_id)`), "only the note of the waiting event's delivery stays")
	require.Equal(t, 1, w.count(t, `SELECT count(*) FROM hooklatch.delivery_copies`))
}

// Retention keeps an object's newest version for the full period after the last effect that applied
// it. Once the version is deleted, an older event can be applied again.
func TestAVersionIsRememberedFromItsLastEffect(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	settings := retention.Settings{Dedup: map[identity.Source]time.Duration{"a": 5 * day}, Payloads: 2 * day, History: 8 * day}
	apply := func(id string) {
		w.accept(t, "a", id)
		effect := w.dispatch(t, "a", id, func(e *ledger.NewEffect) { e.LatestKey = "sub_1" })
		w.settle(t, ledger.Settlement{Effect: w.claim(t, effect), Verdict: ledger.VerdictDone, ResponseStatus: 200})
	}
	versions := func() int { return w.count(t, `SELECT count(*) FROM hooklatch.object_versions`) }
	apply("first")
	for today := range 20 {
		w.pass(t, day)
		if today == 5 {
			apply("second")
		}
		require.False(t, w.keep(t, settings).Stopped)
		if today < 12 {
			require.Equal(t, 1, versions(), "day %d", today)
		}
	}
	require.Zero(t, versions())
}
