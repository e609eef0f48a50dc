package outbox

import (
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/outbox/erasure"
	"github.com/hooklatch/hooklatch/outbox/fleet"
	"github.com/hooklatch/hooklatch/outbox/identity"
	"github.com/hooklatch/hooklatch/outbox/ledger"
)

// forwarded returns the id of an effect that forwarded its delivery's body and that the destination
// refused.
func (b *bundle) forwarded(t *testing.T, id string) identity.EffectID {
	t.Helper()
	e := b.accepted(t, "stripe", id)
	effect := planned(e, id)
	effect.Policy = ledger.AtMostOnce
	effect.Request = ledger.Request{
		Method: "PUT", URL: "http://app.test/hook", ContentType: "application/json", Headers: map[string][]string{"X-Kind": {"invoice"}}, FromDelivery: true,
	}
	_, err := b.Dispatch(t.Context(), Dispatch{Event: e, Effects: []ledger.NewEffect{effect}})
	require.NoError(t, err)
	b.settle(t, b.granted(t, effect.EffectID, lease), ledger.Settlement{Verdict: ledger.VerdictRefused, ResponseStatus: 400})
	return effect.EffectID
}

// byKey returns the id of the effect with a key.
func (b *bundle) byKey(t *testing.T, key string) identity.EffectID {
	t.Helper()
	e, err := b.Ledger().Effect(t.Context(), key)
	require.NoError(t, err)
	return e.EffectID
}

// A resent effect has another key and the changed request. The old effect stays as it is, and each
// of the two effects refers to the other.
func TestResendIsANewEffect(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.register(t, fleet.Destination{Name: "app", Kind: "http", Queue: "dst_app"})
	id := b.forwarded(t, "evt_1")
	old := b.effect(t, id)

	same, err := b.Ledger().Resend(t.Context(), old.IdempotencyKey, ledger.Resend{}, because("they lost it"))
	require.NoError(t, err)
	require.NotEqual(t, old.IdempotencyKey, same)
	sent := b.granted(t, b.byKey(t, same), lease)
	require.Equal(t, `{"id":"x","type":"invoice.paid"}`, string(sent.Request.Body), "the new effect sends the delivery's bytes")
	require.Equal(t, "PUT", sent.Request.Method)
	require.Equal(t, "http://app.test/hook", sent.Request.URL)
	require.Equal(t, map[string][]string{"X-Kind": {"invoice"}}, sent.Request.Headers)
	require.Equal(t, ledger.AtMostOnce, sent.Policy)
	require.Equal(t, "app", sent.Destination)
	require.Equal(t, old.Event, sent.Event)

	plain := "text/plain"
	changed := ledger.Resend{Body: []byte(`{"amount":42}`), ContentType: &plain, Headers: map[string][]string{"X-Kind": {"repaired"}}}
	edited, err := b.Ledger().Resend(t.Context(), same, changed, ann)
	require.NoError(t, err)
	sent = b.granted(t, b.byKey(t, edited), lease)
	require.Equal(t, `{"amount":42}`, string(sent.Request.Body))
	require.Equal(t, "text/plain", sent.Request.ContentType)
	require.Equal(t, map[string][]string{"X-Kind": {"repaired"}}, sent.Request.Headers)
	require.Equal(t, same, sent.ResentFrom())
	b.settle(t, sent, ledger.Settlement{Verdict: ledger.VerdictDone})

	require.Equal(t, old, b.effect(t, id), "the old effect stays as it was")
	require.Empty(t, old.ResentFrom())
	for from, want := range map[string][]string{old.IdempotencyKey: {same}, same: {edited}, edited: {}} {
		keys, err := b.Ledger().Resends(t.Context(), from)
		require.NoError(t, err)
		require.ElementsMatch(t, want, keys)
	}
	links, err := b.Ledger().EffectsOfEvent(t.Context(), old.Event)
	require.NoError(t, err)
	require.Len(t, links, 3, "the effects belong to the same event")
	actions := b.actions(t)
	require.Len(t, actions, 2)
	require.Equal(t, ledger.ActionResendEffect, actions[1].Action)
	require.Equal(t, old.IdempotencyKey, actions[1].Target)
	require.Equal(t, "they lost it", actions[1].Reason)
	require.Equal(t, "resent as "+same, actions[1].Result)
}

// An application's effect has no event, and is resent like any other.
func TestResendOfAnEnqueuedEffect(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.register(t, fleet.Destination{Name: "app", Kind: "http", Queue: "dst_app"})
	tx := b.begin(t)
	_, err := b.EnqueueTx(t.Context(), tx, Enqueue{Destination: "app", Key: "order_7", Request: ledger.Request{Body: []byte("7")}, OrderKey: "orders"})
	require.NoError(t, err)
	require.NoError(t, tx.Commit(t.Context()))
	old := b.effect(t, identity.EffectID{Scope: identity.ScopeOfEnqueue("app"), Key: "order_7", Generation: 1})
	key, err := b.Ledger().Resend(t.Context(), old.IdempotencyKey, ledger.Resend{}, ann)
	require.NoError(t, err)
	sent := b.granted(t, b.byKey(t, key), lease)
	require.Equal(t, "7", string(sent.Request.Body))
	require.Empty(t, sent.OrderKey, "the resent effect waits for no other effect")
	require.Equal(t, 1, b.jobs(t, sent.EffectID))
}

// A resend that is requested repeatedly under one request id creates one effect.
func TestResendTwiceIsOne(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.register(t, fleet.Destination{Name: "app", Kind: "http", Queue: "dst_app"})
	old := b.effect(t, b.forwarded(t, "evt_1"))
	by := ann
	by.RequestID = "one and the same"
	var both sync.WaitGroup
	keys := make([]string, 8)
	for i := range keys {
		both.Go(func() { keys[i], _ = b.Ledger().Resend(t.Context(), old.IdempotencyKey, ledger.Resend{}, by) })
	}
	both.Wait()
	for _, key := range keys {
		require.Equal(t, keys[0], key)
		require.NotEmpty(t, key)
	}
	made, err := b.Ledger().Resends(t.Context(), old.IdempotencyKey)
	require.NoError(t, err)
	require.Equal(t, keys[:1], made)
	require.Len(t, b.actions(t), 1)
	require.Equal(t, 1, b.jobs(t, b.byKey(t, keys[0])))
}

// A resend is refused, with the reason, if the effect has no request that can be sent again.
func TestWhatCannotBeResent(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.register(t, fleet.Destination{Name: "app", Kind: "http", Queue: "dst_app"})
	change := func(query string) func(identity.EffectID) {
		return func(id identity.EffectID) {
			_, err := b.pool.Exec(t.Context(), query, id.Key)
			require.NoError(t, err)
		}
	}
	for name, c := range map[string]struct {
		make   func(*testing.T, string) identity.EffectID
		change func(identity.EffectID)
		want   string
	}{
		"erased": {b.forwarded, func(id identity.EffectID) {
			_, err := b.Erasure().Event(t.Context(), identity.EventRef{Source: "stripe", EventID: identity.EventID(id.Key)}, ann, erasure.Order{})
			require.NoError(t, err)
		}, "its event stripe/erased was erased or redacted"},
		"redacted":    {b.forwarded, change(`UPDATE hooklatch.processed_events SET redacted_at = now() WHERE event_id = $1`), "was erased or redacted"},
		"forgotten":   {b.forwarded, change(`DELETE FROM hooklatch.processed_events WHERE event_id = $1`), "its event stripe/forgotten was deleted after its retention"},
		"body is old": {b.forwarded, change(`DELETE FROM hooklatch.deliveries WHERE delivery_id = (SELECT delivery_id FROM hooklatch.processed_events WHERE event_id = $1)`), "is no longer stored"},
		"late": {func(t *testing.T, key string) identity.EffectID {
			t.Helper()
			return b.late(t, key, ledger.AtLeastOnce)
		}, nil, "its request is rendered at the first attempt"},
		"unrendered": {func(t *testing.T, key string) identity.EffectID {
			t.Helper()
			e := b.accepted(t, "stripe", key)
			effect := planned(e, key)
			effect.Request, effect.Parked = ledger.Request{}, "cannot be rendered"
			_, err := b.Dispatch(t.Context(), Dispatch{Event: e, Effects: []ledger.NewEffect{effect}})
			require.NoError(t, err)
			return effect.EffectID
		}, nil, "replay its event instead"},
		"left": {b.forwarded, change(`UPDATE hooklatch.effects SET destination = 'gone' WHERE key = $1`), "no worker has registered its destination gone"},
	} {
		id := c.make(t, name)
		if c.change != nil {
			c.change(id)
		}
		_, err := b.Ledger().Resend(t.Context(), id.IdempotencyKey(), ledger.Resend{}, ann)
		require.ErrorIs(t, err, ledger.ErrNotResendable, name)
		require.ErrorContains(t, err, c.want)
		made, err := b.Ledger().Resends(t.Context(), id.IdempotencyKey())
		require.NoError(t, err)
		require.Empty(t, made, name)
	}
	_, err := b.Ledger().Resend(t.Context(), "hl_none", ledger.Resend{}, ann)
	require.ErrorIs(t, err, ledger.ErrNotFound)
}

// An erasure includes resent effects. A resend waits for an erasure that runs at the same moment,
// and is then refused.
func TestErasureIncludesResentEffects(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.register(t, fleet.Destination{Name: "app", Kind: "http", Queue: "dst_app"})
	id := b.forwarded(t, "evt_1")
	key, err := b.Ledger().Resend(t.Context(), id.IdempotencyKey(), ledger.Resend{Body: []byte(`{"name":"Ada"}`)}, ann)
	require.NoError(t, err)
	b.settle(t, b.granted(t, b.byKey(t, key), lease), ledger.Settlement{Verdict: ledger.VerdictDone, ResponseExcerpt: "hello Ada"})
	ref := identity.EventRef{Source: "stripe", EventID: "evt_1"}
	_, err = b.Erasure().Event(t.Context(), ref, ann, erasure.Order{})
	require.NoError(t, err)
	require.False(t, b.effect(t, b.byKey(t, key)).ErasedAt.IsZero())
	require.Zero(t, b.count(t, `SELECT count(*) FROM hooklatch.effects AS e WHERE e::text LIKE '%Ada%' OR convert_from(e.request_body, 'utf8') LIKE '%Ada%'`))

	racing := b.forwarded(t, "evt_2")
	tx := b.begin(t)
	_, err = tx.Exec(t.Context(), `UPDATE hooklatch.processed_events SET erased_at = now() WHERE event_id = 'evt_2'`)
	require.NoError(t, err)
	ended := make(chan error, 1)
	go func() {
		_, err := b.Ledger().Resend(t.Context(), racing.IdempotencyKey(), ledger.Resend{Body: []byte(`{"name":"Ada"}`)}, ann)
		ended <- err
	}()
	require.Eventually(t, func() bool {
		return b.count(t, `SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()`) == 1
	}, time.Minute, 10*time.Millisecond)
	require.NoError(t, tx.Commit(t.Context()))
	require.ErrorIs(t, <-ended, ledger.ErrNotResendable)
}
