package ledger

import (
	"context"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
)

// A statement that locks rows may have to wait for a row that another transaction is changing. Its
// snapshot has the old row, but it must use and update the new row.
func TestStatementsSeeTheEffectTheyWaitedFor(t *testing.T) {
	t.Parallel()
	type statement func(ctx context.Context, b *ledgerBundle, tx pgx.Tx, e Effect) error
	claim := func(ctx context.Context, b *ledgerBundle, tx pgx.Tx, e Effect) error {
		_, err := b.claimBatch(ctx, tx, []Claim{claiming(e.EffectID)})
		return err
	}
	settle := func(ctx context.Context, b *ledgerBundle, tx pgx.Tx, e Effect) error {
		_, err := b.settleBatch(ctx, tx, []*Settlement{{Effect: e, Verdict: VerdictDone}})
		return err
	}
	fix := func(ctx context.Context, b *ledgerBundle, tx pgx.Tx, e Effect) error {
		err := b.sql.FixRequest.With(fixRequest{
			EffectID: e.EffectID, Attempt: e.Attempt, ClaimID: e.claimID, Headers: []byte(`{}`), Body: []byte(`late`),
		}).QueryRow(ctx, tx).Scan(nil, nil, nil, nil, nil)
		if err == pgx.ErrNoRows {
			return nil
		}
		return err
	}
	park := func(ctx context.Context, b *ledgerBundle, tx pgx.Tx, e Effect) error {
		_, err := b.putAside(ctx, tx, putAside{State: EffectParked, orderedEffects: orderedEffects{
			chosenEffects{IdempotencyKeys: []string{e.IdempotencyKey}, States: StatesFor(ActionParkEffect)}, "parked",
		}})
		return err
	}
	reopen := func(ctx context.Context, b *ledgerBundle, tx pgx.Tx, e Effect) error {
		_, err := b.reopen(ctx, tx, chosenEffects{IdempotencyKeys: []string{e.IdempotencyKey}, States: StatesFor(ActionRetryEffect)}, "reopened")
		return err
	}
	pending := func(t *testing.T, b *ledgerBundle) Effect { return b.stands(t, b.added(t, "evt_1", AtLeastOnce)) }
	started := func(t *testing.T, b *ledgerBundle) Effect { return b.granted(t, b.added(t, "evt_1", AtLeastOnce)) }
	late := func(t *testing.T, b *ledgerBundle) Effect {
		id := b.added(t, "evt_1", AtLeastOnce)
		_, err := b.pool.Exec(t.Context(), `UPDATE hooklatch.effects SET request_rendering = 'late'`)
		require.NoError(t, err)
		return b.granted(t, id)
	}
	failed := func(t *testing.T, b *ledgerBundle) Effect { return b.stands(t, b.failed(t, "evt_1")) }
	const (
		noted     = `response_status = 299`
		taken     = `state = 'started', attempt = 1, claim_id = '` + taker + `', lease_until = now() + interval '1 hour'`
		cancelled = `state = 'cancelled', claim_id = NULL`
	)
	for name, c := range map[string]struct {
		before    func(t *testing.T, b *ledgerBundle) Effect
		statement statement
		change    string
		want      EffectState
		attempt   int
		status    int
	}{
		"claim, of what says nothing to it":     {pending, claim, noted, EffectStarted, 1, 299},
		"claim, of its claim":                   {pending, claim, taken, EffectStarted, 1, 0},
		"claim, of its state":                   {pending, claim, cancelled, EffectCancelled, 0, 0},
		"settle, of what says nothing to it":    {started, settle, `policy = 'at_most_once'`, EffectDone, 1, 0},
		"settle, of its state":                  {started, settle, cancelled, EffectCancelled, 1, 0},
		"fix request, of its state":             {late, fix, cancelled, EffectCancelled, 1, 0},
		"fix request, of what says nothing":     {late, fix, noted, EffectStarted, 1, 299},
		"put aside, of what says nothing to it": {pending, park, noted, EffectParked, 0, 299},
		"put aside, of its state":               {pending, park, cancelled, EffectCancelled, 0, 0},
		"reopen, of what says nothing to it":    {failed, reopen, noted, EffectPending, 1, 299},
		"reopen, of its state":                  {failed, reopen, `state = 'pending', finished_at = NULL, error = 'reopened before'`, EffectPending, 1, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := ledgerOn(t)
			e := c.before(t, b)
			holder, waiter := b.begin(t), b.begin(t)
			_, err := holder.Exec(t.Context(), `UPDATE hooklatch.effects SET `+c.change)
			require.NoError(t, err)
			ended := make(chan error, 1)
			go func() { ended <- c.statement(context.Background(), b, waiter, e) }()
			require.Eventually(t, func() bool {
				return b.count(t, `SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND pid = $1`, waiter.Conn().PgConn().PID()) == 1
			}, 2*time.Minute, time.Millisecond)
			require.NoError(t, holder.Commit(t.Context()))
			require.NoError(t, <-ended)
			require.NoError(t, waiter.Commit(t.Context()))

			stands := b.stands(t, e.EffectID)
			require.Equal(t, c.want, stands.State)
			require.Equal(t, c.attempt, stands.Attempt)
			require.Equal(t, c.status, stands.ResponseStatus)
			switch name {
			case "claim, of its claim":
				require.Equal(t, 1, b.count(t, `SELECT count(*) FROM hooklatch.effects WHERE claim_id = $1`, uuid.MustParse(taker)))
			case "fix request, of what says nothing":
				require.Equal(t, 1, b.count(t, `SELECT count(*) FROM hooklatch.effects WHERE request_body = 'late' AND request_rendering = 'done'`))
			case "fix request, of its state":
				require.Equal(t, 1, b.count(t, `SELECT count(*) FROM hooklatch.effects WHERE request_rendering = 'late'`))
			case "reopen, of its state":
				require.Equal(t, "reopened before", stands.Error)
			}
		})
	}
}

// taker is the claim id of a faster process.
const taker = "018f0000-0000-7000-8000-000000000001"
