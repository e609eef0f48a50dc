package commit

import (
	"cmp"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/hooklatch/hooklatch/internal/sqlstate"
)

// transientError is a fault of the connection or of the moment, not of what was
// sent: the same transaction may succeed when it is tried again.
type transientError struct {
	op        string
	err       error
	ambiguous bool // the transaction may have been committed
}

func (e *transientError) Error() string {
	if e.ambiguous {
		return e.op + ": outcome unknown: " + e.err.Error()
	}
	return e.op + ": " + e.err.Error()
}

func (e *transientError) Unwrap() error { return e.err }

// commitError classifies a failed COMMIT. Only the server's own refusal says that
// it did not happen; everything else is an unknown outcome: a server, or a pooler
// in between, that ends the connection may have committed before. pgconn.SafeToRetry
// is not asked: since pgx 5.9 it calls a lost answer safe to retry.
func commitError(err error) error {
	pg, answered := sqlstate.Of(err)
	switch {
	case answered && mayHaveCommitted(pg):
		return &transientError{op: "commit", err: err, ambiguous: true}
	case answered && sqlstate.Lock(pg.Code):
		// COMMIT waits for one lock, that of NOTIFY, which all commits take
		// in turn: no member is to blame.
		return &transientError{op: "commit", err: err}
	case answered || errors.Is(err, pgx.ErrTxCommitRollback):
		return fmt.Errorf("commit: %w", err)
	}
	return &transientError{op: "commit", err: err, ambiguous: true}
}

// mayHaveCommitted tells whether an error in the place of COMMIT's answer leaves
// open what became of it: of class 08, 57 or 58, or one that ends the session.
func mayHaveCommitted(pg *pgconn.PgError) bool {
	severity := cmp.Or(pg.SeverityUnlocalized, pg.Severity)
	return severity == "FATAL" || severity == "PANIC" || sqlstate.InClass(pg.Code, "08", "57", "58")
}

// isLockWait tells that the lock of another transaction is in the way of a statement.
func isLockWait(err error) bool {
	if _, transient := errors.AsType[*transientError](err); transient {
		return false
	}
	pg, ok := sqlstate.Of(err)
	return ok && sqlstate.Lock(pg.Code)
}

// mayBeOfOne tells that the fault may lie with one member of a batch, so that its
// neighbours have to be tried without it: whatever the server answers to a statement, but
// for what goes away by itself.
func mayBeOfOne(err error) bool {
	if isTransient(err) || errors.Is(err, ErrPoolNotPrepared) {
		return false
	}
	_, answered := sqlstate.Of(err)
	return answered || isBadData(err)
}

// isStatementOfMoment tells that a statement met a fault that goes away by itself while
// its session lives on, like an internal error or a time-out. One member may be what
// brings it about.
func isStatementOfMoment(err error) bool {
	if _, transient := errors.AsType[*transientError](err); transient {
		return false
	}
	pg, answered := sqlstate.Of(err)
	return answered && sqlstate.Transient(pg.Code) && pg.Code != sqlstate.ReadOnly
}

// isBadData tells that the values themselves are refused: by the server
// (classes 22 and 23), or by pgx or River before the server was asked.
func isBadData(err error) bool {
	if isTransient(err) || errors.Is(err, ErrPoolNotPrepared) {
		return false
	}
	pg, ok := sqlstate.Of(err)
	if !ok {
		return true
	}
	if pg.Code == sqlstate.CheckViolation && pg.ConstraintName == "" {
		return false // "no partition of relation found": our fault, not the event's
	}
	return sqlstate.InClass(pg.Code, "22", "23")
}

// isTransient tells that the same transaction may succeed when it is tried again.
func isTransient(err error) bool {
	if _, transient := errors.AsType[*transientError](err); transient {
		return true
	}
	if pg, ok := sqlstate.Of(err); ok {
		return sqlstate.Transient(pg.Code)
	}
	return errors.Is(err, ErrTryAgain)
}

// isAmbiguous tells that the transaction may have been committed all the same.
func isAmbiguous(err error) bool {
	transient, ok := errors.AsType[*transientError](err)
	return ok && transient.ambiguous
}
