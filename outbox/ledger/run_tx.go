package ledger

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/hooklatch/hooklatch/internal/sqlstate"
	"github.com/hooklatch/hooklatch/outbox/commit"
)

// runSlack is the time by which a RunTx transaction may exceed the lease, to claim, settle and
// retry.
const runSlack = 10 * time.Second

// errRolledBack ends a RunTx transaction whose effect was not done.
var errRolledBack = errors.New("rolled back")

// RunTx claims an effect, runs it in the transaction that claimed it, and settles it there. It is
// for effects in the same Postgres, which are applied exactly once. RunTx calls the function run
// only for a granted claim. After a temporary fault or an unknown outcome it calls run again,
// unless the earlier try was committed. The writes of run are committed only with VerdictDone. With
// another verdict, or an error, everything is rolled back. A separate transaction then records the
// attempt as refused or as not applied. If the server refuses to commit a done effect, as a
// deferred constraint can, RunTx records the attempt as not applied. The function run must finish
// within the claim's lease, which limits each of its statements. An effect with Request.Late is
// recorded as not applied, and run is not called. Errors: ErrUnavailable.
func (l *Ledger) RunTx(ctx context.Context, c Claim, run func(ctx context.Context, tx pgx.Tx, e Effect) (Settlement, error)) (Claimed, Settled, error) {
	if err := c.validate(); err != nil {
		return Claimed{}, Settled{}, fmt.Errorf("run effect: %w", err)
	}
	var claimed Claimed
	var settled Settled
	var settlement Settlement
	var failure error
	ran := false // true if run succeeded in the last try: only its settlement and COMMIT could fail
	err := l.db.Do(ctx, "run_effect", commit.Limits{Timeout: c.Lease + runSlack, Foreign: true}, func(ctx context.Context, tx pgx.Tx, repeated bool) error {
		ran = false
		if repeated {
			if committed, err := l.ranBefore(ctx, tx, c); err != nil || committed {
				return err // claimed and settled have the values that the earlier try set
			}
		}
		answers, err := l.claimBatch(ctx, tx, []Claim{c})
		if err != nil {
			return err
		}
		claimed, settled, settlement, failure = *answers[0], Settled{}, Settlement{}, nil
		if claimed.Status != ClaimGranted {
			return nil
		}
		settlement, failure = l.runGranted(ctx, tx, c, &claimed.Effect, run)
		if failure != nil || settlement.Verdict != VerdictDone {
			return errRolledBack // unless the connection is lost: then the whole transaction is retried
		}
		ran = true
		results, err := l.settleBatch(ctx, tx, []*Settlement{&settlement})
		if err != nil {
			return err
		}
		settled = results[0]
		return nil
	})
	switch {
	case errors.Is(err, errRolledBack):
		return l.settleRolledBack(ctx, c, settlement, failure)
	case ran && err != nil && !errors.Is(err, commit.ErrUnavailable):
		settlement.Verdict, settlement.ResponseExcerpt = VerdictNotApplied, ""
		return l.settleRolledBack(ctx, c, settlement, notCommitted(err))
	case err != nil:
		return Claimed{}, Settled{}, fmt.Errorf("run effect: %w", err)
	}
	return claimed, settled, nil
}

// notCommitted returns the error of an attempt whose transaction the server refused to commit. The
// server's message may quote values of rows, so the error contains only its code.
func notCommitted(err error) error {
	if pg, answered := sqlstate.Of(err); answered {
		return fmt.Errorf("the server refused to commit it (SQLSTATE %s)", pg.Code)
	}
	return err
}

// runGranted calls run with the complete request and the lease as the timeout of its statements.
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

// ranBefore reports whether an earlier try of this claim was committed although the response to its
// COMMIT was lost. It waits for a try that is still running.
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

// settleRolledBack records an attempt whose writes were rolled back.
func (l *Ledger) settleRolledBack(ctx context.Context, c Claim, s Settlement, failure error) (Claimed, Settled, error) {
	var claimed Claimed
	var settled Settled
	// The claim gets a new id, so that it cannot be confused with a lost try.
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
		claimed, settled = *answers[0], Settled{}
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
		results, err := l.settleBatch(ctx, tx, []*Settlement{&s})
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
