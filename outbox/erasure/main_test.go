package erasure_test

import (
	"context"
	"os"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/internal/payload"
	"github.com/hooklatch/hooklatch/outbox"
	"github.com/hooklatch/hooklatch/outbox/erasure"
	"github.com/hooklatch/hooklatch/outbox/identity"
	"github.com/hooklatch/hooklatch/outbox/inbox"
	"github.com/hooklatch/hooklatch/outbox/ledger"
	"github.com/hooklatch/hooklatch/schema/pgtest"
)

func TestMain(m *testing.M) { os.Exit(pgtest.Main(m)) }

var ann = ledger.Operator{Who: "ann", Via: "test"}

// bundle is an outbox on its own database.
type bundle struct {
	*outbox.Outbox

	pool *pgxpool.Pool
}

func setup(t testing.TB) *bundle {
	t.Helper()
	pool := pgtest.New(t)
	o, err := outbox.New(outbox.Options{Pool: pool, AcceptTimeout: time.Minute})
	require.NoError(t, err)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
		defer cancel()
		require.NoError(t, o.Stop(ctx))
	})
	return &bundle{Outbox: o, pool: pool}
}

func ref(id string) identity.EventRef {
	return identity.EventRef{Source: "shop", EventID: identity.EventID(id)}
}

// accept stores a body with one event for each entry of items, which maps the event's id to the
// event's part of the body.
func (b *bundle) accept(t testing.TB, body string, items map[string]string) outbox.Acceptance {
	t.Helper()
	d := outbox.Delivery{
		Source: "shop", Provider: "hmac", ContentType: "application/json", Body: []byte(body),
		Headers: map[string][]string{"X-Test": {"one"}},
	}
	for id, item := range items {
		d.Events = append(d.Events, outbox.Incoming{ID: identity.EventID(id), Type: "order.paid", Item: item})
	}
	came, err := b.Accept(t.Context(), d)
	require.NoError(t, err)
	return came
}

func (b *bundle) event(t testing.TB, id string) *inbox.Event {
	t.Helper()
	e, err := b.Inbox().Event(t.Context(), ref(id))
	require.NoError(t, err)
	return e
}

// dispatch dispatches an event with an effect for each key, and returns the effects' ids. Each effect
// sends the delivery unchanged.
func (b *bundle) dispatch(t testing.TB, id string, keys ...string) []identity.EffectID {
	t.Helper()
	e := b.event(t, id)
	var effects []ledger.NewEffect
	var ids []identity.EffectID
	for _, key := range keys {
		effect := ledger.NewEffect{
			EffectID: identity.EffectID{Scope: identity.ScopeOfRoute("shop", "all"), Key: identity.Key(key), Generation: e.EffectGeneration},
			Route:    "all", Destination: "app", Queue: "dst_app", Request: ledger.Request{FromDelivery: true},
		}
		effects, ids = append(effects, effect), append(ids, effect.EffectID)
	}
	d, err := b.Dispatch(t.Context(), outbox.Dispatch{
		Event: e, Effects: effects, SearchValues: payload.SearchValues(e.ContentType, e.Payload(), []string{"/name", "/email"}),
	})
	require.NoError(t, err)
	require.True(t, d.Fenced)
	return ids
}

func (b *bundle) claim(t testing.TB, id identity.EffectID) ledger.Effect {
	t.Helper()
	c, err := b.Ledger().Claim(t.Context(), ledger.Claim{ID: id, ClaimID: uuid.New(), Lease: time.Minute, JobID: 1})
	require.NoError(t, err)
	require.Equal(t, ledger.ClaimGranted, c.Status)
	return c.Effect
}

func (b *bundle) settle(t testing.TB, e ledger.Effect, verdict ledger.Verdict) ledger.Settled {
	t.Helper()
	settled, err := b.Ledger().Settle(t.Context(), ledger.Settlement{Effect: e, Verdict: verdict, ResponseStatus: 200, ResponseExcerpt: "hello Jane"})
	require.NoError(t, err)
	return settled
}

// done creates an event whose effects are all done.
func (b *bundle) done(t testing.TB, id, body string) {
	t.Helper()
	b.accept(t, body, map[string]string{id: ""})
	for _, effect := range b.dispatch(t, id, id) {
		b.settle(t, b.claim(t, effect), ledger.VerdictDone)
	}
}

func (b *bundle) erase(t testing.TB, id string) erasure.Erased {
	t.Helper()
	erased, err := b.Erasure().Event(t.Context(), ref(id), ann, erasure.Order{})
	require.NoError(t, err)
	return erased
}

func (b *bundle) exec(t testing.TB, query string, args ...any) {
	t.Helper()
	_, err := b.pool.Exec(t.Context(), query, args...)
	require.NoError(t, err)
}

// count returns the single number that a query yields.
func (b *bundle) count(t testing.TB, query string, args ...any) int {
	t.Helper()
	var n int
	require.NoError(t, b.pool.QueryRow(t.Context(), query, args...).Scan(&n))
	return n
}
