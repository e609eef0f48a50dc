package ledger

import (
	"context"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/internal/riverjob"
	"github.com/hooklatch/hooklatch/outbox/commit"
	"github.com/hooklatch/hooklatch/outbox/identity"
	"github.com/hooklatch/hooklatch/schema"
	"github.com/hooklatch/hooklatch/schema/pgtest"
)

// leaseTime is longer than a test takes.
const leaseTime = time.Minute

// ledgerBundle is a Ledger on its own database, with a destination.
type ledgerBundle struct {
	*Ledger

	pool *pgxpool.Pool
}

// newLedger returns a Ledger on a pool, and registers the destination app.
func newLedger(t testing.TB, pool *pgxpool.Pool) *ledgerBundle {
	t.Helper()
	db, err := commit.New(commit.Options{Pool: pool})
	require.NoError(t, err)
	jobs, err := riverjob.NewInserter(riverjob.InserterOptions{Pool: pool, Schema: schema.Default})
	require.NoError(t, err)
	l, err := New(Options{DB: db, ReadPool: pool, Jobs: jobs})
	require.NoError(t, err)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
		defer cancel()
		require.NoError(t, l.Stop(ctx))
	})
	_, err = pool.Exec(t.Context(), `INSERT INTO hooklatch.destinations (name, kind, queue, policy, config_hash)
		VALUES ('app', 'http', 'dst_app', 'at_least_once', '') ON CONFLICT DO NOTHING`)
	require.NoError(t, err)
	return &ledgerBundle{Ledger: l, pool: pool}
}

// count returns the single number that a query yields.
func (b *ledgerBundle) count(t testing.TB, query string, args ...any) int {
	t.Helper()
	var n int
	require.NoError(t, b.pool.QueryRow(t.Context(), query, args...).Scan(&n))
	return n
}

func (b *ledgerBundle) begin(t *testing.T) pgx.Tx {
	t.Helper()
	tx, err := b.pool.Begin(t.Context())
	require.NoError(t, err)
	return tx
}

// add enqueues an effect inside tx.
func (b *ledgerBundle) add(t testing.TB, tx pgx.Tx, e NewEffect) identity.EffectID {
	t.Helper()
	e.Destination = "app"
	if e.Request.Body == nil {
		e.Request.Body = []byte(`{"n":1}`)
	}
	isNew, err := b.AddTx(t.Context(), tx, e, nil, "")
	require.NoError(t, err)
	require.True(t, isNew)
	return identity.EffectID{Scope: identity.ScopeOfEnqueue("app"), Key: e.Key, Generation: 1}
}

// added enqueues an effect in its own transaction.
func (b *ledgerBundle) added(t testing.TB, key string, policy Policy) identity.EffectID {
	t.Helper()
	var id identity.EffectID
	require.NoError(t, pgx.BeginFunc(t.Context(), b.pool, func(tx pgx.Tx) error {
		id = b.add(t, tx, NewEffect{EffectID: identity.EffectID{Key: identity.Key(key)}, Policy: policy})
		return nil
	}))
	return id
}

// claiming returns a claim with a new claim id.
func claiming(id identity.EffectID) Claim {
	return Claim{ID: id, ClaimID: uuid.New(), Lease: leaseTime, JobID: 1}
}

func (b *ledgerBundle) claim(t testing.TB, id identity.EffectID) Claimed {
	t.Helper()
	c, err := b.Claim(t.Context(), claiming(id))
	require.NoError(t, err)
	return c
}

// granted claims an effect, requires that the claim is granted, and loads the body.
func (b *ledgerBundle) granted(t testing.TB, id identity.EffectID) Effect {
	t.Helper()
	c := b.claim(t, id)
	require.Equal(t, ClaimGranted, c.Status)
	require.NoError(t, b.LoadBody(t.Context(), &c.Effect))
	return c.Effect
}

// failed creates an effect that its receiver refused.
func (b *ledgerBundle) failed(t testing.TB, key string) identity.EffectID {
	t.Helper()
	id := b.added(t, key, AtLeastOnce)
	_, err := b.Settle(t.Context(), Settlement{Effect: b.granted(t, id), Verdict: VerdictRefused, Error: "no"})
	require.NoError(t, err)
	return id
}

// pause sets or ends an operator's pause of all destinations.
func (b *ledgerBundle) pause(t testing.TB, paused bool) {
	t.Helper()
	_, err := b.pool.Exec(t.Context(), `UPDATE hooklatch.destinations SET operator_paused = $1, paused_at = CASE WHEN $1 THEN now() END`, paused)
	require.NoError(t, err)
}

// stands returns an effect as it is currently stored.
func (b *ledgerBundle) stands(t testing.TB, id identity.EffectID) Effect {
	t.Helper()
	e, err := b.Effect(t.Context(), id.IdempotencyKey())
	require.NoError(t, err)
	return e
}

// ledgerOn returns a Ledger on a separate database for the test.
func ledgerOn(t testing.TB) *ledgerBundle {
	t.Helper()
	return newLedger(t, pgtest.New(t))
}

// tester is the operator of the tests.
var tester = Operator{Who: "ann", Via: "test"}
