package outbox

import (
	"context"
	"errors"
	"testing"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/internal/fault"
	"github.com/hooklatch/hooklatch/outbox/ledger"
)

// add applies an effect: it inserts a row into the table applied.
func add(ctx context.Context, tx pgx.Tx, e ledger.Effect) (ledger.Settlement, error) {
	_, err := tx.Exec(ctx, `INSERT INTO applied VALUES ($1, $2)`, e.IdempotencyKey, e.Attempt)
	return ledger.Settlement{Verdict: ledger.VerdictDone}, err
}

func (b *bundle) withApplied(t *testing.T) {
	t.Helper()
	_, err := b.pool.Exec(t.Context(), `CREATE TABLE applied (key text NOT NULL, attempt integer NOT NULL)`)
	require.NoError(t, err)
}

func TestRunTxAppliesOnce(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.withApplied(t)
	id := b.dispatched(t, "evt_1", ledger.AtMostOnce)
	claimed, settled, err := b.Ledger().RunTx(t.Context(), ledger.Claim{ID: id, ClaimID: uuid.New(), Lease: lease}, add)
	require.NoError(t, err)
	require.Equal(t, ledger.ClaimGranted, claimed.Status)
	require.Equal(t, ledger.EffectDone, settled.State)
	claimed, _, err = b.Ledger().RunTx(t.Context(), ledger.Claim{ID: id, ClaimID: uuid.New(), Lease: lease}, add)
	require.NoError(t, err)
	require.Equal(t, ledger.ClaimFinished, claimed.Status)
	require.Equal(t, 1, b.count(t, `SELECT count(*) FROM applied`))
	transitions, err := b.Ledger().Transitions(t.Context(), id)
	require.NoError(t, err)
	require.Len(t, transitions, 3, "every step of the transaction is recorded")
}

// The effect is applied exactly once, whatever happens to the COMMIT and its response.
func TestRunTxSurvivesALostCommit(t *testing.T) {
	t.Parallel()
	for _, mode := range []fault.Mode{fault.LoseAnswer, fault.LoseRequest} {
		t.Run(string(mode), func(t *testing.T) {
			t.Parallel()
			b, sound, f := onFaultyPool(t)
			sound.withApplied(t)
			id := b.dispatched(t, "evt_1", ledger.AtLeastOnce)
			f.Arm(mode, 2)
			claimed, settled, err := b.Ledger().RunTx(t.Context(), ledger.Claim{ID: id, ClaimID: uuid.New(), Lease: lease}, add)
			require.NoError(t, err)
			require.NotZero(t, f.Count())
			require.Equal(t, ledger.ClaimGranted, claimed.Status)
			require.Equal(t, 1, claimed.Effect.Attempt)
			require.Equal(t, ledger.EffectDone, settled.State)
			require.Equal(t, 1, sound.count(t, `SELECT count(*) FROM applied`))
			require.Equal(t, 1, sound.count(t, `SELECT count(*) FROM hooklatch.all_attempts`))
		})
	}
}

func TestRunTxRollsBack(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.withApplied(t)
	_, err := b.pool.Exec(t.Context(), `CREATE TABLE parents (id text PRIMARY KEY);
		CREATE TABLE children (parent text REFERENCES parents DEFERRABLE INITIALLY DEFERRED)`)
	require.NoError(t, err)
	boom := errors.New("boom")
	for name, c := range map[string]struct {
		settlement ledger.Settlement
		err        error
		want       ledger.EffectState
		text       string
	}{
		"error":     {ledger.Settlement{}, boom, ledger.EffectPending, "boom"},
		"refused":   {ledger.Settlement{Verdict: ledger.VerdictRefused, Error: "no such row"}, nil, ledger.EffectFailed, "no such row"},
		"used up":   {ledger.Settlement{GiveUp: true}, boom, ledger.EffectParked, "boom"},
		"unknown":   {ledger.Settlement{Verdict: ledger.VerdictMaybeApplied, Error: "?"}, nil, ledger.EffectPending, "?"},
		"statement": {ledger.Settlement{}, nil, ledger.EffectPending, "does not exist"},
		"commit":    {ledger.Settlement{Verdict: ledger.VerdictDone, ResponseExcerpt: "INSERT 0 1"}, nil, ledger.EffectPending, "the server refused to commit it (SQLSTATE 23503)"},
		"exhausted": {ledger.Settlement{Verdict: ledger.VerdictDone, GiveUp: true}, nil, ledger.EffectParked, "the server refused to commit it (SQLSTATE 23503)"},
		"aborted":   {ledger.Settlement{Verdict: ledger.VerdictDone}, nil, ledger.EffectPending, "the server refused to commit it (SQLSTATE 25P02)"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			id := b.dispatched(t, name, ledger.AtMostOnce)
			claimed, settled, err := b.Ledger().RunTx(t.Context(), ledger.Claim{ID: id, ClaimID: uuid.New(), Lease: lease}, func(ctx context.Context, tx pgx.Tx, e ledger.Effect) (ledger.Settlement, error) {
				if _, err := add(ctx, tx, e); err != nil {
					return ledger.Settlement{}, err
				}
				switch name {
				case "statement":
					_, err := tx.Exec(ctx, `UPDATE nothing SET x = 1`)
					return ledger.Settlement{}, err
				case "aborted": // the function hides that its statement failed
					_, _ = tx.Exec(ctx, `UPDATE nothing SET x = 1`)
				case "commit", "exhausted":
					if _, err := tx.Exec(ctx, `INSERT INTO children VALUES ('none')`); err != nil {
						return ledger.Settlement{}, err
					}
				}
				return c.settlement, c.err
			})
			require.NoError(t, err)
			require.Equal(t, ledger.ClaimGranted, claimed.Status)
			require.Equal(t, c.want, settled.State)
			e := b.effect(t, id)
			require.Equal(t, c.want, e.State)
			require.Contains(t, e.Error, c.text)
			require.Equal(t, 1, e.Attempt)
			require.True(t, e.MaybeAppliedSince.IsZero(), "the effect was certainly not applied")
			require.Zero(t, b.count(t, `SELECT count(*) FROM applied WHERE key = $1`, id.IdempotencyKey()))
		})
	}
}

// If RunTx rolls back, a second transaction records the attempt. If the response to that COMMIT is
// lost, the attempt is still recorded once.
func TestRunTxRollsBackOverALostCommit(t *testing.T) {
	t.Parallel()
	b, sound, f := onFaultyPool(t)
	id := b.dispatched(t, "evt_1", ledger.AtLeastOnce)
	f.Arm(fault.LoseAnswer, 1)
	claimed, settled, err := b.Ledger().RunTx(t.Context(), ledger.Claim{ID: id, ClaimID: uuid.New(), Lease: lease}, func(context.Context, pgx.Tx, ledger.Effect) (ledger.Settlement, error) {
		return ledger.Settlement{}, errors.New("boom")
	})
	require.NoError(t, err)
	require.Equal(t, 1, f.Count())
	require.Equal(t, ledger.ClaimGranted, claimed.Status)
	require.Equal(t, ledger.EffectPending, settled.State)
	require.Equal(t, 1, sound.count(t, `SELECT count(*) FROM hooklatch.all_attempts`))
	require.Equal(t, 1, sound.effect(t, id).Attempt)
}

// An ordered effect in the same Postgres wakes the next effect of its order.
func TestRunTxKeepsOrder(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.withApplied(t)
	ids := b.line(t, 2, nil)
	claimed, _, err := b.Ledger().RunTx(t.Context(), ledger.Claim{ID: ids[1], ClaimID: uuid.New(), Lease: lease}, add)
	require.NoError(t, err)
	require.Equal(t, ledger.ClaimBlocked, claimed.Status)
	for _, id := range ids {
		_, settled, err := b.Ledger().RunTx(t.Context(), ledger.Claim{ID: id, ClaimID: uuid.New(), Lease: lease}, add)
		require.NoError(t, err)
		require.Equal(t, ledger.EffectDone, settled.State)
	}
	require.Equal(t, 1, b.jobs(t, ids[1]))
}

// Operator actions, too, are applied once when their COMMIT response is lost.
func TestOperatorsSurviveALostCommit(t *testing.T) {
	t.Parallel()
	b, sound, f := onFaultyPool(t)
	ids := b.line(t, 2, nil)
	key := ids[0].IdempotencyKey()
	for _, order := range []func() error{
		func() error { return b.Ledger().Park(t.Context(), key, because("x")) },
		func() error { return b.Ledger().Retry(t.Context(), key, ann) },
		func() error { return b.Ledger().Cancel(t.Context(), key, because("x")) },
	} {
		before := f.Count()
		f.Arm(fault.LoseAnswer, 1)
		require.NoError(t, order())
		require.Equal(t, before+1, f.Count())
	}
	require.Equal(t, 2, sound.jobs(t, ids[0]))
	require.Equal(t, 1, sound.jobs(t, ids[1]))
}
