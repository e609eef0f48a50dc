package find_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/outbox"
	"github.com/hooklatch/hooklatch/outbox/find"
	"github.com/hooklatch/hooklatch/outbox/identity"
	"github.com/hooklatch/hooklatch/outbox/inbox"
	"github.com/hooklatch/hooklatch/outbox/ledger"
	"github.com/hooklatch/hooklatch/schema/pgtest"
)

// effectsOf returns the states of the listed events' effects, by event.
func effectsOf(t *testing.T, b *bundle, asked find.Events) map[string]string {
	t.Helper()
	page := whole(t, func(from find.Cursor) (find.Page[*inbox.Event], error) { return b.Events(t.Context(), asked, from, 0) })
	states := map[string]string{}
	for _, e := range page.Rows {
		require.NotNil(t, e.EffectStates, "%s is shown as unknown", e.EventID)
		states[string(e.EventID)] = e.EffectStates.String()
	}
	return states
}

// A list shows the states of each event's effects, the worst first. The states include effects of a
// replay that ran days later, effects of earlier events with the same key, and effects that an
// older version linked.
func TestAListShowsTheStatesOfEffects(t *testing.T) {
	t.Parallel()
	b := setup(t)
	plan := func(e *inbox.Event, scopes ...string) {
		d := outbox.Dispatch{Event: e}
		for _, scope := range scopes {
			d.Effects = append(d.Effects, ledger.NewEffect{
				EffectID: identity.EffectID{Scope: identity.Scope(scope), Key: "same", Generation: 1},
				Route:    "all", Destination: "app", Queue: "dst_app", Request: ledger.Request{Method: "POST", Body: []byte(`{}`)},
			})
		}
		_, err := b.box.Dispatch(t.Context(), d)
		require.NoError(t, err)
	}
	exec := func(sql string, args ...any) {
		_, err := b.pool.Exec(t.Context(), sql, args...)
		require.NoError(t, err)
	}
	by := ledger.Operator{Who: "ann", Via: "test"}
	park := func(scope string) {
		require.NoError(t, b.box.Ledger().Park(t.Context(), identity.EffectID{Scope: identity.Scope(scope), Key: "same", Generation: 1}.IdempotencyKey(), by))
	}

	plan(b.accept(t, "stripe", "one", `{}`), "a")
	plan(b.accept(t, "stripe", "three", `{}`), "b", "c", "d")
	plan(b.accept(t, "stripe", "repeats", `{}`), "b")
	b.accept(t, "stripe", "waits", `{}`)
	park("b")
	require.NoError(t, b.box.Ledger().Cancel(t.Context(), identity.EffectID{Scope: "d", Key: "same", Generation: 1}.IdempotencyKey(), by))
	require.Equal(t, map[string]string{
		"one": "pending", "three": "1 parked, 1 pending, 1 cancelled", "repeats": "parked", "waits": "",
	}, effectsOf(t, b, find.Events{}))
	require.Equal(t, map[string]string{"three": "1 parked, 1 pending, 1 cancelled", "repeats": "parked"}, effectsOf(t, b, find.Events{Effects: []find.EffectsIn{"parked"}}))
	require.Equal(t, map[string]string{"waits": ""}, effectsOf(t, b, find.Events{Effects: []find.EffectsIn{find.NoEffects}}))

	// This event is replayed three days after it was received, with new keys.
	pgtest.PastDays(t, b.pool, 3)
	exec(`UPDATE hooklatch.links SET linked_at = linked_at - interval '3 days' WHERE scope = 'a'`)
	exec(`UPDATE hooklatch.processed_events SET received_at = received_at - interval '3 days', processed_at = processed_at - interval '3 days' WHERE event_id = 'one'`)
	require.Equal(t, "pending", effectsOf(t, b, find.Events{})["one"])
	exec(`UPDATE hooklatch.processed_events SET generation = 2, processed_at = now() WHERE event_id = 'one'`)
	exec(`INSERT INTO hooklatch.links (accept_seq, scope, key, generation, suppressed) SELECT accept_seq, 'c', 'same', 1, false FROM hooklatch.processed_events WHERE event_id = 'one'`)
	require.Equal(t, "2 pending", effectsOf(t, b, find.Events{})["one"])

	// A version without the table links linked this effect.
	exec(`UPDATE hooklatch.processed_events SET processed_at = now() WHERE event_id = 'waits'`)
	exec(`ALTER TABLE hooklatch.effect_events DISABLE TRIGGER USER`)
	exec(`INSERT INTO hooklatch.effect_events (source, event_id, scope, key, generation, suppressed) VALUES ('stripe', 'waits', 'b', 'same', 1, false)`)
	require.Equal(t, "parked", effectsOf(t, b, find.Events{})["waits"])
	require.Contains(t, effectsOf(t, b, find.Events{Effects: []find.EffectsIn{"parked"}, Span: find.Span{Since: time.Now().Add(-time.Hour)}}), "waits")
}

// For an event that was never replayed, a list reads only the links of the day on which the event
// was dispatched.
func TestTheStatesOfEffectsAreReadFromOneDay(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.dispatch(t, b.accept(t, "stripe", "old", `{}`))
	const days = 30
	pgtest.PastDays(t, b.pool, days)
	_, err := b.pool.Exec(t.Context(), `INSERT INTO hooklatch.links (accept_seq, linked_at, scope, key, generation, suppressed)
		SELECT -1, date_trunc('day', now(), 'UTC') - ago * interval '1 day' + interval '1 hour', 's', 'other', 1, false FROM generate_series(1, 30) AS ago`)
	require.NoError(t, err)
	_, err = b.pool.Exec(t.Context(), `UPDATE hooklatch.processed_events SET received_at = received_at - interval '29 days', processed_at = processed_at - interval '29 days'`)
	require.NoError(t, err)
	_, err = b.pool.Exec(t.Context(), `INSERT INTO hooklatch.links (accept_seq, linked_at, scope, key, generation, suppressed)
		SELECT p.accept_seq, p.processed_at, e.scope, e.key, e.generation, false
		FROM hooklatch.processed_events AS p
		CROSS JOIN hooklatch.effects AS e`)
	require.NoError(t, err)
	require.Equal(t, "pending", effectsOf(t, b, find.Events{})["old"])
	b.costOf(t)
	require.Len(t, effectsOf(t, b, find.Events{Effects: []find.EffectsIn{"pending"}}), 1)
	c := b.costOf(t)
	require.Less(t, c.pages, days+2*ofEffects, c.plans)
}
