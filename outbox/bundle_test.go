package outbox

import (
	"cmp"
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/outbox/commit"
	"github.com/hooklatch/hooklatch/outbox/identity"
	"github.com/hooklatch/hooklatch/outbox/inbox"
	"github.com/hooklatch/hooklatch/outbox/ledger"
	"github.com/hooklatch/hooklatch/schema/pgtest"
)

// bundle contains an Outbox, its Inbox and their pool.
type bundle struct {
	*Outbox
	*inbox.Inbox

	pool *pgxpool.Pool
}

func setup(t testing.TB, options ...func(*Options)) *bundle {
	t.Helper()
	return onPool(t, pgtest.New(t), options...)
}

func onPool(t testing.TB, pool *pgxpool.Pool, options ...func(*Options)) *bundle {
	t.Helper()
	opts := Options{Pool: pool, ConsoleURL: "http://console.test/", noteTimeout: time.Minute}
	for _, option := range options {
		option(&opts)
	}
	opts.AcceptTimeout = cmp.Or(opts.AcceptTimeout, time.Minute) // so that no delivery times out on a busy machine
	o, err := New(opts)
	require.NoError(t, err)
	o.planTimeout = time.Minute
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
		defer cancel()
		require.NoError(t, o.Stop(ctx))
	})
	return &bundle{Outbox: o, Inbox: o.Inbox(), pool: pool}
}

// count returns the single number that a query yields.
func (b *bundle) count(t testing.TB, query string, args ...any) int {
	t.Helper()
	var n int
	require.NoError(t, b.pool.QueryRow(t.Context(), query, args...).Scan(&n))
	return n
}

// delivery returns a delivery with one event for each id.
func delivery(source string, ids ...string) Delivery {
	d := Delivery{
		Source:      identity.Source(source),
		Provider:    "stripe",
		Headers:     map[string][]string{"X-Test": {"one", "two"}},
		ContentType: "application/json",
		Body:        []byte(`{"id":"x","type":"invoice.paid"}`),
	}
	for _, id := range ids {
		d.Events = append(d.Events, Incoming{ID: identity.EventID(id), Type: "invoice.paid"})
	}
	return d
}

// accepted stores one event and loads it. It tries again if Accept gives up, because some tests have an
// Outbox with a limit that a busy machine may exceed.
func (b *bundle) accepted(t testing.TB, source, id string) *inbox.Event {
	t.Helper()
	_, err := b.Accept(t.Context(), delivery(source, id))
	for until := time.Now().Add(2 * time.Minute); errors.Is(err, commit.ErrUnavailable) && time.Now().Before(until); {
		_, err = b.Accept(t.Context(), delivery(source, id))
	}
	require.NoError(t, err)
	e, err := b.Event(t.Context(), identity.EventRef{Source: identity.Source(source), EventID: identity.EventID(id)})
	require.NoError(t, err)
	return e
}

// planned returns an effect of e at the destination app.
func planned(e *inbox.Event, key string) ledger.NewEffect {
	return ledger.NewEffect{
		EffectID:    identity.EffectID{Scope: identity.ScopeOfRoute(e.Source, "everything"), Key: identity.Key(key), Generation: e.EffectGeneration},
		Route:       "everything",
		Destination: "app",
		Queue:       "dst_app",
		Request:     ledger.Request{Method: "POST", ContentType: "application/json", Body: []byte(`{"n":1}`)},
	}
}

// dispatched stores an event with one effect and returns the effect's id.
func (b *bundle) dispatched(t testing.TB, id string, policy ledger.Policy) identity.EffectID {
	t.Helper()
	e := b.accepted(t, "stripe", id)
	effect := planned(e, id)
	effect.Policy = policy
	d, err := b.Dispatch(t.Context(), Dispatch{Event: e, Effects: []ledger.NewEffect{effect}})
	require.NoError(t, err)
	require.Equal(t, []identity.EffectID{effect.EffectID}, d.Created)
	return effect.EffectID
}

// claimOf returns a claim with a new claim id.
func claimOf(id identity.EffectID) ledger.Claim {
	return ledger.Claim{ID: id, ClaimID: uuid.New(), Lease: lease, JobID: 1}
}

// claim claims an attempt with a new claim id.
func (b *bundle) claim(t testing.TB, id identity.EffectID, lease time.Duration) ledger.Claimed {
	t.Helper()
	c, err := b.Ledger().Claim(t.Context(), ledger.Claim{ID: id, ClaimID: uuid.New(), Lease: lease, JobID: 1})
	require.NoError(t, err)
	return c
}

// granted claims an attempt, requires that the claim is granted, and loads the effect's body.
func (b *bundle) granted(t testing.TB, id identity.EffectID, lease time.Duration) ledger.Effect {
	t.Helper()
	c := b.claim(t, id, lease)
	require.Equal(t, ledger.ClaimGranted, c.Status)
	require.NoError(t, b.Ledger().LoadBody(t.Context(), &c.Effect))
	return c.Effect
}

// ann requests the operator actions of the tests.
var ann = ledger.Operator{Who: "ann", Via: "test"}

// because returns the operator ann with a reason.
func because(reason string) ledger.Operator {
	by := ann
	by.Reason = reason
	return by
}

// failure returns the error of a call that also reports whether it changed anything.
func failure(_ bool, err error) error { return err }
