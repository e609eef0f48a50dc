package ledger

import (
	"bytes"
	"context"
	"crypto/rand"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/outbox/identity"
	"github.com/hooklatch/hooklatch/schema/pgtest"
)

// large creates an effect whose body is stored outside its row and does not compress. It returns
// the effect's id and the body.
func (b *ledgerBundle) large(t *testing.T, key string, size int) (identity.EffectID, []byte) {
	t.Helper()
	body := make([]byte, size)
	_, err := rand.Read(body)
	require.NoError(t, err)
	var id identity.EffectID
	require.NoError(t, pgx.BeginFunc(t.Context(), b.pool, func(tx pgx.Tx) error {
		id = b.add(t, tx, NewEffect{EffectID: identity.EffectID{Key: identity.Key(key)}, Request: Request{Body: body}})
		return nil
	}))
	return id, body
}

// bodyReads returns how many pages of bodies the ledger has read so far.
func (b *ledgerBundle) bodyReads(t *testing.T) int {
	t.Helper()
	_, err := b.pool.Exec(t.Context(), `SELECT pg_stat_force_next_flush()`)
	require.NoError(t, err)
	return b.count(t, `SELECT toast_blks_read + toast_blks_hit FROM pg_statio_user_tables WHERE schemaname = 'hooklatch' AND relname = 'effects'`)
}

// Claims that are not granted do not read the effect's body.
func TestClaimReadsBodiesOfWhatItGrantsOnly(t *testing.T) {
	t.Parallel()
	b := newLedger(t, pgtest.New(t, pgtest.MaxConns(1))) // a single connection, so that its statistics are complete
	id, body := b.large(t, "evt_1", 1<<20)
	b.pause(t, true)
	before := b.bodyReads(t)
	c := b.claim(t, id)
	require.Equal(t, ClaimPaused, c.Status)
	require.Empty(t, c.Effect.Request.Body)
	require.False(t, c.Effect.Request.FromDelivery)
	require.Equal(t, before, b.bodyReads(t))

	b.pause(t, false)
	e := b.granted(t, id)
	require.True(t, bytes.Equal(body, e.Request.Body))
	require.Greater(t, b.bodyReads(t), before)
	before = b.bodyReads(t)
	leased := b.claim(t, id)
	require.Equal(t, ClaimLeased, leased.Status)
	require.Empty(t, leased.Effect.Request.Body)
	require.Equal(t, before, b.bodyReads(t))
}

// The transaction that 64 claims share reads only bodies of at most 64 KiB.
func TestClaimReadsLargeBodiesOnTheirOwn(t *testing.T) {
	t.Parallel()
	b := ledgerOn(t)
	small, smallBody := b.large(t, "small", 64<<10)
	large, largeBody := b.large(t, "large", 64<<10+1)
	err := pgx.BeginFunc(t.Context(), b.pool, func(tx pgx.Tx) error {
		claimed, err := b.claimBatch(t.Context(), tx, []Claim{claiming(small), claiming(large)})
		require.NoError(t, err)
		require.Equal(t, ClaimGranted, claimed[1].Status)
		require.True(t, bytes.Equal(smallBody, claimed[0].Effect.Request.Body))
		require.Empty(t, claimed[1].Effect.Request.Body)
		return pgx.ErrTxClosed // roll back
	})
	require.ErrorIs(t, err, pgx.ErrTxClosed)
	require.True(t, bytes.Equal(largeBody, b.granted(t, large).Request.Body))
}

// A claim that waited for the row uses the row it then finds, not the row it saw before.
func TestClaimAnswersByTheRowItWaitedFor(t *testing.T) {
	t.Parallel()
	b := ledgerOn(t)
	id := b.added(t, "evt_1", AtLeastOnce)
	first, second := b.begin(t), b.begin(t)
	granted, err := b.claimBatch(t.Context(), first, []Claim{claiming(id)})
	require.NoError(t, err)
	require.Equal(t, ClaimGranted, granted[0].Status)
	answer := make(chan *Claimed, 1)
	go func() {
		claimed, err := b.claimBatch(context.Background(), second, []Claim{claiming(id)})
		if err != nil {
			t.Errorf("claim: %v", err)
			claimed = []*Claimed{{}}
		}
		answer <- claimed[0]
	}()
	require.Eventually(t, func() bool {
		return b.count(t, `SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND pid = $1`, second.Conn().PgConn().PID()) == 1
	}, 2*time.Minute, time.Millisecond)
	require.NoError(t, first.Commit(t.Context()))
	leased := <-answer
	require.Equal(t, ClaimLeased, leased.Status)
	require.True(t, granted[0].Effect.LeaseUntil.Equal(leased.Effect.LeaseUntil))
	require.NoError(t, second.Rollback(t.Context()))
}

// If two claims of a batch ask for the same effect, one attempt starts.
func TestABatchGrantsAnEffectToOneOfItsClaims(t *testing.T) {
	t.Parallel()
	b := ledgerOn(t)
	id := b.added(t, "evt_1", AtLeastOnce)
	tx := b.begin(t)
	claimed, err := b.claimBatch(t.Context(), tx, []Claim{claiming(id), claiming(id)})
	require.NoError(t, tx.Rollback(t.Context()))
	require.NoError(t, err)
	require.Equal(t, ClaimGranted, claimed[0].Status)
	require.Equal(t, ClaimLeased, claimed[1].Status)
}
