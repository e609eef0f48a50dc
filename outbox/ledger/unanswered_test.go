package ledger

import (
	"cmp"
	"context"
	"log/slog"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/internal/fault"
	"github.com/hooklatch/hooklatch/outbox/commit"
	"github.com/hooklatch/hooklatch/schema/pgtest"
)

// A claim whose COMMIT gets no response starts no attempt. The process takes the claim back when the
// database responds again, long before the lease ends. The effect is not in doubt, whatever its
// policy.
func TestUnansweredClaimIsTakenBack(t *testing.T) {
	t.Parallel()
	sound := ledgerOn(t)
	pool, f, err := fault.NewPool(t.Context(), pgtest.URL(t, sound.pool))
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	b := newLedger(t, pool)
	b.claims = commit.NewGroup(b.db, "claim", commit.GroupOptions[Claim, *Claimed]{Run: b.claimBatch, Unheard: b.unanswered.add, Timeout: 2 * time.Second})
	id := sound.added(t, "evt_1", AtMostOnce)
	for f.Arm(fault.Hang, 1); f.Count() == 0; { // on a busy machine, a claim may time out before its COMMIT
		_, err = b.Claim(t.Context(), claiming(id))
		require.ErrorIs(t, err, commit.ErrUnavailable)
	}
	require.Eventually(t, func() bool { return sound.stands(t, id).State == EffectPending }, 2*time.Minute, time.Millisecond)
	e := sound.granted(t, id)
	require.Equal(t, 2, e.Attempt, "the fencing token rises")
	require.Zero(t, e.MaybeAppliedSince)
	require.Equal(t, 1, sound.count(t, `SELECT count(*) FROM hooklatch.all_attempts WHERE attempt = 1 AND applied = 'no' AND NOT lost`))
}

// A caller that repeats an unanswered claim gets the attempt. Nothing takes the attempt back while
// the caller calls the receiver.
func TestARepeatedClaimIsNotTakenBack(t *testing.T) {
	t.Parallel()
	sound := ledgerOn(t)
	pool, f, err := fault.NewPool(t.Context(), pgtest.URL(t, sound.pool))
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	b := newLedger(t, pool)
	b.claims = commit.NewGroup(b.db, "claim", commit.GroupOptions[Claim, *Claimed]{Run: b.claimBatch, Unheard: b.unanswered.add, Timeout: 2 * time.Second})
	granted := make(chan struct{})
	b.unanswered.takeBack = func(ctx context.Context, c Claim) error {
		<-granted
		return b.takeBack(ctx, c)
	}
	c := claiming(sound.added(t, "evt_1", AtLeastOnce))
	c.Repeated = true
	f.Arm(fault.Hang, 1)
	_, err = b.Claim(t.Context(), c)
	require.ErrorIs(t, err, commit.ErrUnavailable)
	var claimed Claimed
	require.Eventually(t, func() bool {
		claimed, err = b.Claim(t.Context(), c)
		return err == nil
	}, 2*time.Minute, time.Millisecond)
	require.Equal(t, ClaimGranted, claimed.Status)
	close(granted)
	require.NoError(t, b.unanswered.stop(t.Context()))
	settled, err := b.Settle(t.Context(), Settlement{Effect: claimed.Effect, Verdict: VerdictDone})
	require.NoError(t, err)
	require.Equal(t, EffectDone, settled.State)
	require.False(t, settled.Late)
}

// A claim is committed after its caller has given up. The process takes the claim back.
func TestClaimNobodyWaitsForIsTakenBack(t *testing.T) {
	t.Parallel()
	b := ledgerOn(t)
	id := b.added(t, "evt_1", AtMostOnce)
	entered, goOn := make(chan struct{}), make(chan struct{})
	b.claims = commit.NewGroup(b.db, "claim", commit.GroupOptions[Claim, *Claimed]{
		Run: func(ctx context.Context, tx pgx.Tx, batch []Claim) ([]*Claimed, error) {
			entered <- struct{}{}
			<-goOn
			return b.claimBatch(ctx, tx, batch)
		},
		Unheard: b.unanswered.add,
	})
	ctx, leave := context.WithCancel(t.Context())
	left := make(chan error)
	go func() {
		_, err := b.claims.Submit(ctx, claiming(id))
		left <- err
	}()
	<-entered
	leave()
	require.ErrorIs(t, <-left, commit.ErrUnavailable)
	close(goOn)
	require.NoError(t, b.Stop(t.Context()))
	require.Equal(t, EffectPending, b.stands(t, id).State)
	require.Equal(t, 1, b.stands(t, id).Attempt)
}

// If another claim holds the effect in the meantime, takeBack leaves the effect unchanged.
func TestTakingBackLeavesOtherClaimsAlone(t *testing.T) {
	t.Parallel()
	b := ledgerOn(t)
	id := b.added(t, "evt_1", AtLeastOnce)
	lost := claiming(id)
	lost.Lease = time.Nanosecond
	_, err := b.Claim(t.Context(), lost)
	require.NoError(t, err)
	e := b.granted(t, id)
	require.NoError(t, b.takeBack(t.Context(), lost))
	require.Equal(t, EffectStarted, b.stands(t, id).State)
	settled, err := b.Settle(t.Context(), Settlement{Effect: e, Verdict: VerdictDone})
	require.NoError(t, err)
	require.Equal(t, EffectDone, settled.State)
	require.NoError(t, b.takeBack(t.Context(), lost))

	e.claimID = lost.ClaimID
	settled, err = b.Settle(t.Context(), Settlement{Effect: e, Verdict: VerdictNotApplied})
	require.NoError(t, err)
	require.Equal(t, Settled{Late: true, State: EffectDone, NextAttemptAt: settled.NextAttemptAt}, settled, "another claim made the attempt")
}

// A claim is taken back while its transaction is still running. The settlement waits for the row's
// lock, and therefore for the end of the transaction.
func TestTakingBackWaitsForTheClaim(t *testing.T) {
	t.Parallel()
	b := ledgerOn(t)
	c := claiming(b.added(t, "evt_1", AtMostOnce))
	tx := b.begin(t)
	_, err := b.claimBatch(t.Context(), tx, []Claim{c})
	require.NoError(t, err)
	done := make(chan error, 1)
	go func() { done <- b.takeBack(context.Background(), c) }()
	require.Eventually(t, func() bool {
		return b.count(t, `SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()`) == 1
	}, 2*time.Minute, time.Millisecond)
	require.NoError(t, tx.Commit(t.Context()))
	require.NoError(t, <-done)
	require.Equal(t, EffectPending, b.stands(t, c.ID).State)
}

// A claim whose effect another transaction keeps locked does not hold up the other claims.
func TestAClaimThatCannotBeTakenBackHoldsUpNoOthers(t *testing.T) {
	t.Parallel()
	const claims = 4
	for locked := range claims {
		took := make(chan int, claims)
		number := make(map[uuid.UUID]int, claims)
		u := newUnanswered(func(_ context.Context, c Claim) error {
			if number[c.ClaimID] == locked {
				return commit.ErrUnavailable
			}
			took <- number[c.ClaimID]
			return nil
		}, slog.New(slog.DiscardHandler))
		for i := range claims {
			number[uuid.New()] = i
		}
		u.mu.Lock() // the claims are added together
		for id := range number {
			u.claims = append(u.claims, Claim{ClaimID: id})
		}
		slices.SortFunc(u.claims, func(a, b Claim) int { return cmp.Compare(number[a.ClaimID], number[b.ClaimID]) })
		u.working, u.idle = true, make(chan struct{})
		go u.work()
		u.mu.Unlock()
		for range claims - 1 {
			select {
			case <-took:
			case <-time.After(2 * time.Minute):
				t.Fatalf("claim %d is locked, and the others wait", locked)
			}
		}
		require.NoError(t, u.stop(t.Context()))
	}
}
