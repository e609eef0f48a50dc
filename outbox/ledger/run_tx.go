package ledger

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/hooklatch/hooklatch/outbox/commit"
)

// runSlack is how long a transaction of RunTx may take beside the lease: to claim,
// to settle and to be tried again.
const runSlack = 10 * time.Second

// errRolledBack ends the transaction of RunTx whose effect was not done.
var errRolledBack = errors.New("rolled back")

// RunTx claims an effect, runs it inside the transaction that claimed it, and
// settles it there: for effects in the same Postgres, which are applied exactly
// once. run is called only for a granted claim and may be called again, after
// its first transaction was rolled back or lost. Its writes are committed only
// with VerdictDone; with another verdict, or an error, all of it is rolled back
// and the attempt is recorded in a transaction of its own, as refused or else as
// not applied. It must stay within the claim's lease, which bounds its
// statements. It is not called for an effect whose Request.Late is set, which is
// recorded as not applied. Errors: ErrUnavailable.
func (l *Ledger) RunTx(ctx context.Context, c Claim, run func(ctx context.Context, tx pgx.Tx, e Effect) (Settlement, error)) (Claimed, Settled, error) {
	if err := c.validate(); err != nil {
		return Claimed{}, Settled{}, fmt.Errorf("run effect: %w", err)
	}
	var claimed Claimed
	var settled Settled
	var settlement Settlement
	var failure error
	err := l.db.Do(ctx, "run_effect", commit.Limits{Timeout: c.Lease + runSlack, Foreign: true}, func(ctx context.Context, tx pgx.Tx, repeated bool) error {
		if repeated {
			if committed, err := l.ranBefore(ctx, tx, c); err != nil || committed {
				return err // claimed and settled are what that try made them
			}
		}
		answers, err := l.claimBatch(ctx, tx, []Claim{c})
		if err != nil {
			return err
		}
		claimed, settled, settlement, failure = answers[0], Settled{}, Settlement{}, nil
		if claimed.Status != ClaimGranted {
			return nil
		}
		settlement, failure = l.runGranted(ctx, tx, c, &claimed.Effect, run)
		if failure != nil || settlement.Verdict != VerdictDone {
			return errRolledBack // unless the connection is lost: then all of it is tried again
		}
		results, err := l.settleBatch(ctx, tx, []Settlement{settlement})
		if err != nil {
			return err
		}
		settled = results[0]
		return nil
	})
	switch {
	case errors.Is(err, errRolledBack):
		return l.settleRolledBack(ctx, c, settlement, failure)
	case err != nil:
		return Claimed{}, Settled{}, fmt.Errorf("run effect: %w", err)
	}
	return claimed, settled, nil
}

// runGranted calls run with the request complete, in time for the lease.
func (l *Ledger) runGranted(ctx context.Context, tx pgx.Tx, c Claim, e *Effect, run func(ctx context.Context, tx pgx.Tx, e Effect) (Settlement, error)) (Settlement, error) {
	if e.Request.Late {
		return Settlement{}, errors.New("its request is not rendered")
	}
	if err := l.loadBody(ctx, tx, e); err != nil {
		return Settlement{}, err
	}
	limit := strconv.FormatInt(max(c.Lease.Milliseconds(), 1), 10)
	if _, err := l.sql.LimitStatements.With(limitStatements{Limit: limit}).Exec(ctx, tx); err != nil {
		return Settlement{}, err
	}
	start := time.Now()
	s, err := run(ctx, tx, *e)
	s.Effect = *e
	if s.Duration == 0 {
		s.Duration = time.Since(start)
	}
	if err == nil {
		err = s.validate()
	}
	return s, err
}

// ranBefore tells whether an earlier try of this claim, whose COMMIT answer was
// lost, was committed all the same. It waits for one that is still at it.
func (l *Ledger) ranBefore(ctx context.Context, tx pgx.Tx, c Claim) (bool, error) {
	if _, err := l.sql.LockEffect.With(c.ID).Exec(ctx, tx); err != nil {
		return false, fmt.Errorf("lock effect: %w", err)
	}
	var committed bool
	if err := l.sql.AttemptOfClaim.With(attemptOfClaim{EffectID: c.ID, ClaimID: c.ClaimID}).QueryRow(ctx, tx).Scan(&committed); err != nil {
		return false, fmt.Errorf("look up attempt: %w", err)
	}
	return committed, nil
}

// settleRolledBack records an attempt that left nothing behind.
func (l *Ledger) settleRolledBack(ctx context.Context, c Claim, s Settlement, failure error) (Claimed, Settled, error) {
	var claimed Claimed
	var settled Settled
	// A claim of its own, so that it does not meet that of a try that was lost.
	c.ClaimID = uuid.New()
	err := l.db.Do(ctx, "settle_rolled_back", commit.Limits{}, func(ctx context.Context, tx pgx.Tx, repeated bool) error {
		if repeated {
			if committed, err := l.ranBefore(ctx, tx, c); err != nil || committed {
				return err
			}
		}
		answers, err := l.claimBatch(ctx, tx, []Claim{c})
		if err != nil {
			return err
		}
		claimed, settled = answers[0], Settled{}
		if claimed.Status != ClaimGranted {
			return nil
		}
		s.Effect = claimed.Effect
		if s.Verdict != VerdictRefused {
			s.Verdict = VerdictNotApplied
		}
		if failure != nil && s.Error == "" {
			s.Error = failure.Error()
		}
		results, err := l.settleBatch(ctx, tx, []Settlement{s})
		if err != nil {
			return err
		}
		settled = results[0]
		return nil
	})
	if err != nil {
		return Claimed{}, Settled{}, fmt.Errorf("settle effect that was rolled back: %w", err)
	}
	return claimed, settled, nil
}
